# SPDX-License-Identifier: BSD-3-Clause
"""One number a run: all libraries in turn, round after round; medians, and the first library beside the best of the others."""
import math
import os
import statistics
import sys

from libraries import demand_distinct, demand_writable, write_json


def check(names, path, tool):
    """What would lose the numbers at their end, before there are any."""
    demand_distinct(names, tool)
    demand_writable(path, tool)


def in_turn(cases, ways, rounds, measure, tool):
    """Every way of every case once a round.

    cases: [(test, ranks)]; ways(ranks): [(library, name, options)]; measure(library, options, test, ranks): a number, or
    None where there was no end in time, which is not tried again.
    Returns values[test, ranks][name] = one a round; the set of (test, ranks, name) without an end; what stopped it, or None."""
    values, over = {}, set()
    try:
        for number in range(rounds):
            for test, ranks in cases:
                for library, name, options in ways(ranks):
                    if (test, ranks, name) in over:
                        continue
                    print(f"\rround {number + 1}/{rounds}: {test} x {ranks}: {name:16}", end="", file=sys.stderr, flush=True)
                    got = measure(library, options, test, ranks)
                    if got is None:
                        over.add((test, ranks, name))
                    else:
                        values.setdefault((test, ranks), {}).setdefault(name, []).append(got)
    except SystemExit as stop:
        if not values:
            raise
        print(f"\n{tool}: stopped before the end", file=sys.stderr)
        return values, over, stop
    print(file=sys.stderr)
    return values, over, None


def judge(values, over, names, units, seconds):
    """A row for each test and number of ranks: medians, and the ratio to the best of the others, below 1: ahead; None: the
    first library has no end, or the others take no time."""
    rows = []
    for test, ranks in dict.fromkeys([*values, *((test, ranks) for test, ranks, _ in over)]):
        by_name = {name: numbers for name, numbers in values.get((test, ranks), {}).items()
                   if (test, ranks, name) not in over}
        medians = {name: round(statistics.median(numbers), 3) for name, numbers in by_name.items()}
        row = {"test": test, "unit": units[test], "ranks": ranks, "medians": medians,
               "over_s": {name: seconds for name in names if (test, ranks, name) in over}}
        peers = {name: median for name, median in medians.items() if name != names[0]}
        best = min(peers, key=peers.get) if peers else None
        of_rounds = [a / b for a, b in zip(by_name.get(names[0], []), by_name.get(best, [])) if b > 0]
        if of_rounds:
            row.update(best_peer=best, ratio=round(statistics.median(of_rounds), 3))
        elif peers and (names[0] in row["over_s"] or medians.get(names[0], 0) > medians[best]):
            row.update(best_peer=best, ratio=None)
        rows.append(row)
    return sorted(rows, key=lambda row: -loss(row))


def loss(row):
    """How many times the best of the others' number the first library's is; infinite where it has no end."""
    ratio = row.get("ratio", 0)
    return math.inf if ratio is None else ratio


def show(facts):
    names = facts["settings"]
    print(f"{facts['processors']} processors; {facts['rounds']} rounds.  Behind in "
          f"{sum(loss(row) > 1 for row in facts['rows'])} of {len(facts['rows'])} rows.\n")
    print("| test | ranks | ratio | best peer | " + " | ".join(names) + " |")
    print("|---|--:|--:|---|" + "--:|" * len(names))
    for row in facts["rows"]:
        cells = [f"{row['medians'][name]:.4g}" if name in row["medians"] else
                 f"over {row['over_s'][name]} s" if name in row["over_s"] else "-" for name in names]
        ratio = f"{row['ratio']:.2f}" if row.get("ratio") is not None else "-"
        print(f"| {row['test']}, {row['unit']} | {row['ranks']} | {ratio} | {row.get('best_peer', '-')} | " +
              " | ".join(cells) + " |")


def report(measured, names, units, arguments):
    """Table, and --json; ends as what stopped the measuring would have.  arguments: rounds, timeout, json."""
    values, over, stop = measured
    facts = {"processors": len(os.sched_getaffinity(0)), "rounds": arguments.rounds, "timeout_s": arguments.timeout,
             "settings": names, "rows": judge(values, over, names, units, arguments.timeout)}
    try:
        write_json(arguments.json, facts)
    finally:
        show(facts)
    if stop:
        raise stop
