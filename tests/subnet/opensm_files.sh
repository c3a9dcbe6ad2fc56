#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Without a plug-in: OpenSM loads our forwarding tables (engine `file`) with our addresses
# (guid2lid), and the switches hold exactly those.
. "$(dirname "$0")/fabric.sh"

"$subnet" gen --topology torus:4x4:2 --output net || fail "gen"
mkdir -p cache
"$subnet" route --topology file:net --engine turnadd --scheme grouped --write-lfts ours.lfts \
    --guid2lid cache/guid2lid --verify --quiet || fail "route"
start_ibsim net H00001
start_opensm file --honor_guid2lid -U "$scratch/ours.lfts"
on_fabric dump_fts >held.lfts 2>dump.err || fail "dump_fts: $(cat dump.err)"
"$subnet" verify --topology file:net --lfts held.lfts || fail "the verifier rejects the tables"
"$subnet" diff --topology file:net --lfts ours.lfts --against held.lfts --json diff.json
[ "$(json diff.json entries)" = 0 ] || fail "the switches hold other tables than ours"
