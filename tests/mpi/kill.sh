#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank killed by SIGKILL, while the others receive from it (also with MPI_THREAD_MULTIPLE), send to it, are in a
# barrier with it, wait for a window's lock that it has, or accumulate where it was killed amidst an accumulate (also with
# MPI_THREAD_MULTIPLE): the job ends within 5 seconds with an error that names the rank, and no process and nothing in
# /dev/shm remains.  Both when the process manager ends the others and when it is stopped, so that they find out and end
# by themselves.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/victim-$RANKS
mpicc -O2 -I"$here" "$here/victim.c" -o "$program"
failed=0
fail() { echo "kill.sh: $*" >&2; failed=1; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
running() { pgrep -f "^$program " || :; }

# Wait until no rank runs, or 5 seconds from $1 on are over.
until_none() {
    while [ -n "$(running)" ] && [ $(($(now_ms) - $1)) -lt 5000 ]; do
        sleep 0.05
    done
}

victim=$((RANKS - 1))
# Of this user, and not of a cluster, which may come and go meanwhile.
ours() {
    find /dev/shm -maxdepth 1 -user "$(id -u)" \( -name '*mpich*' -o -name '*dimmnet*' -o -name '*dnet*' \) \
        ! -name 'dimmnet-cluster*' | sort
}
shm_before=$(ours)
for way in receive threads send barrier lock accumulate accumulate-threads; do
    for manager in ends-them stopped; do
        rm -f "$program.pid" "$program".err.*
        start=$(now_ms)
        set -- $victim $way
        rank_command='exec "$0" "$@"'
        if [ $manager = stopped ]; then
            set -- "$@" "$program.pid"
            rank_command='exec "$0" "$@" 2>"$0.err.$PMI_RANK"' # no other process takes it
        fi
        timeout -k 2 20 mpirun -n "$RANKS" sh -c "$rank_command" "$program" "$@" >"$program.out" 2>&1 &
        job=$!
        if [ $manager = stopped ]; then
            while [ ! -s "$program.pid" ]; do sleep 0.02; done
            sleep 0.1
            until_none "$start"
            took=$(($(now_ms) - start))
            kill -CONT "$(cat "$program.pid")"
        fi
        rc=0
        wait $job || rc=$?
        [ $manager = stopped ] || took=$(($(now_ms) - start))
        until_none "$(now_ms)"
        [ $manager = ends-them ] || cat "$program".err.* >"$program.out"
        what="$way, process manager $manager"
        echo "$what: status $rc, ended after $took ms: $(grep -m 1 "rank $victim (pid" "$program.out" || :)"
        [ $rc -ne 0 ] || fail "$what: exit status 0"
        [ $took -lt 5000 ] || fail "$what: took $took ms"
        ! grep -q 'went on' "$program.out" || fail "$what: $(grep -m 1 'went on' "$program.out")"
        grep -q "rank $victim (pid" "$program.out" || fail "$what: no rank names rank $victim"
        [ -z "$(running)" ] || fail "$what: processes remain: $(running)"
    done
done
shm_after=$(ours)
[ "$shm_before" = "$shm_after" ] || fail "/dev/shm: $shm_after"
exit $failed
