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
