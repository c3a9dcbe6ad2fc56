#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# benchmarks/compare where a program of a library fails: its cells say so and the rest is measured; where the first
# library's does, what has been measured is judged.  The libraries are scripts here.
. "$DNET_SRC/tests/tools/lib.sh"

# library NAME TEST: its programs print a row, that of TEST fails
library() {
    mkdir -p "$1/bin"
    printf '#!/bin/sh\ntouch "$3" && chmod +x "$3"\n' >"$1/bin/mpicc"
    printf '#!/bin/sh\ncase "$*" in *%s*) echo it crashes here >&2; exit 3 ;; esac\necho "8 1.5"\n' "$2" >"$1/bin/mpirun"
    chmod +x "$1/bin/mpicc" "$1/bin/mpirun"
}
compare() {
    expect "$1" "$DNET_SRC/benchmarks/compare" ours="$2" peer="$3" other="$4" --any-state --rounds 2 --tests fop_latency,cas_latency,put_latency --json facts.json
}
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
library good none
library bad cas_latency

compare 0 good bad good
shows '| cas_latency .* 1.5 .*|  *failed |  *1.5 '
shows '| put_latency .* 1.00 .* 1.5 .* 1.5 .* 1.5 '
[ "$(grep -c 'it crashes here' err)" = 1 ] || fail 'not one report of the program that failed'
grep -q '^compare: peer: cas_latency with 2 ranks: failed$' err || fail 'no line that says what failed'
cp out before
expect 0 "$DNET_SRC/benchmarks/compare" --from facts.json
cmp -s out before || fail 'the file of results gives another table'

# The state in which it measures is chosen.
expect 0 "$DNET_SRC/benchmarks/compare" ours=good peer=good --floor 1:100000 --rounds 1 --tests fop_latency
shows '| fop_latency .* 1.00 .* 1.5 .* 1.5 '
for wrong in 5 a:b 9:1; do
    expect 2 "$DNET_SRC/benchmarks/compare" ours=good peer=good --floor "$wrong" --rounds 1 --tests fop_latency
    grep -q "wanted MIN:MAX in ns, not $wrong" err || fail "--floor $wrong is not refused"
done
expect 2 "$DNET_SRC/benchmarks/compare" ours=good peer=good --floor 1:2 --any-state --tests fop_latency

# Nobody to compare with.
compare 0 good bad bad
shows '| cas_latency  *| .*8 |  *|  *|  *1.5 .*failed |  *failed |'

compare 1 bad good good
shows '| fop_latency .* 1.5 .* 1.5 .* 1.5 '
grep -q 'stopped in round 1 of 2' err || fail 'it does not say where it stopped'

# A netmod that was chosen for this library is no netmod of others.
library ours none
library theirs none
touch ours/bin/dnet-info
printf '#!/bin/sh\n[ "$MPIR_CVAR_NETMOD" = dimmnet ] && echo "8 1.5"\n' >ours/bin/mpirun
printf '#!/bin/sh\n[ -z "${MPIR_CVAR_NETMOD:-}" ] && echo "8 1.5"\n' >theirs/bin/mpirun
MPIR_CVAR_NETMOD=dimmnet
export MPIR_CVAR_NETMOD
compare 0 ours theirs theirs
shows '| put_latency .* 1.00 .* 1.5 .* 1.5 .* 1.5 '
unset MPIR_CVAR_NETMOD

# Programs of OSU that were built with another library than the one they stand for.
mkdir -p osu ldd
printf '#!/bin/sh\n' >osu/osu_fop_latency
printf '#!/bin/sh\ncase "$1" in */osu_*) echo "libmpi.so.12 => /elsewhere/libmpi.so.12 (0x0)" ;; *) echo "libmpi.so.12 => /here/libmpi.so.12 (0x0)" ;; esac\n' >ldd/ldd
chmod +x osu/osu_fop_latency ldd/ldd
PATH="$PWD/ldd:$PATH"
expect 1 "$DNET_SRC/benchmarks/compare" ours=good --osu osu --any-state --tests fop_latency
grep -q 'osu_fop_latency runs with /elsewhere/libmpi.so.12, and not with /here/libmpi.so.12 of ours' err || fail 'programs of another library are measured'
printf '#!/bin/sh\necho "libmpi.so.12 => /here/libmpi.so.12 (0x0)"\n' >ldd/ldd
expect 0 "$DNET_SRC/benchmarks/compare" ours=good --osu osu --any-state --tests fop_latency --rounds 1
shows '| fop_latency .* 1.5 '

