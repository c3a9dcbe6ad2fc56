#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank killed by SIGKILL: the job ends within 5 seconds with an error, whatever the others are doing; when
# the process manager leaves the others to themselves they end too and one of them names the rank; no
# process and nothing in /dev/shm remains.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/victim
mpicc -O2 -I"$here" "$here/victim.c" -o "$program"
failed=0
fail() { echo "kill.sh: $*" >&2; failed=1; }

shm_before=$(ls /dev/shm | sort)
for way in receive send barrier; do
    for options in '' -disable-auto-cleanup; do
        victim=$((RANKS - 1))
        start=$(date +%s%N)
        rc=0
        timeout -k 2 20 mpirun $options -n "$RANKS" "$program" $victim $way >"$program.out" 2>&1 || rc=$?
        took_ms=$((($(date +%s%N) - start) / 1000000))
        what="$way ${options:-(default)}"
        echo "$what: status $rc after $took_ms ms"
        [ $rc -ne 0 ] || fail "$what: exit status 0"
        [ $took_ms -lt 5000 ] || fail "$what: took $took_ms ms"
        ! grep -q 'went on' "$program.out" || fail "$what: $(grep -m 1 'went on' "$program.out")"
        if [ -n "$options" ]; then
            grep -q "rank $victim " "$program.out" || fail "$what: nobody names rank $victim"
        fi
        # mpirun's helpers may need a moment after mpirun itself has ended
        for i in 1 2 3 4 5 6 7 8 9 10; do
            pgrep -f "^$program " >/dev/null || break
            sleep 0.1
        done
        ! pgrep -f "^$program " >/dev/null || fail "$what: processes remain: $(pgrep -f "^$program ")"
    done
done
shm_after=$(ls /dev/shm | sort)
[ "$shm_before" = "$shm_after" ] || fail "/dev/shm: $shm_after"
exit $failed
