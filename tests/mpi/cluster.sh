#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# An MPI job on a cluster with a network.  Its LIDs are the cluster's, its packets pass the links the tables
# name.  A link it uses is cut: new tables, the job goes on over others, nothing more passes the cut.  A cut
# that separates nodes: the job waits, says for what, and goes on when the link is back; or it ends when that
# takes too long.
set -eu
test=cluster program=cluster_job
. "$(dirname "$0")/on_cluster.sh"
refused() { text=$1; shift; if "$@" >out 2>err; then fail "$*: not refused"; fi; grep -q "$text" err || fail "$*: no '$text'"; }
start() {
    rm -f enough rounds
    DIMMNET_CLUSTER=$name timeout 110 mpirun -n "$RANKS" ./cluster_job "$PWD/enough" "$PWD/rounds" >job.out 2>job.err &
    job=$!
}
rounds() { cat rounds 2>/dev/null || echo 0; }
has_reached() {
    kill -0 $job 2>/dev/null || fail "the job has ended"
    [ "$(rounds)" -ge "$1" ]
}
further() { # N rounds from now
    wanted=$(($(rounds) + $1))
    until_true "the job is not going on to $wanted rounds" has_reached $wanted
}
finish() { : >enough; wait $job || fail "the job: exit status $?"; job=; grep -q rounds job.out || fail "the job said nothing"; }
is_empty() { dnet-cluster status --json $name | tr -d ' \n' | grep -q '"processes":\[\]'; }
# packets SWITCH PORT: both directions of a link
packets() {
    dnet-cluster status --json --links $name | python3 -c '
import json, sys
for l in json.load(sys.stdin)["clusters"][0]["network"]["link"]:
    if (l["from"], l["from_port"]) == (sys.argv[1], int(sys.argv[2])): print(l["packets"] + l["packets_back"])' "$@"
}
port() { dnet-cluster path --name $name 1 2 | sed -n 's/^leaf0001 port \([0-9]*\) -> spine.*/\1/p'; }

nodes=$(((RANKS + 1) / 2))
refused 'no cluster' env DIMMNET_CLUSTER=$name mpirun -n "$RANKS" ./cluster_job enough rounds
ok dnet-cluster up --topology leaf-spine:$nodes:1:2 $name
refused 'no flow ring' env DIMMNET_CLUSTER=$name mpirun -n "$RANKS" ./cluster_job enough rounds
ok dnet-cluster down $name
ok dnet-cluster up --topology leaf-spine:$nodes:1:2 --profile "${PROFILE:-extended}" $name
refused "$((nodes + 1)) nodes, cluster $name has $nodes" env DIMMNET_CLUSTER=$name mpirun -n $((2 * nodes + 1)) ./cluster_job enough rounds

DIMMNET_LINK_WAIT_S=60
export DIMMNET_LINK_WAIT_S

