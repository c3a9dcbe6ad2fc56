#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dsh at a running MPI job: it finds the NICs by a rank's process or by mpirun's, shows the message that waits,
# refuses to change anything, and the job ends well.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$DNET_TEST_DIR"
PATH=$DNET_BUILD/tools:$PATH
mpicc -O2 -I"$here" "$here/looked_at.c" -o looked_at
rm -f dsh.pipe
mkfifo dsh.pipe
mpirun -n "$RANKS" ./looked_at <dsh.pipe >dsh.job 2>&1 &
job=$!
exec 3>dsh.pipe
trap 'exec 3>&-' EXIT
fail() { echo "dsh.sh: $*" >&2; cat dsh.out dsh.job >&2; kill $job; exit 1; }
tries=0
until grep -q '^[0-9][0-9]*$' dsh.job; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || { : >dsh.out; fail "the job does not start"; }
    sleep 0.1
done
for process in "$(head -n 1 dsh.job)" $job; do
    dsh --job "$process" -c nodes -c 'lh_ring 1000' >dsh.out 2>&1 || fail "process $process: status $?"
    grep -q '^\* *1  0x0001  0x001  WID 0, only to look at' dsh.out || fail "no node 1"
    [ "$(grep -c '0x000[1-9]  0x00[1-9]' dsh.out)" = $(((RANKS + 1) / 2)) ] || fail "other nodes than expected"
    grep -q ' 1  0x0000004d           4 ' dsh.out || fail "no message with tag 77"
    if dsh --job "$process" -c reset >dsh.out 2>&1; then fail "reset was not refused"; fi
    grep -q 'can only be looked at' dsh.out || fail "reset: no reason"
done
echo go >&3
wait $job
