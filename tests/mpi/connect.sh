#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Two jobs, each with a process manager of its own, meet by a port, exchange messages of all ways, and part.
# When a rank of one is killed while the other waits for it, the other ends within 5 seconds and names a rank of
# the first: whichever it misses, for the first's process manager ends them all.  When whoever opened the port ends,
# or has ended, without accepting, whoever connects gets an error, and goes on.  Whoever has given up connecting, and has been
# killed since, is not missed by who accepts later, and accepts the next one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/connect-$RANKS
mpicc -O2 -I"$here" "$here/dynamic.c" -o "$program"
failed=0
fail() { echo "connect.sh: $*" >&2; failed=1; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
running() { pgrep -f "^$program " || :; }

# Both jobs; their statuses in $one and $two, what they say in $program.one and .two.
meet() {
    rm -f "$program.port"
    timeout -k 2 60 mpirun -n "$RANKS" "$program" accept "$program.port" "$@" >"$program.one" 2>&1 &
    first=$!
    two=0
    timeout -k 2 60 mpirun -n $((RANKS + 1)) "$program" connect "$program.port" "$@" >"$program.two" 2>&1 || two=$?
    start=$(now_ms)
    one=0
    wait $first || one=$?
    took=$(($(now_ms) - start))
}

meet
[ $one = 0 ] || fail "the job that accepts: status $one: $(tail -n 5 "$program.one")"
[ $two = 0 ] || fail "the job that connects: status $two: $(tail -n 5 "$program.two")"
meet die
echo "a rank of the other job killed: status $one after $took ms: $(grep -m 1 'of another job' "$program.one" || :)"
[ $two != 0 ] || fail "a rank was killed, and its job ends with status 0"
[ $one != 0 ] || fail "a rank of the other job was killed, and this one ends with status 0"
[ $took -lt 5000 ] || fail "a rank of the other job was killed: took $took ms"
grep -q 'rank [0-9]* of another job (pid [0-9]*) has ended' "$program.one" || fail "no rank is named: $(tail -n 3 "$program.one")"
rm -f "$program.port" "$program.port.go"
timeout -k 2 60 mpirun -n "$RANKS" "$program" accept "$program.port" late >"$program.one" 2>&1 &
first=$!
timeout -k 2 20 mpirun -n 1 "$program" give-up "$program.port" >"$program.two" 2>&1 || :
grep -q 'given up' "$program.two" || fail "who does not wait: $(tail -n 3 "$program.two")"
: >"$program.port.go"
timeout -k 2 60 mpirun -n $((RANKS + 1)) "$program" connect "$program.port" >"$program.two" 2>&1 || fail "connecting behind one that has given up: status $?: $(tail -n 5 "$program.two")"
wait $first || fail "one that had given up was killed, and who accepts ends with status $?: $(tail -n 5 "$program.one")"
for how in '' die; do
    rm -f "$program.port"
    timeout -k 2 60 mpirun -n 1 "$program" leave "$program.port" $how >"$program.one" 2>&1 &
    first=$!
    one=0
    for when in while after; do
        two=0
        timeout -k 2 20 mpirun -n 2 "$program" missed "$program.port" >"$program.two" 2>&1 || two=$?
        [ $two = 0 ] || fail "connecting $when the other one ends ${how:+by SIGKILL}: status $two: $(tail -n 5 "$program.two")"
        [ $when = after ] || wait $first || one=$?
    done
    [ -n "$how" ] || [ $one = 0 ] || fail "the job that leaves: status $one: $(tail -n 5 "$program.one")"
done
[ -z "$(running)" ] || fail "processes remain: $(running)"
exit $failed
