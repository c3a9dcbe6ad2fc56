#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A cluster with a network: LIDs, routes, cuts, the routes after them, and packets that follow them; all ends
# with the keeper.
. "$DNET_SRC/tests/tools/lib.sh"
expect 2 dnet-cluster up --topology ring:5:1 --nodes 5 "$cluster"
says 'leave --nodes out'
expect 2 dnet-cluster up --engine turnadd "$cluster"
says 'needs --topology'
expect 2 dnet-cluster up --topology ring:5:1 --engine none "$cluster"
expect 2 dnet-cluster up --topology nowhere:5 "$cluster"
expect 1 dnet-cluster up --topology ring:5:1 --engine minhop "$cluster"
says 'not a network to use'
expect 1 dnet-cluster status "$cluster"

# carried: on each link in the order of the topology, the packets of both directions
carried() {
    expect 0 dnet-cluster status --json --links "$cluster"
    python3 -c 'import json
print(*[l["packets"] + l["packets_back"] for l in json.load(open("out"))["clusters"][0]["network"]["link"]])'
}

# From a file; a ring, so that each cut shows: turn addition keeps its tables free of cycles.
expect 0 dnet-subnet gen --topology ring:5:1 --output ring.net
expect 0 dnet-cluster up --topology file:ring.net "$cluster"
shows "cluster $cluster: 5 nodes"
shows 'engine turnadd, tables of sweep 1: good'
expect 0 dnet-cluster path --name "$cluster" 1 2
shows 'H00001 -> S00001 port'
shows ': 1 link between switches'
expect 0 dsh --cluster "$cluster" -c nodes
[ "$(grep -c '  0x000[1-5]  0x00[1-5]' out)" = 5 ] || fail "five nodes, LIDs 1 to 5"

# A cut: the way around, with other tables, that the verifier accepts.
expect 0 dnet-subnet path --topology file:ring.net H00001 H00002
port=$(sed -n 's/^S00001 port \([0-9]*\) -> S00002 .*/\1/p' out)
expect 0 dnet-cluster cut --name "$cluster" "S00001:$port"
shows 'tables of sweep 2: good'
shows '[1-9][0-9]* table entries changed, in [1-9]'
expect 0 dnet-cluster path --name "$cluster" 1 2
shows ': 4 links between switches'
expect 0 dnet-cluster status --json "$cluster"
python3 - "S00001:$port" <<'P' || fail "JSON"
import json, sys
n = json.load(open("out"))["clusters"][0]["network"]
assert n["verdict"] == "good" and n["sweep"] == 2 and n["cuts"] == [sys.argv[1]] and n["switches"] == 5, n
P
# The nodes still reach each other, the long way around.
before=$(carried)
expect 0 dsh --cluster "$cluster" -c 'rllcm_write 2 0 1'
python3 - "$before" "$(carried)" <<'P' || fail "not one packet on each of four links"
import sys
a, b = ([int(n) for n in w.split()] for w in sys.argv[1:])
assert sorted(y - x for x, y in zip(a, b)) == [0, 1, 1, 1, 1], (a, b)
P

# What would cut off a server, or is no link, changes nothing.
expect 2 dnet-cluster cut --name "$cluster" "S00001:$port"
says 'cut already'
expect 0 dnet-cluster path --name "$cluster" 3 4
other=$(sed -n 's/^S00003 port \([0-9]*\) -> S00004 .*/\1/p' out)
expect 1 dnet-cluster cut --name "$cluster" "S00003:$other"
says 'would separate servers'
expect 1 dnet-cluster cut --name "$cluster" S00003
says 'would separate servers'
expect 2 dnet-cluster cut --name "$cluster" nonsense
expect 2 dnet-cluster cut --name "$cluster"
expect 2 dnet-cluster path --name "$cluster" 1
expect 2 dnet-cluster path --name "$cluster" 1 6
says 'no node 6; there are 1 to 5'
expect 0 dnet-cluster status "$cluster"
shows 'tables of sweep 2: good'

