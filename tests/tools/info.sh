#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-info: what keeps a job from starting is said before it starts; every option is in --json; a full device is no
# success, for any tool.
. "$DNET_SRC/tests/tools/lib.sh"

# refuse VARIABLE=VALUE TEXT: status 2 and one line with the variable and the text.
refuse() {
    expect 2 env "$1" dnet-info
    says "${1%%=*}"
    says "$2"
    [ ! -s out ] || fail "$1: something is printed all the same"
}
refuse DIMMNET_TRACE=foo 'no trace point'
refuse DIMMNET_TRACE=send,everything 'no trace point'
refuse DIMMNET_CLUSTER="$cluster" 'no cluster'
expect 2 env DIMMNET_CLUSTER=../x dnet-info
says 'cluster name'
refuse DIMMNET_PCAP=/nope/x 'No such file'
refuse DIMMNET_PCAP=run-%p.pcapng '% that is not %r'
refuse DIMMNET_TRACE_FILE=/proc/version/x 'Not a directory'
refuse DIMMNET_DUMP=/nope/dump 'No such file'
refuse DIMMNET_DUMP=dump-%x '% that is not %r'
refuse DIMMNET_EAGER_LIMIT=12parsecs 'is not a number'
refuse DIMMNET_RINGS=3 'DIMMNET_RINGS=3 is not a power of two$'
expect 2 env DIMMNET_RINGS=4 DIMMNET_RING_BYTES=8192 dnet-info
says 'leaves less than 4096 of DIMMNET_RING_BYTES=8192 for each ring'
expect 2 env DIMMNET_FLOW=stall DIMMNET_PROFILE=prototype dnet-info
says 'can deadlock'
expect 2 env DIMMNET_FLOW=stall DIMMNET_FAULTS=20 dnet-info
says 'DIMMNET_FAULTS is for stops'
expect 2 env DIMMNET_CHUNKS=64 DIMMNET_CHUNK_BYTES=1M dnet-info
says '4 areas of these need 270532608 bytes'
mkdir folder 0
refuse DIMMNET_PCAP=folder 'Is a directory'
refuse DIMMNET_DUMP=folder 'Is a directory'
refuse DIMMNET_PCAP=/dev/null 'not a regular file'
refuse DIMMNET_TRACE_FILE=/dev/null 'not a regular file'
refuse DIMMNET_TRACE_FILE="$PWD/none-%r/trace" 'No such file'
refuse DIMMNET_TRACE= "'' is no trace point"
expect 0 env DIMMNET_DUMP=/dev/null dnet-info
# Of several ranks each has a file of its own beside it.
expect 0 env DIMMNET_PCAP=folder dnet-info --ranks 2
expect 0 env DIMMNET_PCAP=run.pcapng DIMMNET_DUMP=dump-%r DIMMNET_TRACE_FILE="$PWD/%r/trace" DIMMNET_TRACE=send,recv dnet-info
[ ! -s err ] || fail "a good setting is refused"
[ ! -e run.pcapng ] && [ ! -e dump-0 ] || fail "a file is made"

# A cluster with two nodes has room for four ranks.
expect 0 dnet-cluster up --nodes 2 --profile extended "$cluster"
expect 0 env DIMMNET_CLUSTER="$cluster" dnet-info --ranks 4
expect 2 env DIMMNET_CLUSTER="$cluster" dnet-info --ranks 5
says '5 ranks need 3 nodes'
expect 2 env DIMMNET_CLUSTER="$cluster" DIMMNET_CLUSTER_NODES=3 dnet-info
says 'from 1 to 2'

# Each plug to other hosts says what it has found, or what is missing.
expect 0 dnet-info
for plug in $(sed -n 's/^DNET_PLUG(\([a-z]*\),.*/\1/p' "$DNET_SRC/emulator/swif/hosts/plugs.def"); do
    grep -E "^ +$plug +(libfabric [0-9.]+, provider|sockets, on|libibverbs.so.1[,:]|lib.* is not installed|not built)" out >/dev/null || fail "nothing about plug $plug"
