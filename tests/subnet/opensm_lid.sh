#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Address assignment under a real OpenSM [LID §3.2, §5]: 256 nodes, spine 1 cut.  Blocks with node
# routes that differ at the leaves: 16 x 4 with conventional addresses, 16 x 1 with port-major ones.
# OpenSM rewrites every block of a switch whose link state changed since 3.3.18, so blocks that
# differ are counted, not datagrams.
#
# LARGE=1: 4,536 nodes, 252 leaves and 18 spines, as many as switches of 254 ports allow: 252 x 71
# and 252 x 4 blocks.  Takes minutes.  The tables are those OpenSM says it wrote, because dump_fts
# leaves out what goes to a port above 127.
LARGE=${LARGE:-0}
SWEEP_SECONDS=$((LARGE ? 900 : 60))
. "$(dirname "$0")/fabric.sh"

# tables FILE: what the switches hold.
tables() {
    if [ "$LARGE" = 1 ]; then
        cp cache/opensm-lfts.dump "$1" || fail "OpenSM dumped no tables"
    else
        on_fabric dump_fts >"$1" 2>dump.err || fail "dump_fts: $(cat dump.err)"
    fi
}

# measure SCHEME: sets blocks
measure() {
    rm -rf cache
    mkdir -p cache
    "$subnet" lid --topology file:net --scheme "$1" --guid2lid cache/guid2lid || fail "lid"
    start_ibsim net H00001 -N 8192 -S 512 -P 65000
    start_opensm minhop --honor_guid2lid -D 0x43
    tables before.lfts
    n=$(sweeps)
    echo 'Clear "spine0001"' >console
    wait_sweeps $((n + 1))
    tables after.lfts
    stop_fabric
    "$subnet" diff --topology file:net --cut spine0001 --lfts before.lfts --against after.lfts \
        --json diff.json || fail "diff"
    "$subnet" verify --topology file:net --cut spine0001 --lfts after.lfts || fail "after the cut"
    blocks=$(json diff.json leaf_node_blocks)
    echo "$1: $blocks blocks"
}

if [ "$LARGE" = 1 ]; then
    topology=leaf-spine:252:18:18 conventional=17892 port_major=1008
else
    topology=leaf-spine:16:16:16 conventional=64 port_major=16
fi
"$subnet" gen --topology $topology --output net || fail "gen"
measure conventional
[ "$blocks" = $conventional ] || fail "conventional addresses: $blocks blocks, not $conventional"
measure port-major
[ "$blocks" = $port_major ] || fail "port-major addresses: $blocks blocks, not $port_major"
