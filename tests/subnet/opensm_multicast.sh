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

# broadcast HOSTS SWITCHES FILE: these hosts join the broadcast group; its tables when they reach so
# many switches.
broadcast() {
    # shellcheck disable=SC2046 # each GUID is an argument
    on_fabric python3 "$here/join.py" 1 ff12:401b:ffff::ffff:ffff $(guids_of $1) ||
        fail "hosts $1 cannot join"
    for _ in $(seq 100); do
        on_fabric dump_fts -M >"$3" 2>dump.err || fail "dump_fts -M: $(cat dump.err)"
        [ "$(grep -c '^0xc000' "$3")" = "$2" ] && return
        sleep 0.1
    done
    fail "the group is not at $2 switches: $(cat "$3")"
}

stop() {
    stop_opensm
    kill $fabric_pids 2>/dev/null
    wait
    fabric_pids=
}

# updn on a ring: no packet to a single port turns far from the root, at S00005.
"$subnet" gen --topology ring:7:1 --output net || fail "gen"
echo 0x200000 >roots
for hosts in '7 1 2' '4 5 6'; do
    start_ibsim net H00001
    start_opensm updn -a "$scratch/roots"
    broadcast "$hosts" 3 "updn.${hosts%% *}.mfts"
    on_fabric dump_fts >updn.lfts 2>dump.err || fail "dump_fts: $(cat dump.err)"
    on_fabric saquery -g >groups || fail "saquery -g"
    stop
done
"$subnet" verify --topology file:net --lfts updn.lfts --mfts updn.7.mfts --groups groups \
    --json near.json || fail "a tree near the root is rejected"
[ "$(json near.json members)" = 3 ] || fail "not three members: $(cat near.json)"
"$subnet" verify --topology file:net --lfts updn.lfts --mfts updn.4.mfts --groups groups \
    --json far.json
[ $? = 1 ] || fail "a tree that turns far from the root is accepted"
[ "$(json far.json closed_by)" = '"0xc000"' ] || fail "the group is not named: $(cat far.json)"
