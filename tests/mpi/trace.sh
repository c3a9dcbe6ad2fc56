#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# libdimmnet-trace on adi.c, loaded before it and linked to it: dnet-replay finds the calls of every
# rank that the pattern says, and replays them to the end; a trace of a rank missing or cut gets one
# line.  And on traced.c, whose calls a tracer must not trip over.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/trace-adi
trace=$DNET_TEST_DIR/trace-$RANKS
replay=$DNET_BUILD/tools/dnet-replay
library=$DNET_BUILD/libdimmnet-trace.so
iterations=5
[ -f "$library" ] || { echo "libdimmnet-trace was not built"; exit 77; }
fail() { echo "trace.sh: $*" >&2; exit 1; }

c=2
while [ $((c * c)) -lt "$RANKS" ]; do c=$((c + 1)); done

# counts HOW: the records of each rank are those of the pattern.
counts() {
    "$replay" --print "$trace".*.dnt >"$trace.txt" || fail "$1: the trace is not read"
    awk -v ranks="$RANKS" -v messages=$((6 * c * iterations)) -v how="$1" '
        $1 != "#" { n[$1, $3]++; gap[$1] += $2 }
        function expect(rank, op, wanted) {
            if (n[rank, op] + 0 != wanted) {
                print how ": rank " rank ": " n[rank, op] + 0 " " op " instead of " wanted
                bad = 1
            }
        }
        END {
            for (r = 0; r < ranks; r++) {
                expect(r, "isend", messages)
                expect(r, "irecv", messages + (r == 0 ? ranks - 1 : 0))
                expect(r, "match", r == 0 ? ranks - 1 : 0)
                expect(r, "send", r != 0)
                expect(r, "recv", 0)
                expect(r, "coll", 3)
                if (gap[r] <= 0) {
                    print how ": rank " r ": no processor time between its calls"
                    bad = 1
                }
            }
            exit bad
        }' "$trace.txt" || exit 1
    rm -f "$trace.txt"
}

mpicc -O2 -I"$here" "$here/adi.c" -o "$program"
rm -f "$trace".*.dnt
DNET_MPI_TRACE=$trace mpirun -genv LD_PRELOAD "$library" -n "$RANKS" "$program" $iterations
counts preloaded
"$replay" "$trace".*.dnt || fail "the replay does not end"
partners=$("$replay" --rings --json "$trace".*.dnt |
    sed -n 's/.*"partners_least": \([0-9]*\).*/\1/p')
[ "$partners" = $((RANKS == 4 ? 3 : 6)) ] || fail "a rank has $partners partners"

last=$(printf '%s.%05d.dnt' "$trace" $((RANKS - 1)))
head -c 200 "$last" >"$last.cut" && mv "$last.cut" "$last"
rc=0
"$replay" "$trace".*.dnt >/dev/null 2>"$trace.err" || rc=$?
[ $rc = 2 ] && [ "$(grep -c "$last, byte .*MPI_Finalize" "$trace.err")" = 1 ] ||
    fail "cut: $(cat "$trace.err")"
rm "$last"
rc=0
"$replay" "$trace".*.dnt >/dev/null 2>"$trace.err" || rc=$?
[ $rc = 2 ] && [ "$(grep -c "rank $((RANKS - 1)) is the first" "$trace.err")" = 1 ] ||
    fail "missing: $(cat "$trace.err")"

rm -f "$trace".*.dnt
mpicc -O2 -I"$here" "$here/adi.c" -o "$program" -L"$DNET_BUILD" -ldimmnet-trace \
    -Wl,-rpath,"$DNET_BUILD"
DNET_MPI_TRACE=$trace mpirun -n "$RANKS" "$program" $iterations
counts linked

# Arguments that MPI does not read, communicators freed early, calls in MPI_Finalize.
rm -f "$trace".*.dnt
mpicc -O2 -pthread -I"$here" "$here/traced.c" -o "$program-traced"
DNET_MPI_TRACE=$trace mpirun -genv LD_PRELOAD "$library" -n "$RANKS" "$program-traced" ||
    fail "a program that frees its communicators early: status $?"
"$replay" --print "$trace".*.dnt >"$trace.txt" || fail "the trace of traced is not read"
# kinds of calls.def, MPI_COMM_WORLD, bytes: MPI_Gather 5, MPI_Scatter 6, MPI_Allgather 7, MPI_Alltoall 8
for call in '7 0 4' '7 0 12' '8 0 8' '5 0 4' '5 0 12' '6 0 16' '6 0 12'; do
    [ "$(grep -c " coll $call\$" "$trace.txt")" = "$RANKS" ] || fail "not of all ranks, coll $call: $(grep ' coll ' "$trace.txt")"
done
[ "$(grep -c " match " "$trace.txt")" = "$RANKS" ] || fail "matches: $(grep " match " "$trace.txt")"

# The files of ranks stay theirs when they start others.
rm -f "$trace".*.dnt
DNET_MPI_TRACE=$trace mpirun -genv LD_PRELOAD "$library" -n 2 "$program-traced" spawn 2>"$trace.err" ||
    fail "spawn: status $?, $(cat "$trace.err")"
[ "$(grep -c 'MPI_Comm_spawn are not traced' "$trace.err")" = 1 ] || fail "spawn: $(cat "$trace.err")"
[ "$("$replay" --print "$trace".*.dnt | grep -c " coll ")" = 4 ] || fail "spawn: $("$replay" --print "$trace".*.dnt)"

# Nowhere to write: a line, and the program runs.
rc=0
DNET_MPI_TRACE=/nonexistent/trace mpirun -genv LD_PRELOAD "$library" -n 4 "$program" 1 \
    2>"$trace.err" || rc=$?
[ $rc = 0 ] && [ "$(grep -c '/nonexistent/trace.*not traced' "$trace.err")" = 4 ] ||
    fail "no directory: status $rc, $(cat "$trace.err")"
rm -f "$trace".*.dnt "$trace.err" "$trace.txt"