# By force: the packet waits, and arrives once the link is back; links restored bring the first tables.
expect 0 dnet-cluster cut --name "$cluster" --force "S00003:$other"
shows 'ways are missing'
expect 1 dnet-cluster status "$cluster"
shows 'BAD'
dsh --cluster "$cluster" --node 3 -c 'rllcm_write 4 0 1' >waits 2>&1 &
shell=$!
until_true grep -q 'LID 0x3 waits for a way to LID 0x4: switch S0000[0-9] port' waits
expect 0 dnet-cluster restore --name "$cluster" "S00003:$other"
wait $shell || fail "the packet that waited: $(cat waits)"
expect 2 dnet-cluster restore --name "$cluster" "S00003:$other"
says 'has not been cut'
expect 2 dnet-cluster restore --name "$cluster" --force "S00003:$other"
expect 0 dnet-cluster restore --name "$cluster" "S00001:$port"
shows 'tables of sweep 5: good'
expect 0 dnet-cluster path --name "$cluster" 1 2
shows ': 1 link between switches'
# Its file grows with each change, and takes no more memory; it may become longer than 2 GB.
pid=$(keeper "$cluster")
file=$(ls -l "/proc/$pid/fd" | sed -n "s|.* \([0-9]*\) -> /memfd:dimmnet-fabric.*|/proc/$pid/fd/\1|p")
truncate -s 3G "$file"
for i in 1 2 3; do
    expect 0 dnet-cluster cut --name "$cluster" "S00001:$port"
    expect 0 dnet-cluster restore --name "$cluster" "S00001:$port"
    [ "$i" = 1 ] && blocks=$(stat -L -c %b "$file")
done
[ "$(stat -L -c %b "$file")" -le $((blocks + 8)) ] || fail "the network's file takes more with each change"
kill -KILL "$pid"
until_true gone "$cluster"
! ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q -e 'memfd:dimmnet-fabric' -e 'memfd:dimmnet-switches' || fail "the network is left behind"

# A cluster without one.
expect 0 dnet-cluster up "$cluster"
expect 1 dnet-cluster restore --name "$cluster" S00001:1
says 'has no network'
expect 1 dnet-cluster cut --name "$cluster" S00001:1
says 'has no network'
expect 1 dnet-cluster path --name "$cluster" 1 2
says 'has no network'
expect 0 dnet-cluster down "$cluster"

# In pieces: the ways inside a piece that led over the cut are made anew, here 1 to 3 of a square S1 S2 S3 S4
# with the tail S5 cut off.
cat >square.net <<'N'
Switch 4 "S1"
[1] "H1"[1]
[2] "S2"[2]
[3] "S4"[3]
Switch 4 "S2"
[1] "H2"[1]
[2] "S1"[2]
[3] "S3"[3]
[4] "S5"[2]
Switch 4 "S3"
[1] "H3"[1]
[2] "S4"[2]
[3] "S2"[3]
Switch 4 "S4"
[1] "H4"[1]
[2] "S3"[2]
[3] "S1"[3]
Switch 4 "S5"
[1] "H5"[1]
[2] "S2"[4]
Hca 1 "H1"
[1] "S1"[1]
Hca 1 "H2"
[1] "S2"[1]
Hca 1 "H3"
[1] "S3"[1]
Hca 1 "H4"
[1] "S4"[1]
Hca 1 "H5"
[1] "S5"[1]
N
expect 0 dnet-cluster up --topology file:square.net "$cluster"
expect 0 dnet-cluster cut --name "$cluster" --force S5:2
shows ' 8 ways are missing'
expect 0 dnet-cluster cut --name "$cluster" --force S2:3
shows ' 8 ways are missing'
expect 0 dnet-cluster path --name "$cluster" 2 3
shows ': 3 links between switches'
expect 0 dsh --cluster "$cluster" --node 2 -c 'rllcm_write 3 0 1'
expect 1 dnet-cluster path --name "$cluster" 2 5
expect 0 dnet-cluster cut --name "$cluster" --force S4
expect 0 dnet-cluster path --name "$cluster" 1 2
shows ': 1 link between switches'
expect 0 dnet-cluster restore --name "$cluster" S4
expect 0 dnet-cluster restore --name "$cluster" S2:3
expect 0 dnet-cluster restore --name "$cluster" S5:2
shows 'good'
expect 0 dnet-cluster down "$cluster"