# The job is where the cluster's nodes are, and on the links of the tables.
start
further 5
ok dnet-cluster status --json $name
python3 - "$RANKS" <<'P' || fail "the PID-LID/WID table"
import json, sys
c = json.load(open("out"))["clusters"][0]
lid = [n["lid"] for n in c["nodes"]]
want = [(r, lid[r // 2], r % 2) for r in range(int(sys.argv[1]))]
assert [(p["pid"], p["lid"], p["wid"]) for p in c["processes"]] == want, c["processes"]
P
if [ "${PROFILE:-extended}" = extended ]; then
    refused 'has WID 0 open' env DIMMNET_CLUSTER=$name mpirun -n "$RANKS" ./cluster_job enough rounds
fi
used=$(port)
other=$((3 - used))
[ "$(packets leaf0001 "$used")" -gt 0 ] || fail "no packet on the way of the tables"

# A used link is cut in the job's midst.
ok dnet-cluster cut --name $name "leaf0001:$used"
grep -q 'tables of sweep 2: good' out || fail "no new tables"
for pair in '1 2' '2 1'; do
    # shellcheck disable=SC2086
    ok dnet-cluster path --name $name $pair
    ! grep -q "leaf0001 port $used " out || fail "$pair: over the link that is cut"
done
on_cut=$(packets leaf0001 "$used") on_other=$(packets leaf0001 "$other")
further 20
moved=$(($(packets leaf0001 "$used") - on_cut))
[ $moved -le "$RANKS" ] || fail "$moved packets over a link that is cut" # one a rank may have been on its way
[ "$(packets leaf0001 "$other")" -ge $((on_other + 40)) ] || fail "nothing over the other link"

# The last link of node 1: refused, then by force; the job waits, and says for what.
refused 'would separate' dnet-cluster cut --name $name "leaf0001:$other"
ok dnet-cluster cut --name $name --force "leaf0001:$other"
grep -q 'ways are missing' out || fail "cut off, and no line says so"
until_true "no rank says that it waits" grep -q 'waits for a way to LID .*: switch [a-z0-9]* port [0-9]* is cut' job.err
ok dnet-cluster restore --name $name "leaf0001:$other"
further 5
ok dnet-cluster restore --name $name "leaf0001:$used"
grep -q 'good' out || fail "not as before"
further 5

# A sick link is found and isolated in the job's midst; the other, which is the last one, is not.
used=$(port)
ok dnet-cluster degrade --name $name "leaf0001:$used" --symbol-errors 300
ok dnet-cluster degrade --name $name "leaf0001:$((3 - used))" --width 1x
if dnet-subnet health --cluster $name --interval 0.2 --apply --confirm >out 2>err; then fail "sick links are not found"; fi
grep -q "sick: leaf0001 port $used .*; isolate$" out || fail "the link with errors stays"
grep -q "sick: leaf0001 port $((3 - used)) .*nothing else connects" out || fail "the last link goes"
on_cut=$(packets leaf0001 "$used")
further 10
[ $(($(packets leaf0001 "$used") - on_cut)) -le "$RANKS" ] || fail "packets over an isolated link"
finish

# On nodes that the job names, in its order.
ok dnet-cluster down $name
ok dnet-cluster up --topology leaf-spine:$((nodes + 2)):1:2 --profile "${PROFILE:-extended}" $name
DIMMNET_CLUSTER_NODES=1
export DIMMNET_CLUSTER_NODES
refused "want $nodes different nodes" env DIMMNET_CLUSTER=$name mpirun -n "$RANKS" ./cluster_job enough rounds
DIMMNET_CLUSTER_NODES=$((nodes + 2)),2-$nodes
start
further 2
ok dnet-cluster status --json $name
python3 - "$RANKS" $((nodes + 2)) <<'P' || fail "not on the nodes named"
import json, sys
c = json.load(open("out"))["clusters"][0]
node = {n["lid"]: n["node"] for n in c["nodes"]}
want = [[int(sys.argv[2]), *range(2, 99)][r // 2] for r in range(int(sys.argv[1]))]
assert [node[p["lid"]] for p in c["processes"]] == want, c["processes"]
P
[ "$(packets leaf0001 1)$(packets leaf0001 2)" = 00 ] || fail "packets at a node that the job does not use"
finish
unset DIMMNET_CLUSTER_NODES
ok dnet-cluster down $name
ok dnet-cluster up --topology leaf-spine:$nodes:1:2 --profile "${PROFILE:-extended}" $name

# Too long: the job ends.
DIMMNET_LINK_WAIT_S=2
start
further 2
ok dnet-cluster cut --name $name --force leaf0001
if wait $job; then fail "a job without node 1 ends well"; fi
job=
grep -q 'has had no way to LID .* for 2 s' job.err || fail "no reason"
# mpirun kills ranks when one has given up, and may end before the last of them.
until_true "processes that have ended are shown" is_empty
ok dnet-cluster restore --name $name leaf0001

# The nodes are free again, and new.
start
further 2
finish
