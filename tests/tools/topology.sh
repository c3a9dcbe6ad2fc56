#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-info --topology: the host as hwloc has it or makes it up, distance classes and what follows from them, the
# ranks of a running job and what they are bound to.
. "$DNET_SRC/tests/tools/lib.sh"

expect 0 env HWLOC_SYNTHETIC='package:2 numa:2 l3:1(size=8388608) l2:4(size=1048576) core:1 pu:2' dnet-info --topology
shows '^Topology, as HWLOC_SYNTHETIC'
shows '^  package 0: processors 0-15$'
shows '^    NUMA node 1 .*L3 (8 MB): processors 8-15$'
shows '^      L2 (1 MB), core 15: processors 30-31$'
shows '^  processor  0  *the receiver copies$'
shows '^  core       1  *both sides copy from 20480 bytes on$'
shows '^  l3         2-7 '
shows '^  package    8-15  *both sides copy from 20480 '
shows '^  other      16-31 '
shows '^No job of this user\|^Job of'
# A limit of its own for those that share no L3.
expect 0 env HWLOC_SYNTHETIC='package:2 l3:1 core:2 pu:1' DIMMNET_SPLIT_LIMIT_FAR=1M dnet-info --topology --json
python3 - <<'P' || fail "the JSON"
import json
t = json.load(open("out"))
assert t["this_host"] is False
assert [(x["kind"], x["number"], x["processors"]) for x in t["things"] if x["kind"] in ("package", "numa")] == \
    [("numa", 0, "0-3"), ("package", 0, "0-1"), ("package", 1, "2-3")], t["things"]
d = {x["class"]: (x["processors"], x["both_copy_from"]) for x in t["distances"]}
assert d["processor"] == ("0", 0) and d["l3"] == ("1", 20480) and d["numa"] == ("2-3", 1048576), d
assert d["core"] == ("", 20480) and list(d) == ["processor", "core", "l2", "l3", "package", "numa", "other"], d
P
# Of many processors, numbered in turn, all are shown.
expect 0 env HWLOC_SYNTHETIC='package:2 core:256 pu:1(indexes=256*2:1*256)' dnet-info --topology --json
python3 -c 'import json
t = [x["processors"] for x in json.load(open("out"))["things"] if x["kind"] == "package"]
assert t == [",".join(str(n) for n in range(p, 512, 2)) for p in range(2)], t' || fail "the processors of a package"
# This machine, and a job on it.
expect 0 dnet-info --topology
shows '^Topology$'
expect 2 env HWLOC_SYNTHETIC=chairs:4 dnet-info --topology
says 'HWLOC_SYNTHETIC=chairs:4: hwloc does not understand it'
expect 2 env DIMMNET_SPLIT_LIMIT_FAR=far dnet-info --topology
says 'DIMMNET_SPLIT_LIMIT_FAR'
mkfifo pipe
taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$DNET_BUILD/tests/tools/stopped" <pipe >job.out 2>&1 &
job=$!
exec 3>pipe
until_true grep -q '^[0-9]* [0-9]* [0-9]*$' job.out
read -r rank0 rank1 rank2 <job.out
expect 0 dnet-info --topology
shows '^Job of 3 ranks$'
shows "^      0  *$rank0  .* 2 processor; fewer processors than ranks"
shows "^      2  *$rank2  "
expect 0 dnet-info --topology --json
python3 - "$rank1" <<'P' || fail "the job as JSON"
import json, sys
j = [j for j in json.load(open("out"))["jobs"] if any(r["pid"] == int(sys.argv[1]) for r in j["ranks"])]
assert len(j) == 1 and j[0]["size"] == 3 and [r["rank"] for r in j[0]["ranks"]] == [0, 1, 2], j
assert all(r["crowded"] and r["distances"] == {"processor": 2} and r["numa"] >= 0 for r in j[0]["ranks"]), j
P
echo go >&3
rc=0
wait $job || rc=$?
[ $rc = 0 ] || fail "the job: exit status $rc"
