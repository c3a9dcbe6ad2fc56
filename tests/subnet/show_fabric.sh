#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-subnet show --fabric on a simulated fabric: what ibsim has, its subnet manager; a fabric without one is warned of.
. "$(dirname "$0")/fabric.sh"
for tool in ibnetdiscover iblinkinfo sminfo; do
    command -v $tool >/dev/null 2>&1 || skip "$tool is missing (Debian: infiniband-diags)"
done

"$subnet" gen --topology leaf-spine:3:2:2 --output net || fail "gen"
start_ibsim net H00001
on_fabric "$subnet" show --fabric >none.txt 2>none.err
[ $? = 1 ] || fail "without a subnet manager: $(cat none.txt none.err)"
grep -q '5 switches, 6 servers, 6 links' none.txt || fail "what there is: $(cat none.txt)"
grep -q '^  no subnet manager answers' none.txt || fail "no warning: $(cat none.txt)"

start_opensm minhop
on_fabric "$subnet" show --fabric --json show.json >show.txt 2>show.err
[ $? = 1 ] || fail "show: $(cat show.txt show.err)"
cat show.txt
grep -q '^subnet manager: LID [0-9]*, GUID 0x100001, priority 0, activity [0-9]*, SMINFO_MASTER$' show.txt || fail "its manager"
python3 - <<'P' || fail "show.json: $(cat show.json)"
import json
s = json.load(open("show.json"))
ports = {(w["name"], p["port"]): p for w in s["switches"] for p in w["ports"]}
assert len(ports) == 18 and all(p["width"] == 4 and p["speed"] == "SDR" and p["peer_lid"] for p in ports.values()), ports
assert ports["leaf0001", 1]["peer"] == "spine0001" and ports["leaf0001", 3]["peer"] == "H00001", ports
assert len({v["lid"] for v in s["servers"]}) == 6, s["servers"]
# ibsim's links run at 4x SDR and could do more: said of each, of nothing else.
assert len(s["warnings"]) == 12 and all("4x SDR, could at 12x QDR" in w for w in s["warnings"]), s["warnings"]
P

# Without the tools: one line that says so, and status 3.
PATH=/nonexistent "$subnet" show --fabric >none.txt 2>&1
[ $? = 3 ] && [ "$(grep -c 'cannot run ibnetdiscover' none.txt)" = 1 ] || fail "none: $(cat none.txt)"
