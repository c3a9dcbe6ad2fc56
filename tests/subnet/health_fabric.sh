#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The link monitor on a simulated fabric: errors injected by ibsim, read by ibqueryerrors.
. "$(dirname "$0")/fabric.sh"
command -v ibqueryerrors >/dev/null 2>&1 || skip "ibqueryerrors is missing (Debian: infiniband-diags)"

"$subnet" gen --topology leaf-spine:4:4:6 --output net || fail "gen"
start_ibsim net H00001
start_opensm minhop
on_fabric ibqueryerrors >before.txt 2>query.err || fail "ibqueryerrors: $(cat query.err)"
echo 'PerformanceSet "leaf0002"[3] PortCounters.SymbolErrorCounter=5000' >console
sleep 1
on_fabric ibqueryerrors >after.txt 2>query.err
cat after.txt
"$subnet" health --topology file:net --before before.txt --after before.txt || fail "clean links judged sick"
"$subnet" health --topology file:net --before before.txt --after after.txt --json health.json &&
    fail "the sick link was not found"
grep -q '"switch": "leaf0002"' health.json || fail "another link was blamed"
[ "$(json health.json isolate)" = true ] || fail "the link may be isolated, but is not"