# No end: the others' numbers stay, and where the first library has none and another has, it is behind.
library hangs none
printf '#!/bin/sh\n[ "$1" = --version ] || exec sleep 60\n' >hangs/bin/mpirun
endless() {
    expect 0 "$DNET_SRC/benchmarks/compare" ours="$1" peer="$2" --any-state --rounds 2 --timeout 1 --tests fop_latency --json facts.json
}
endless hangs good
shows '  Behind in 1 of 1 rows'
shows '| fop_latency .*| *- | peer  *|  *no end |  *1.5 '
shows '| fop_latency | 2 | 8 | - | - | - |'
grep -q '^compare: ours: fop_latency with 2 ranks: no end after 1 s$' err || fail 'no line that says what has no end'
endless hangs hangs
shows '  Behind in 0 of 0 rows'
grep -q '"given_up": 0' facts.json || fail 'a round that nobody can run counts as one that was given up'
# The same of benchmarks that have a number a run.
python3 - "$DNET_SRC/benchmarks" <<'P' || fail 'rows.py'
import math, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import rows
judged = rows.judge({("a", 2): {"peer": [1, 1]}, ("b", 2): {"ours": [1, 3], "peer": [0, 0]}, ("c", 2): {"ours": [1, 1], "peer": [2, 2]}},
                    {("a", 2, "ours")}, ["ours", "peer"], dict.fromkeys("abc", "us"), 1)
assert [(row["test"], row.get("best_peer"), row.get("ratio")) for row in judged] == \
    [("a", "peer", None), ("b", "peer", None), ("c", "peer", 0.5)], judged
assert sum(rows.loss(row) > 1 for row in judged) == 2, judged
P
# Between hosts, the rounds of a library that ends set against those of one that does not: only numbers of one round.
python3 - "$DNET_SRC/benchmarks" <<'P' || fail 'hosts'
import argparse, contextlib, importlib.machinery, importlib.util, io, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_loader("hosts", importlib.machinery.SourceFileLoader("hosts", sys.argv[1] + "/hosts"))
hosts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hosts)
class Setting:
    def __init__(self, name, numbers):
        self.name, self.numbers = name, list(numbers)
    def measure(self, test, ranks, sizes, seconds):
        number = self.numbers.pop(0)
        return None if number is None else {8: number}
class Floor:
    def in_one_state(self, runs):
        return [run() for run in runs]
options = argparse.Namespace(rounds=3, tests=["latency"], sizes=(8, 8), timeout=1)
def judged(*settings):
    with contextlib.redirect_stderr(io.StringIO()):
        values, missing, given_up = hosts.measure_all([Setting(*setting) for setting in settings], options, Floor())
    medians, ratios = hosts.judge(values, "ours")
    facts = {"machine": "", "rounds": 3, "given_up": given_up, "floor_min_ns": 0, "floor_max_ns": 0, "memory": {}, "medians": medians,
             "settings": [name for name, _ in settings], "behind": sum(not r["better"] for r in ratios), "ratios": ratios,
             "missing": [{"bench": t, "mpi": n, "why": why} for (t, _, n), why in missing.items()]}
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        hosts.show(facts)
    return ratios, text.getvalue()
ratios, text = judged(("ours", [1, 2, 4]), ("peer", [2, None, 9]), ("tcp", [1, 1, None]))
assert ratios[0]["ratio"] == 0.5 and ratios[0]["to_tcp"] == 1.5, ratios
ratios, text = judged(("ours", [None]), ("peer", [2, 2, 2]), ("tcp", [None]))
assert ratios[0]["ratio"] is None and "Behind in 1 of 1 rows" in text and "| no end |" in text.replace("  ", ""), text
P

# What would lose the results is said before anything is measured.
touch folder
for option in '--json folder/facts.json' '--svg folder/ratios.svg' '--plot fop_latency:folder/plot.svg'; do
    rm -f ran
    printf '#!/bin/sh\ntouch "%s/ran"\necho "8 1.5"\n' "$PWD" >good/bin/mpirun
    # shellcheck disable=SC2086
    expect 1 "$DNET_SRC/benchmarks/compare" ours=good peer=good --any-state --rounds 1 --tests fop_latency $option
    [ ! -e ran ] || fail "$option: measured first"
done
expect 2 "$DNET_SRC/benchmarks/compare" ours=good peer=good --tests fop_latency --plot put_latency:plot.svg
expect 1 "$DNET_SRC/benchmarks/memory" ours=good --json folder/facts.json
says 'memory: cannot write folder/facts.json: Not a directory'
for tool in overlap threads; do
    expect 1 "$DNET_SRC/benchmarks/$tool" ours=good --json folder/facts.json
    says "$tool: cannot write folder/facts.json: Not a directory"
done
expect 1 "$DNET_SRC/benchmarks/strided" good --json folder/facts.json
says 'strided: cannot write folder/facts.json: Not a directory'
# Numbers with which nothing is measured.
for tool in compare oversub hosts overlap threads; do
    expect 2 "$DNET_SRC/benchmarks/$tool" ours=good --rounds 0
    grep -q -e '--rounds: 0: wanted a number from 1$' err || fail "$tool: no rounds, and no reason"
