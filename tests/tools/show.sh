#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-subnet show of an emulated cluster and of a file: switches, ports, servers, what runs below its width, what
# is cut.  A server's own link is cut by its name or by the switch's port: packets from and to it wait until it is back.
. "$DNET_SRC/tests/tools/lib.sh"

expect 2 dnet-subnet show
says 'want one of'
expect 2 dnet-subnet show --cluster "$cluster" --topology ring:5
expect 1 dnet-subnet show --cluster "$cluster"
says "no cluster $cluster"

expect 0 dnet-cluster up --topology leaf-spine:3:2:2 --profile extended "$cluster"
expect 0 dnet-subnet show --cluster "$cluster" --json show.json
shows '^leaf-spine:3:2:2: 5 switches, 6 servers, 6 links between switches$'
shows '^subnet manager: dnet-cluster, sweep 1 of engine turnadd, tables good$'
shows '^switch leaf0001  LID [0-9]*  GUID 0x[0-9a-f]*  4 ports, 0 free$'
shows '^ *1  up *4x  QDR *spine0001 *1  *[0-9]*$'
shows '^server H00003  LID 3  GUID 0x[0-9a-f]*  at leaf0002 port 3$'
shows '^0 warnings$'
python3 - <<'P' || fail "show.json: $(cat show.json)"
import json
s = json.load(open("show.json"))
assert len(s["switches"]) == 5 and len(s["servers"]) == 6 and s["warnings"] == [], s
ports = [p for w in s["switches"] for p in w["ports"]]
assert len(ports) == 2 * 6 + 6 and all(p["state"] == "up" and p["width"] == 4 and p["speed"] == "QDR" for p in ports), ports
P

# What is wrong is said, errors of the end that has counted them.
expect 0 dnet-cluster degrade --cluster "$cluster" leaf0002:1 --width 1x --speed DDR
expect 0 dnet-cluster degrade --cluster "$cluster" leaf0003:2 --receive-errors 1000
expect 0 dnet-cluster cut --cluster "$cluster" leaf0001:1
sleep 0.1
expect 1 dnet-subnet show --cluster "$cluster" --brief
shows '^  leaf0002 port 1 to spine0001: runs at 1x DDR, could at 4x QDR$'
shows '^  leaf0003 port 2 to spine0002: 0 symbol errors, [1-9][0-9]* receive errors'
shows '^  leaf0001 port 1 to spine0001: out of service$'
! grep -q '^switch' out || fail '--brief lists the switches'
expect 0 dnet-cluster restore --cluster "$cluster" leaf0001:1

# A server's link, by the port or by the name; it needs --force, and restore by either.
for part in leaf0001:3 H00001; do
    expect 1 dnet-cluster cut --cluster "$cluster" $part
    says 'would separate servers'
done
expect 0 dnet-cluster cut --cluster "$cluster" --force leaf0001:3
shows '1 of 6 nodes are cut off'
expect 1 dnet-cluster status "$cluster"
shows '^  cut leaf0001:3$'
expect 1 dnet-cluster path --cluster "$cluster" 1 3
says 'node H00001 is cut off: its link at leaf0001 port 3'
expect 0 dnet-cluster path --cluster "$cluster" 2 3
expect 1 dnet-subnet show --cluster "$cluster"
shows '^ *3  cut *4x  QDR *H00001 '
shows '^server H00001 .*, cut off$'
dsh --cluster "$cluster" --node 1 -c 'rllcm_write 3 0 1' >from 2>&1 &
from=$!
dsh --cluster "$cluster" --node 2 -c 'rllcm_write 1 0 1' >to 2>&1 &
to=$!
until_true grep -q 'LID 0x1 waits for a way to LID 0x3: switch its own adapter port 1 is cut' from
until_true grep -q 'LID 0x2 waits for a way to LID 0x1: switch leaf0001 port 3 is cut' to
# The others are not touched.
expect 0 dsh --cluster "$cluster" --node 4 -c 'rllcm_write 5 0 1'
[ ! -s err ] || fail 'a packet between others waits'
expect 0 dnet-cluster restore --cluster "$cluster" H00001
wait $from || fail "the packet from it: $(cat from)"
wait $to || fail "the packet to it: $(cat to)"
expect 0 dnet-cluster status "$cluster"
expect 2 dnet-cluster restore --cluster "$cluster" leaf0001:3
says 'has not been cut'

# Of a file, with what its links run at.
expect 0 dnet-subnet gen --topology ring:3:1 --output ring.net
expect 0 dnet-subnet show --topology ring.net
shows '^ *[0-9]*  up  *-  - *S00002 '
expect 1 dnet-subnet show --topology ring.net --cut S00001:2
shows '^1 warning$'
echo '0x0000000000200000 "S00001" 3 2[ ] ==( 4X 2.5 Gbps Active/ LinkUp)==> 0x0000000000200001 4 3[ ] "S00002" (Could be 12X Could be 10.0 Gbps)' >links
expect 1 dnet-subnet show --topology ring.net --links links --brief
shows ' runs at 4x SDR, could at 12x QDR$'
