# SPDX-License-Identifier: BSD-3-Clause
"""One number a run: all libraries in turn, round after round; medians, and the first library beside the best of the others."""
import json
import os
import statistics
import sys


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
    """A row for each test and number of ranks: medians, and the ratio to the best of the others, below 1: ahead."""
    rows = []
    for test, ranks in dict.fromkeys([*values, *((test, ranks) for test, ranks, _ in over)]):
        by_name = {name: numbers for name, numbers in values.get((test, ranks), {}).items()
                   if (test, ranks, name) not in over}
        medians = {name: round(statistics.median(numbers), 3) for name, numbers in by_name.items()}
        row = {"test": test, "unit": units[test], "ranks": ranks, "medians": medians,
               "over_s": {name: seconds for name in names if (test, ranks, name) in over}}
        peers = {name: median for name, median in medians.items() if name != names[0]}
        if peers and names[0] in by_name:
            best = min(peers, key=peers.get)
            ratio = statistics.median(a / b for a, b in zip(by_name[names[0]], by_name[best]) if b > 0)
            row.update(best_peer=best, ratio=round(ratio, 3))
        rows.append(row)
    return sorted(rows, key=lambda row: -row.get("ratio", 0))


def show(facts):
    names = facts["settings"]
    print(f"{facts['processors']} processors; {facts['rounds']} rounds.  Behind in "
          f"{sum(row.get('ratio', 0) > 1 for row in facts['rows'])} of {len(facts['rows'])} rows.\n")
    print("| test | ranks | ratio | best peer | " + " | ".join(names) + " |")
    print("|---|--:|--:|---|" + "--:|" * len(names))
    for row in facts["rows"]:
        cells = [f"{row['medians'][name]:.4g}" if name in row["medians"] else
                 f"over {row['over_s'][name]} s" if name in row["over_s"] else "-" for name in names]
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else "-"
        print(f"| {row['test']}, {row['unit']} | {row['ranks']} | {ratio} | {row.get('best_peer', '-')} | " +
              " | ".join(cells) + " |")


def report(measured, names, units, arguments):
    """Table, and --json; ends as what stopped the measuring would have.  arguments: rounds, timeout, json."""
    values, over, stop = measured
    facts = {"processors": len(os.sched_getaffinity(0)), "rounds": arguments.rounds, "timeout_s": arguments.timeout,
             "settings": names, "rows": judge(values, over, names, units, arguments.timeout)}
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(facts, file, indent=1)
            file.write("\n")
    show(facts)
    if stop:
        raise stop