done
expect 2 "$DNET_SRC/benchmarks/strided" good --rounds 0
expect 2 "$DNET_SRC/benchmarks/compare" ours=good --ranks 2,0
expect 2 "$DNET_SRC/benchmarks/threads" ours=good --vcis others
grep -q -e '--vcis: no library others$' err || fail 'a library that is not there has VCIs'
# Results that are none.
echo '{}' >none.json
for file in none.json folder missing; do
    for tool in compare hosts; do
        expect 1 "$DNET_SRC/benchmarks/$tool" --from $file
        says "^$tool: .*$file"
    done
done
expect 1 "$DNET_SRC/benchmarks/compare" same=good same=bad --any-state --rounds 1 --tests fop_latency
grep -q '^compare: two libraries have the name same; give each its own$' err || fail 'two libraries of one name are one'
expect 2 "$DNET_SRC/benchmarks/strided" good --blocks 48 --lengths 64K
grep -q 'a multiple of twice a block does' err || fail 'no case, and no reason'

# A program that fails with one number of ranks: the other numbers are shown.
printf '#!/bin/sh\nwhile [ "$1" != -n ]; do shift; done\n[ "$2" = 2 ] || exit 3\nfor rank in 0 1; do echo "pss 4096 4096 0 0" >"$4/$rank"; done\n' >good/bin/mpirun
expect 1 "$DNET_SRC/benchmarks/memory" ours=good --ranks 2,3
shows '^ours  *2  *4 '

# What another launcher says of its options is no sign of Open MPI.
printf '#!/bin/sh\n[ "$1" = --version ] && echo "HYDRA build details: --prefix=/opt/openhpc --with-openssl" && exit\n[ "$1" != --oversubscribe ] && echo "8 1.5"\n' >theirs/bin/mpirun
expect 0 "$DNET_SRC/benchmarks/compare" theirs=theirs --any-state --rounds 1 --tests fop_latency
shows '| fop_latency .* 1.5 '
! grep -q vader out || fail 'a launcher that says "open" is taken for that of Open MPI'

# One-sided tests: all, or those that are named.
library good none
one_sided() { expect 0 "$DNET_SRC/benchmarks/rma" ours=good --any-state --rounds 1 --json rma.json "$@"; }
one_sided
[ "$(grep -c '^| [a-z_]* .*| *1.5 ' out)" = 11 ] || fail 'not all of the one-sided tests'
one_sided --tests get_latency,passive
[ "$(grep -c '^| [a-z_]* .*| *1.5 ' out)" = 2 ] || fail 'not the one-sided tests that were named'
cp out before
expect 0 "$DNET_SRC/benchmarks/rma" --from rma.json
cmp -s out before || fail 'rma: the file of results gives another table'

# Open MPI yields where there are more threads than processors.
library theirs none
printf '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.3" && exit\necho "$*" >>"%s/ran"\necho 1\n' "$PWD" >theirs/bin/mpirun
for case in 1:0 4096:2; do
    : >ran
    expect 0 "$DNET_SRC/benchmarks/threads" theirs=theirs --rounds 1 --threads ${case%:*}
    [ "$(wc -l <ran)" = 2 ] || fail 'not one run of each way'
    [ "$(nproc)" = 1 ] || [ "$(grep -c mpi_yield_when_idle ran)" = ${case#*:} ] || fail "${case%:*} threads: $(cat ran)"
done

# With one processor there is no ping-pong between two.
expect 1 python3 -c 'import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execv(sys.argv[1], sys.argv[1:])' \
    "$DNET_SRC/benchmarks/compare" ours=good peer=good --rounds 1 --tests fop_latency
says 'floor: wants two processors'

# The 95 % interval of a median: by its probability (1 - 2 P(binomial <= index)), not by a rule of thumb.
{
    printf '#include <stdio.h>\n'
    sed -n '/^static void report_spread/,/^}/p' "$DNET_SRC/benchmarks/incast.c"
    printf 'int main(void) { double v[101]; for (int i = 0; i < 101; i++) v[i] = i; report_spread("a", v, 5); report_spread("b", v, 15); report_spread("c", v, 101); return 0; }\n'
} >spread.c
"${CC:-cc}" -o spread spread.c || fail 'report_spread'
expect 0 ./spread
[ "$(tr '\n' ' ' <out)" = 'a_low 0.00 a_high 4.00 b_low 3.00 b_high 11.00 c_low 40.00 c_high 60.00 ' ] || fail 'another interval'
# It is known under another name, and runs at its best too.
for said in 'mpirun (Open MPI) 5.0.3' 'mpirun.openmpi (OpenRTE) 4.1.4'; do
    printf '#!/bin/sh\n[ "$1" = --version ] && echo "%s" && exit\n[ "$1" = --oversubscribe ] && echo "8 1.5"\n' "$said" >theirs/bin/mpirun
    expect 0 "$DNET_SRC/benchmarks/compare" theirs=theirs --any-state --rounds 1 --tests fop_latency
    grep -q theirs-vader out || fail "$said: not taken for Open MPI"
done
