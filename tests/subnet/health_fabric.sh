#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The link monitor on a simulated fabric: errors injected by ibsim, read by ibqueryerrors; --apply
# takes the sick link out of service and no other, and OpenSM routes around it.
. "$(dirname "$0")/fabric.sh"
for tool in ibqueryerrors ibportstate; do
    command -v $tool >/dev/null 2>&1 || skip "$tool is missing (Debian: infiniband-diags)"
done

"$subnet" gen --topology leaf-spine:4:4:6 --output net || fail "gen"
start_ibsim net H00001
start_opensm minhop
on_fabric ibqueryerrors >before.txt 2>query.err || fail "ibqueryerrors: $(cat query.err)"
echo 'PerformanceSet "leaf0002"[3] PortCounters.SymbolErrorCounter=5000' >console
# The console takes it when it gets to it.
for _ in $(seq 100); do
    on_fabric ibqueryerrors >after.txt 2>query.err
    grep -q 'SymbolErrorCounter == 5000' after.txt && break
    sleep 0.1
done
cat after.txt
"$subnet" health --topology file:net --before before.txt --after before.txt ||
    fail "clean links judged sick"
"$subnet" health --topology file:net --before before.txt --after after.txt --json health.json &&
    fail "the sick link was not found"
grep -q '"switch": "leaf0002"' health.json || fail "another link was blamed"
[ "$(json health.json isolate)" = true ] || fail "the link may be isolated, but is not"

# physical PORT: what the switch leaf0002, the second one of the net, says of a port of its own.
physical() {
    on_fabric ibportstate -G 0x200001 "$1" 2>/dev/null |
        sed -n 's/^PhysLinkState:\.*//p' | head -n 1
}

[ "$(physical 3)" = LinkUp ] || fail "the link was disabled without --apply"
on_fabric "$subnet" health --topology file:net --before before.txt --after after.txt --apply \
    >apply.txt 2>&1
[ $? = 1 ] || fail "--apply: $(cat apply.txt)"
cat apply.txt
[ "$(physical 3)" = Disabled ] || fail "--apply left the sick link $(physical 3)"
for port in 1 2 4; do
    [ "$(physical $port)" = LinkUp ] || fail "--apply left port $port $(physical $port)"
done
# On a real fabric the link is down now; ibsim only notes the physical state and is told.
n=$(sweeps)
echo 'Unlink "leaf0002"[3]' >console
wait_sweeps $((n + 1))
on_fabric dump_fts >after.lfts 2>dump.err || fail "dump_fts: $(cat dump.err)"
"$subnet" verify --topology file:net --cut leaf0002:3 --lfts after.lfts ||
    fail "routes over the disabled link"

# Without ibportstate: one line that says so, and status 3.
PATH=/nonexistent "$subnet" health --topology file:net --before before.txt --after after.txt \
    --apply >none.txt 2>&1
[ $? = 3 ] && [ "$(grep -c 'cannot run ibportstate' none.txt)" = 1 ] || fail "none: $(cat none.txt)"
