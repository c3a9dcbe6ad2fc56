#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Address assignment under a real OpenSM [LID §3.2, §5]: 256 nodes, spine 1 cut.  Blocks with node routes
# that differ at the leaves: 16 x 4 with conventional addresses, 16 x 1 with port-major ones.  OpenSM
# rewrites every block of a switch whose link state changed since 3.3.18, so blocks that differ are
# counted, not datagrams.
. "$(dirname "$0")/fabric.sh"

# measure SCHEME: sets blocks
measure() {
    rm -rf cache
    mkdir -p cache
    "$subnet" lid --topology file:net --scheme "$1" --guid2lid cache/guid2lid || fail "lid"
    start_ibsim net H00001 -N 512 -S 64 -P 4096
    start_opensm minhop --honor_guid2lid
    on_fabric dump_fts >before.lfts 2>dump.err || fail "dump_fts: $(cat dump.err)"
    n=$(sweeps)
    echo 'Clear "spine0001"' >console
    wait_sweeps $((n + 1))
    on_fabric dump_fts >after.lfts 2>dump.err || fail "dump_fts: $(cat dump.err)"
    stop_opensm
    kill $fabric_pids 2>/dev/null
    wait
    fabric_pids=
    "$subnet" diff --topology file:net --cut spine0001 --lfts before.lfts --against after.lfts \
        --json diff.json || fail "diff"
    "$subnet" verify --topology file:net --cut spine0001 --lfts after.lfts || fail "after the cut"
    blocks=$(json diff.json leaf_node_blocks)
    echo "$1: $blocks blocks"
}

"$subnet" gen --topology leaf-spine:16:16:16 --output net || fail "gen"
measure conventional
[ "$blocks" = 64 ] || fail "conventional addresses: $blocks blocks instead of 64"
measure port-major
[ "$blocks" = 16 ] || fail "port-major addresses: $blocks blocks instead of 16"
