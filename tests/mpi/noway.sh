#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# All ways between the two halves of a job are cut while it communicates, in each of several ways: the job
# goes on when they are back in time; else it ends within 5 seconds after DIMMNET_LINK_WAIT_S, says where
# the network is cut and which ranks are out of reach, and blames nothing else.
set -eu
test=noway program=noway
. "$(dirname "$0")/on_cluster.sh"
now_ms() { echo $(($(date +%s%N) / 1000000)); }
rounds() { cat rounds 2>/dev/null || :; }
moved() { [ "$(rounds)" != "$before" ] && [ -n "$(rounds)" ]; }
start() {
    rm -f rounds
    before=
    timeout -k 2 60 mpirun -n "$RANKS" ./noway "$1" "$PWD/rounds" >job.out 2>job.err &
    job=$!
    until_true "$1: no round" moved
}
cut_all() { ok dnet-cluster cut --name $name --force leaf0001:1 && ok dnet-cluster cut --name $name --force leaf0001:2; }
restore_all() { ok dnet-cluster restore --name $name leaf0001:1 && ok dnet-cluster restore --name $name leaf0001:2; }

nodes=$(((RANKS + 1) / 2))
up=$(((nodes + 1) / 2)) # nodes of the job at each of two leaves
ok dnet-cluster up --profile extended --topology leaf-spine:4:$up:2 $name
dnet-cluster path --name $name 1 $((up + 1)) | sed -n 's/^leaf0001 port \([0-9]*\) -> spine.*/\1/p' | grep -q '^[12]$' || fail "the uplinks are others"
DIMMNET_CLUSTER=$name
DIMMNET_CLUSTER_NODES=1-$up,$((2 * up + 1))-$((3 * up))
DIMMNET_LINK_WAIT_S=60
export DIMMNET_CLUSTER DIMMNET_CLUSTER_NODES DIMMNET_LINK_WAIT_S

# Back in time.
start allreduce
cut_all
until_true "no rank says that it waits" grep -q 'waits for a way to LID' job.err
restore_all
before=$(rounds)
until_true "the job does not go on" moved
kill $job
wait $job 2>/dev/null || :
job=

# For good.
DIMMNET_LINK_WAIT_S=2
for way in barrier allreduce bcast sendrecv rendezvous receive; do
    start $way
    cut_all
    since=$(now_ms)
    rc=0
    wait $job || rc=$?
    took=$(($(now_ms) - since))
    job=
    line=$(grep -om 1 'no way [a-z]* ranks* [0-9 and]*(LID 0x[0-9a-f]*) for [0-9]* s: switch [a-z0-9]* port [0-9]* is cut' job.err || :)
    echo "$way: status $rc after $took ms: $line"
    [ $rc -ne 0 ] && [ $rc -ne 124 ] || fail "$way: exit status $rc"
    [ $took -lt 7000 ] || fail "$way: took $took ms"
    [ -n "$line" ] || fail "$way: no true cause"
    ! grep 'could not [a-z]*: peer process has ended' job.err || fail "$way: a false cause"
    restore_all
done
