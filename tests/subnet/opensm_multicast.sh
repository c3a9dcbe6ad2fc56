#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Multicast trees that OpenSM makes, judged together with its tables: each is free of cycles, and
# whether both are depends on where the members are.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/fabric.sh"
command -v python3 >/dev/null 2>&1 || skip "python3 is missing"

# guids_of NUMBER...: port GUIDs of H00001 and so on.
guids_of() {
    for host; do
        printf '%x ' $((0x100001 + 3 * (host - 1)))
    done
}

# broadcast HOSTS NAME: these hosts join the broadcast group; NAME.lfts, .mfts, .net, .json when the
# tables have them all.
broadcast() {
    # shellcheck disable=SC2046 # each GUID is an argument
    on_fabric python3 "$here/join.py" 1 ff12:401b:ffff::ffff:ffff $(guids_of $1) ||
        fail "hosts $1 cannot join"
    wanted=$(echo "$1" | wc -w)
    for _ in $(seq 100); do
        look "$2"
        [ "$(json "$2.json" members)" = "$wanted" ] && return
        sleep 0.1
    done
    fail "not all hosts are in the tables: $(cat "$2.mfts")"
}

# look NAME: what the switches hold, judged.
look() {
    on_fabric dump_fts >"$1.lfts" 2>dump.err || fail "dump_fts: $(cat dump.err)"
    on_fabric dump_fts -M >"$1.mfts" 2>dump.err || fail "dump_fts -M: $(cat dump.err)"
    on_fabric ibnetdiscover >"$1.net" 2>discover.err || fail "ibnetdiscover: $(cat discover.err)"
    on_fabric saquery -g >groups || fail "saquery -g"
    verdict=0
    "$subnet" verify --topology "file:$1.net" --lfts "$1.lfts" --mfts "$1.mfts" --groups groups \
        --json "$1.json" >"$1.txt" || verdict=$?
}

# updn on a ring: no packet to a single port turns far from the root, at S00005.
"$subnet" gen --topology ring:7:1 --output net || fail "gen"
echo 0x200000 >roots
start_ibsim net H00001
start_opensm updn -a "$scratch/roots"
broadcast '7 1 2' near
[ $verdict = 0 ] || fail "a tree near the root is rejected: $(cat near.txt)"
stop_fabric
start_ibsim net H00001
start_opensm updn -a "$scratch/roots"
broadcast '4 5 6' far
[ $verdict = 1 ] || fail "a tree that turns far from the root is accepted: $(cat far.txt)"
[ "$(json far.json closed_by)" = '"0xc000"' ] || fail "the group is not named: $(cat far.json)"
stop_fabric

# Our engines give groups a tree that goes together with their tables, after a failure, too.
[ -f "$DNET_BUILD/.libs/libdimmnet_osm.so" ] ||
    skip "the plug-in was not built (Debian: libopensm-dev libibumad-dev)"
"$subnet" gen --topology torus:4x4:2 --output net || fail "gen"
for engine in turnadd turnprohib; do
    start_ibsim net H00001
    start_opensm $engine
    broadcast '1 4 7 10 13 16 19 22 25 28 31' whole
    [ $verdict = 0 ] || fail "$engine: groups do not go together with tables: $(cat whole.txt)"
    n=$(sweeps)
    # A link of the tree: the first port of the group that leads to another switch.
    link=$(awk '/^Multicast/ { sub(/.*\(/, ""); sub(/\).*/, ""); at = $0 }
        /^0xc000/ { for (p = 3; p <= 6; p++) if (substr($0, 13 + 2 * p, 1) == "x") {
            printf "\"%s\"[%d]", at, p; exit } }' whole.mfts)
    echo "Unlink $link" >console
    settle $((n + 1))
    look cut
    cmp -s whole.mfts cut.mfts && fail "$engine: $link is gone, and the group's tree is the same"
    [ $verdict = 0 ] || fail "$engine without $link: $(cat cut.txt)"
    [ "$(json cut.json members)" = 11 ] || fail "$engine: members are lost: $(cat cut.json)"
    stop_fabric
done

# No tree goes together with the tables before this failure: the groups' blocks are emptied before the
# tables change, and written when nothing is left on the old ways.
"$subnet" gen --topology dragonfly:4:2:2 --output net || fail "gen"
start_ibsim net H00001
start_opensm turnadd
broadcast "$(seq -s ' ' 1 3 70)" whole
n=$(sweeps)
echo 'Unlink "S00004"[6]' >console
settle $((n + 1))
look cut
grep -o 'groups are removed before$\|groups wait until it is made$\| 0 LIDs drain first$' opensm.log | uniq >stages
printf ' 0 LIDs drain first\ngroups are removed before\ngroups wait until it is made\n 0 LIDs drain first\n' |
    cmp -s - stages || fail "stages: $(cat stages; grep dimmnet: opensm.log)"
[ $verdict = 0 ] || fail "after the stages: $(cat cut.txt)"
[ "$(json cut.json members)" = "$wanted" ] || fail "members are lost: $(cat cut.json)"
rc=0
"$subnet" verify --topology file:cut.net --lfts cut.lfts --from whole.lfts --mfts cut.mfts >plan.txt || rc=$?
[ $rc = 1 ] && grep -q 'groups are removed before.*: good' plan.txt || fail "plan: $(cat plan.txt)"
stop_fabric