done

# An unknown variable: one warning, and no more.
expect 0 env DIMMNET_EAGRE_LIMIT=1 dnet-info
says 'DIMMNET_EAGRE_LIMIT is not an option'

# Every option of the list is there, with its type, value and where it was set.
expect 0 env DIMMNET_RINGS=4 DIMMNET_PCAP='a"b\c.pcapng' dnet-info --json
python3 - "$DNET_SRC/src/common/options.def" <<'P' || fail "the JSON"
import json, re, sys
d = json.load(open("out"))
listed = re.findall(r'^DNET_OPTION_(CHOICE|NUMBER|TEXT)\(\w+, "(\w+)"', open(sys.argv[1]).read(), re.M)
assert [(d["options"][v]["type"], v) for _, v in listed] == [(k.lower(), v) for k, v in listed]
assert len(listed) == len(d["options"]) > 20, (len(listed), len(d["options"]))
rings = d["options"]["DIMMNET_RINGS"]
assert rings["value"] == 4 and rings["default"] == 1 and rings["set_by"] == "environment" and rings["unit"] == "rings", rings
assert d["options"]["DIMMNET_CHUNKS"]["set_by"] == "default"
assert d["options"]["DIMMNET_PROFILE"]["choices"] == ["prototype", "extended"]
assert d["options"]["DIMMNET_PCAP"]["value"] == 'a"b\\c.pcapng'
assert "value" not in d["options"]["DIMMNET_DUMP"]
assert isinstance(d["lh_entries"], int) and d["version"]
P

# How long a message is sent at once: as the option says, or by how slow the kernel copies.
expect 0 env DIMMNET_EAGER_LIMIT=auto dnet-info --json
python3 - <<'P' || fail "the limits where DIMMNET_EAGER_LIMIT is auto"
import json
d = json.load(open("out"))
assert d["options"]["DIMMNET_EAGER_LIMIT"]["value"] == "auto", d["options"]["DIMMNET_EAGER_LIMIT"]
assert d["limit_eager"] in (8192, 16384, 65536), d["limit_eager"]
assert (d["limit_packet"], d["limit_message"]) == (4064, 8192 if d["limit_eager"] == 8192 else 8240), d
P
expect 0 env DIMMNET_EAGER_LIMIT=5000 dnet-info --json
python3 -c 'import json; d = json.load(open("out")); assert (d["limit_packet"], d["limit_message"], d["limit_eager"]) == (4064, 5000, 5000), d' ||
    fail "the limits of DIMMNET_EAGER_LIMIT=5000"

# The longest message of one BOTF, as the driver has it in either profile.
expect 0 env DIMMNET_PROFILE=prototype dnet-info --json
python3 -c 'import json; d = json.load(open("out")); assert d["limit_botf"] == 488 and "limit_botf_alone" not in d, d' ||
    fail "the longest BOTF of the prototype"
expect 0 dnet-info --json
python3 -c 'import json; d = json.load(open("out")); assert (d["limit_botf"], d["limit_botf_alone"]) == (552, 1064), d' ||
    fail "the longest BOTF"

# What cannot be written is not a success.
if [ -c /dev/full ]; then
    for command in 'dnet-info' 'dnet-info --json' 'dnet-info --help' 'dnet-cluster status' 'dnet-cluster status --json' \
        'dnet-trace list' 'dnet-trace list --json' 'dnet-subnet gen --list' 'dnet-subnet --help' 'dsh --list' 'dsh --version' \
        'dnet-replay bt 4 --rings' 'dnet-info --words'; do
        rc=0
        # shellcheck disable=SC2086
        $command >/dev/full 2>err || rc=$?
        [ $rc = 3 ] || fail "$command >/dev/full: exit status $rc instead of 3"
        grep -q 'No space left' err || fail "$command >/dev/full: no reason"
    done
fi
