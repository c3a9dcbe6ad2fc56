#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# An unmodified OpenSM routes with our engines as a plug-in; the verifier judges what the simulated
# switches hold, before and after a link and a switch are cut in operation.
. "$(dirname "$0")/fabric.sh"
[ -f "$DNET_BUILD/.libs/libdimmnet_osm.so" ] ||
    skip "the plug-in was not built (Debian: libopensm-dev libibumad-dev)"

# judge NAME: dump the switches' tables and verify them on the fabric as it is now.
judge() {
    on_fabric dump_fts >"$1.lfts" 2>dump.err || fail "dump_fts: $(cat dump.err)"
    on_fabric ibnetdiscover >"$1.net" 2>discover.err || fail "ibnetdiscover: $(cat discover.err)"
    "$subnet" verify --topology "file:$1.net" --lfts "$1.lfts" --json "$1.json" ||
        fail "$1: the verifier rejects the tables in the switches"
}

for case in turnadd:torus:4x4:2 turnprohib:torus:4x4:2 turnadd:random:12:4:2; do
    engine=${case%%:*} topology=${case#*:}
    echo "== $engine on $topology"
    "$subnet" gen --topology "$topology" --output net || fail "gen"
    start_ibsim net H00001
    start_opensm "$engine"
    judge whole
    n=$(sweeps)
    echo 'Unlink "S00001"[3]' >console
    settle $((n + 1))
    judge link
    # Whatever mixture of old and new there was: safe, or by way of LIDs that drained first.
    "$subnet" verify --topology file:link.net --lfts link.lfts --from whole.lfts \
        --json change.json >change.txt
    grep -q '"good_in_any_order": true' change.json ||
        grep 'dimmnet: .* LIDs drain first' opensm.log | grep -qv ' 0 LIDs drain' ||
        fail "the change could deadlock, and nothing drained: $(cat change.txt opensm.log)"
    "$subnet" diff --topology file:whole.net --lfts whole.lfts --against link.lfts --json diff.json
    [ "$(json diff.json blocks)" -gt 0 ] || fail "a cut link changed no table"
    n=$(sweeps)
    echo 'Clear "S00006"' >console
    settle $((n + 1))
    on_fabric ibnetdiscover >now.net
    grep -q S00006 now.net && fail "the switch is still there"
    judge switch
    stop_fabric
done

# Two joined trees, which OpenSM does not tell us: the tables are balanced for both kinds of traffic.
"$subnet" gen --topology two-fat-trees:54:middle --output net || fail "gen"
start_ibsim net H00001
start_opensm turnadd
on_fabric dump_fts >held.lfts 2>dump.err || fail "dump_fts: $(cat dump.err)"
"$subnet" verify --topology two-fat-trees:54:middle --lfts held.lfts --json held.json ||
    fail "the verifier rejects the tables of the joined trees"
awk -v i="$(json held.json tables_inside)" -v b="$(json held.json tables_between)" \
    'BEGIN { exit !(i > 0.9 && b > 0.9) }' || fail "not balanced: $(cat held.json)"
stop_fabric

# A leaf and a spine whose link is gone: the manager reaches both, and both answer.
"$subnet" gen --topology leaf-spine:8:4:4 --output net || fail "gen"
start_ibsim net H00001
start_opensm turnadd
n=$(sweeps)
echo 'Unlink "leaf0001"[1]' >console
settle $((n + 1))
judge uplink
spine=$(sed -n 's/^\[.*"spine0001" lid \([0-9]*\).*/\1/p' uplink.net | head -n 1)
[ -n "$spine" ] || fail "no LID of spine0001 in uplink.net"
on_fabric perfquery -x "$spine" 0 >perf.out 2>&1 || on_fabric perfquery "$spine" 1 >perf.out 2>&1 ||
    fail "perfquery of spine0001: $(cat perf.out)"
stop_fabric

# Two LIDs a port: all are routed, and not all alike.
"$subnet" gen --topology leaf-spine:4:4:4 --output net || fail "gen"
start_ibsim net H00001
start_opensm turnadd --lmc 1
judge lmc
[ "$(json lmc.json pairs)" = $((4 * 32)) ] || fail "not all LIDs were judged: $(cat lmc.json)"
awk '/^0x/ && /portguid 0x/ { guid = $0; sub(/.*portguid /, "", guid); sub(/[:)].*/, "", guid)
        if (!(guid in port)) port[guid] = $2; else differ += port[guid] != $2 }
    /^Unicast/ { split("", port) } END { exit !differ }' lmc.lfts || fail "all LIDs go one way"
stop_fabric

# Partitions, each of two servers: the tables are made for their traffic, and still join all.
"$subnet" gen --topology random:16:4:2 --output net || fail "gen"
echo 'Default=0x7fff : 0x100001=full ;' >partitions
for i in $(seq 0 15); do
    printf 'p%d=0x%x : 0x%x=full, 0x%x=full ;\n' "$i" $((i + 1)) $((0x100001 + 3 * i)) $((0x100031 + 3 * i))
done >>partitions
for how in all pairs; do
    start_ibsim net H00001
    if [ $how = all ]; then start_opensm turnadd; else start_opensm turnadd -P "$scratch/partitions"; fi
    judge $how
    "$subnet" verify --topology file:$how.net --lfts $how.lfts --partitions partitions --json $how.json ||
        fail "$how: the verifier rejects the ways in partitions"
    [ $how = all ] || grep -q 'dimmnet: turnadd: balanced for traffic inside 17 partitions' opensm.log ||
        fail "the partitions are not read"
    stop_fabric
done
awk -v all="$(json all.json tables_uniform)" -v pairs="$(json pairs.json tables_uniform)" \
    'BEGIN { exit !(pairs > 1.2 * all) }' || fail "not balanced for partitions: $(cat all.json pairs.json)"
