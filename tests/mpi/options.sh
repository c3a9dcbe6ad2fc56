#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A malformed DIMMNET_* value ends the job at once with a line that names the variable and the value, and no more than one
# further line for each rank.  A netmod that this library does not have gets one line, each time.
# Ranks whose options differ agree on the ways of collectives and windows; on how NICs stop senders they cannot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/options-program
mpicc -O2 -I"$here" "$here/self.c" -o "$program"
failed=0

refuses() {
    rc=0
    env "$1" timeout -k 2 20 mpirun -n "$RANKS" "$program" >"$program.out" 2>&1 || rc=$?
    if [ $rc -eq 0 ] || [ $rc -eq 124 ]; then
        echo "options.sh: $1: exit status $rc" >&2
        failed=1
    elif ! grep "${1%%=*}" "$program.out" | grep -q -e "${1#*=}"; then
        echo "options.sh: $1: no line names variable and value:" >&2
        cat "$program.out" >&2
        failed=1
    elif [ "$(wc -l <"$program.out")" -gt $((2 * RANKS)) ]; then
        echo "options.sh: $1: more than two lines a rank:" >&2
        cat "$program.out" >&2
        failed=1
    else
        grep -m 1 "${1%%=*}" "$program.out"
    fi
}

refuses DIMMNET_PROFILE=huge
refuses DIMMNET_EAGER_LIMIT=-1
refuses DIMMNET_EAGER_LIMIT=12parsecs
refuses DIMMNET_RING_BYTES=1000
refuses DIMMNET_RING_BYTES=99999999999999999999
refuses DIMMNET_CHUNK_BYTES=12345
refuses DIMMNET_CHUNKS=1
refuses DIMMNET_RENDEZVOUS=sometimes
refuses DIMMNET_STATS=yes
refuses DIMMNET_FLOW=drop
refuses DIMMNET_PCAP=run-%p.pcapng
refuses DIMMNET_PCAP_BYTES=all
for _ in 1 2 3 4 5 6; do
    refuses MPIR_CVAR_NETMOD=nope
    [ "$(grep -c 'unknown netmod; this library has: dimmnet' "$program.out")" = 1 ] && [ "$(wc -l <"$program.out")" = 1 ] || {
        echo "options.sh: not one line for an unknown netmod:" >&2
        cat "$program.out" >&2
        failed=1
    }
done

# ranks_differ VARIABLE VALUE: a job of which one rank has another value than the others does not begin
ranks_differ() {
    rc=0
    timeout -k 2 20 mpirun -n $((RANKS - 1)) "$program" : -n 1 -env "$1" "$2" "$program" >"$program.out" 2>&1 || rc=$?
    if [ $rc -eq 0 ] || [ $rc -eq 124 ] || ! grep "has another $1 than" "$program.out"; then
        echo "options.sh: $1=$2 in one rank: exit status $rc" >&2
        cat "$program.out" >&2
        failed=1
    fi
}
ranks_differ DIMMNET_FLOW stall
ranks_differ DIMMNET_PROFILE prototype

agree() {
    mpicc -O2 -I"$here" "$here/$1.c" -o "$program-$1"
    timeout -k 2 100 mpirun -n 1 -env "$2" packets "$program-$1" $3 : -n $((RANKS - 1)) "$program-$1" $3 || {
        echo "options.sh: $1 with $2 of one rank: exit status $?" >&2
        failed=1
    }
}
agree collective DIMMNET_COLLECTIVES packets
agree accumulate DIMMNET_WINDOWS ''
exit $failed
