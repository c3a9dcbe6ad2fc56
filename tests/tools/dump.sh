#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# SIGUSR2: a rank that waits says for what, each line with its rank, into the file of its own that DIMMNET_DUMP names; a
# file that cannot be written is said at the start, not at the signal.
. "$DNET_SRC/tests/tools/lib.sh"
DIMMNET_DUMP=/nope/dump "$DNET_BUILD/tests/tools/stopped" </dev/null >refused 2>&1 && fail 'a dump that cannot be written'
grep -q 'DIMMNET_DUMP=/nope/dump cannot be written' refused || { cat refused; fail 'no reason'; }

mkfifo pipe
DIMMNET_DUMP=$PWD/dump-%r "$DNET_BUILD/tests/tools/stopped" <pipe >job.out 2>&1 &
job=$!
exec 3>pipe
until_true grep -q '^[0-9]* [0-9]* [0-9]*$' job.out
read -r rank0 rank1 rank2 <job.out
until_true sh -c "kill -USR2 $rank1; grep -q 'stopped by rank 0' dump-1"
kill -USR2 "$rank2"
until_true test -s dump-2
grep '^dimmnet\[rank 1\]   send to rank 0: ' dump-1 >/dev/null || { cat dump-1; fail 'its sends'; }
! grep -v '^dimmnet\[rank 1\] ' dump-1 || fail 'a line of rank 1 without its rank'
! grep -v '^dimmnet\[rank 2\] ' dump-2 || fail 'a line of rank 2 without its rank'
[ ! -e dump-0 ] && [ ! -e dump-%r ] || fail 'another file'
echo go >&3
rc=0
wait $job || rc=$?
[ $rc = 0 ] || { cat job.out; fail "the job: exit status $rc"; }
[ -n "$rank0" ] || fail 'rank 0'