# From what ibnetdiscover prints: GUIDs of its own, and an adapter with two ports, which are two nodes.
cat >found.net <<'N'
switchguid=0x2c9020000a000(2c9020000a000)
Switch 36 "S-0002c9020000a000" # "leaf 1" enhanced port 0 lid 7 lmc 0
[1] "H-0002c90300000010"[1](2c90300000011) # "two" lid 1 4xQDR
[2] "S-0002c9020000b000"[3] # "leaf 2" lid 8 4xQDR

switchguid=0x2c9020000b000(2c9020000b000)
Switch 36 "S-0002c9020000b000" # "leaf 2" enhanced port 0 lid 8 lmc 0
[1] "H-0002c90300000010"[2](2c90300000012) # "two" lid 2 4xQDR
[2] "H-0002c90300000020"[3](2c90300000023) # "three" lid 3 4xQDR
[3] "S-0002c9020000a000"[2] # "leaf 1" lid 7 4xQDR

caguid=0x2c90300000010
Ca 2 "H-0002c90300000010" # "two"
[1](2c90300000011) "S-0002c9020000a000"[1] # lid 1 lmc 0 "leaf 1" lid 7 4xQDR
[2](2c90300000012) "S-0002c9020000b000"[1] # lid 2 lmc 0 "leaf 2" lid 8 4xQDR

caguid=0x2c90300000020
Ca 3 "H-0002c90300000020" # "three"
[3](2c90300000023) "S-0002c9020000b000"[2] # lid 3 lmc 0 "leaf 2" lid 8 4xQDR
N
expect 0 dnet-cluster up --topology file:found.net "$cluster"
shows '3 nodes'
shows 'tables of sweep 1: good'
expect 0 dnet-cluster path --name "$cluster" 1 3
shows 'two -> leaf 1 port'
shows 'leaf 2 port 2 -> three/3'
expect 0 dnet-cluster path --name "$cluster" 2 3
shows 'two/2 -> leaf 2 port'
expect 0 dsh --cluster "$cluster" -c 'rllcm_write 3 0 1'
expect 0 dnet-cluster down "$cluster"

# Two joined trees: every cut of the joining links but the last is rerouted.
expect 0 dnet-cluster up --topology two-fat-trees:16:middle "$cluster"
shows '32 nodes'
expect 0 dnet-cluster path --name "$cluster" 1 32
joint=$(sed -n 's/^\(a-[a-z0-9]*\) port \([0-9]*\) -> b-.*/\1:\2/p' out)
expect 0 dnet-cluster cut --name "$cluster" "$joint"
expect 0 dnet-cluster path --name "$cluster" 1 32
[ "$(sed -n 's/^\(a-[a-z0-9]*\) port \([0-9]*\) -> b-.*/\1:\2/p' out)" != "$joint" ] || fail "the way leads over a link that is cut"

# A job on nodes it names, in its order.
expect 0 dnet-cluster up --topology leaf-spine:3:1:2 --profile extended "$cluster-2"
for list in 1 1,1 1-4 2-1 1,x 1, ''; do
    expect 1 env DIMMNET_CLUSTER="$cluster-2" DIMMNET_CLUSTER_NODES="$list" "$DNET_BUILD/tests/tools/job"
    grep -q 'want 2 different nodes from 1 to 3' err || fail "nodes '$list': no reason"
done
mkfifo pipe
DIMMNET_CLUSTER=$cluster-2 DIMMNET_CLUSTER_NODES=3,1 "$DNET_BUILD/tests/tools/job" <pipe >job.out 2>&1 &
job=$!
exec 3>pipe
until_true grep -q '^[0-9]' job.out
expect 0 dnet-cluster status --json "$cluster-2"
python3 - "$(head -n 1 job.out)" <<'P' || fail "the PID-LID/WID table"
import json, sys
table = [(p["pid"], p["lid"], p["wid"], p["process"]) for p in json.load(open("out"))["clusters"][0]["processes"]]
processes = [int(p) for p in sys.argv[1].split()]
assert table == [(r, [3, 1][r // 2], r % 2, processes[r]) for r in range(4)], table
P
echo go >&3
wait $job || fail "the job: $(cat job.out)"
