#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-subnet from the command line: exit codes, error lines that name the cause, what files hold.
. "$(dirname "$0")/lib.sh"

expect 0 'two-fat-trees' --help
expect 2 'no command' frobnicate
expect 2 'topology is missing' route
expect 2 'neither a kind' route --topology nowhere:3
expect 2 '2\*k^3' route --topology two-fat-trees:17
expect 2 'no routing engine' route --topology ring:5 --engine none
expect 2 'is no fat tree' route --topology ring:5 --engine ftree
expect 2 'expected one of' route --topology ring:5 --traffic odd
expect 3 'cannot open' verify --topology ring:5 --lfts missing
expect 3 'cannot read . to its end' verify --topology ring:5 --lfts .
expect 0 'turns: good' route --topology two-fat-trees:16:middle --pairs-only --verify --json route.json \
    --quiet
grep -q '"turn_pairs_allowed": 158' route.json || { echo "FAIL: turn pairs in route.json"; exit 1; }
expect 1 'cycle: S0000' route --topology ring:5 --engine minhop --verify --quiet
expect 0 '2 links between switches' path --topology ring:5:1 H00001 H00003
expect 2 'no server' path --topology ring:5:1 H00001 H99999

# Tables that need lanes are not written without their service levels; with them they are good.
expect 2 'needs 2 lanes' route --topology ring:6:2 --engine dfsssp --write-lfts dfsssp.lfts
expect 0 '' route --topology ring:6:2 --engine dfsssp --write-lfts dfsssp.lfts --write-sl dfsssp.sl
expect 2 'service level 0' route --topology ring:6:2 --write-sl none.sl
expect 1 'assumed: one lane' verify --topology ring:6:2 --lfts dfsssp.lfts
"$subnet" verify --topology ring:6:2 --lfts dfsssp.lfts --sl dfsssp.sl --json dfsssp.json >out
alone=$?
grep -q 'tables_verdict: good' out || { echo "FAIL: dfsssp's levels"; cat out; exit 1; }
# A change is judged on one lane: of tables with several the verdict on the tables stands alone.
expect $alone 'change: 0 entries in 0 blocks; not judged: packets have several lanes' verify --topology ring:6:2 --lfts dfsssp.lfts \
    --sl dfsssp.sl --from dfsssp.lfts --json lanes.json
grep -q '"judged": false' lanes.json || { echo "FAIL: lanes.json"; cat lanes.json; exit 1; }
! grep -q 'good_in_any_order' lanes.json || { echo "FAIL: an order in lanes.json"; cat lanes.json; exit 1; }
expect 1 'BAD in any order' verify --topology ring:6:2 --lfts dfsssp.lfts --from dfsssp.lfts

# Tables do not depend on the number of processors; each way for management is there.
taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$subnet" route \
    --topology two-fat-trees:1024:middle --write-lfts one.lfts >out
for _ in 1 2; do
    expect 0 'management: good' route --topology two-fat-trees:1024:middle --verify --write-lfts many.lfts
    cmp many.lfts one.lfts || { echo "FAIL: other tables on one processor"; exit 1; }
done

# What is wrong, where, and what to do: text and JSON.
expect 0 '' route --topology leaf-spine:3:2:2 --write-lfts good.lfts
sed 's/^\(0x0001 \)003/\1004/' good.lfts >astray.lfts
expect 1 'do: ' verify --topology leaf-spine:3:2:2 --lfts astray.lfts --json astray.json
python3 - <<'P' || { echo "FAIL: astray.json"; cat astray.json; exit 1; }
import json
e = json.load(open("astray.json"))["tables_verdict"]["example"]
assert e["switch"] == "leaf0001" and e["to"] == "H00001" and e["fault"] == "astray" and e["do"], e
P
grep -v 'spine0001.)$' good.lfts >unmanaged.lfts
expect 4 'management: BAD' verify --topology leaf-spine:3:2:2 --lfts unmanaged.lfts
"$subnet" route --topology ring:5:1 --engine minhop --write-lfts ring.lfts --quiet >out
expect 1 'cycle: S0' verify --topology ring:5:1 --lfts ring.lfts --json ring.json
python3 - <<'P' || { echo "FAIL: ring.json"; cat ring.json; exit 1; }
import json
v = json.load(open("ring.json"))["tables_verdict"]
assert v["cycle_length"] == len(v["cycle"]) == 5, v
for a, b in zip(v["cycle"], v["cycle"][1:] + v["cycle"][:1]):
    assert a["to"] == b["from"] and a["to_port"] != b["from_port"], v
P

# A change: what turnadd makes of tables in force goes in any order, or in stages that are judged.
expect 0 '' route --topology torus:4x4:2 --write-lfts before.lfts
expect 0 'change: ' route --topology torus:4x4:2 --cut S00001:3 --from before.lfts --write-lfts after.lfts \
    --verify
"$subnet" verify --topology torus:4x4:2 --cut S00001:3 --lfts after.lfts --from before.lfts \
    --json change.json >out
python3 - <<'P' || { echo "FAIL: change.json"; cat change.json; exit 1; }
import json
c = json.load(open("change.json"))["transition"]
assert c["entries"] > 0 and 1 <= len(c["stages"]) <= 2, c
assert all(s["cyclic_lanes"] == 0 for s in c["stages"]), c
assert c["good_in_any_order"] == (c["lids_drained"] == 0) == (len(c["stages"]) == 1), c
P
expect 0 '' route --topology torus:4x4:2 --cut S00001:3 --write-lfts anew.lfts
expect 1 'BAD in any order' verify --topology torus:4x4:2 --cut S00001:3 --lfts anew.lfts --from before.lfts

# A group whose new tree turns where the old tables do not, and the new ones do.
"$subnet" route --topology ring:4:1 --engine updn --root S00001 --write-lfts one.lfts --quiet >out
"$subnet" route --topology ring:4:1 --engine updn --root S00003 --write-lfts three.lfts --quiet >out
python3 - <<'P'
def write(name, ports): # of each switch that is in the group; 1 is the server's
    with open(name, "w") as f:
        for s in range(4):
            f.write(f"Multicast mlids of switch Lid {0x4001 + s} guid 0x{0x200000 + s:x} (S{s + 1:05}):\n")
            if s in ports:
                f.write("0xc000      " + "".join("x " if p in ports[s] else "  " for p in range(4)) + "\n")
write("near.mfts", {3: [1, 3], 0: [1, 2, 3], 1: [1, 2]})
write("far.mfts", {1: [1, 3], 2: [1, 2, 3], 3: [1, 2]})
P
expect 0 'good in any order' verify --topology ring:4:1 --lfts one.lfts --from one.lfts --mfts near.mfts --json near.json
grep -q '"groups_beside_old_tables": true' near.json || { echo "FAIL: near.json"; cat near.json; exit 1; }
expect 0 'multicast: good' verify --topology ring:4:1 --lfts three.lfts --mfts far.mfts
expect 1 'groups close a cycle with the tables before' verify --topology ring:4:1 --lfts three.lfts --from one.lfts \
    --mfts far.mfts --json far.json
grep -q '"groups_beside_old_tables": false' far.json || { echo "FAIL: far.json"; cat far.json; exit 1; }
grep -q 'groups are removed before.*: good' out || { echo "FAIL: groups have no stage"; cat out; exit 1; }
python3 - <<'P' || { echo "FAIL: stages of far.json"; cat far.json; exit 1; }
import json
s = json.load(open("far.json"))["transition"]["stages"]
assert s[-1]["groups"] and all(x["cyclic_lanes"] == 0 for x in s), s
P

# Partitions say what traffic to balance for: here all to one server.
echo 'a=0x1 : ALL=limited, 0x100001=full ;' >partitions
"$subnet" route --topology ring:6:1 --verify --quiet --json all.json >out
expect 0 'tables_verdict: good' route --topology ring:6:1 --partitions partitions --verify --json some.json
python3 - <<'P' || { echo "FAIL: partitions in route"; exit 1; }
import json
a, s = (json.load(open(f))["tables_uniform"] for f in ("all.json", "some.json"))
assert a != s, (a, s)
P
expect 2 'give one' route --topology ring:6:1 --partitions partitions --matrix partitions

# Tables made for partitions carry their traffic better than those made for traffic from all to all.
for i in $(seq 0 15); do
    printf 'p%d=0x%x : 0x%x=full, 0x%x=full ;\n' "$i" $((i + 1)) $((0x100001 + 3 * i)) $((0x100031 + 3 * i))
done >pairs
expect 0 '' route --topology random:16:4:2 --write-lfts all.lfts
expect 0 '' route --topology random:16:4:2 --partitions pairs --write-lfts pairs.lfts
for tables in all pairs; do
    expect 0 '; 32 pairs' verify --topology random:16:4:2 --lfts $tables.lfts --partitions pairs --json $tables.json
done
python3 - <<'P' || { echo "FAIL: tables are not made for partitions"; exit 1; }
import json
a, s = (json.load(open(f + ".json"))["tables_uniform"] for f in ("all", "pairs"))
assert s > 1.2 * a, (a, s)
P

# A cut, a hint and a traffic matrix change routes.
expect 0 '3 links between switches' path --topology ring:5:1 --cut S00002:2 H00001 H00003
expect 2 'neither a switch nor' path --topology ring:5:1 --cut S9:1 H00001 H00003
echo 'S00001 2 100' >hints
expect 0 'S00001 port 3' path --topology mesh:2x2:1 --hints hints H00001 H00004
echo 'S00001 9 100' >hints
expect 2 'hints:1' path --topology mesh:2x2:1 --hints hints H00001 H00004
echo 'H00001 H00002 x' >matrix
expect 2 'matrix:1' route --topology ring:5:1 --matrix matrix
echo 'H00001 H00002 1' >matrix
expect 0 'turns: good' route --topology ring:5:1 --matrix matrix --verify --weightless

for format in ibsim dot svg; do
    expect 0 '' gen --topology dragonfly:3:1:2 --format $format --output "picture.$format"
    [ -s "picture.$format" ] || { echo "FAIL: no picture.$format"; exit 1; }
done
expect 0 '12 switches' route --topology file:picture.ibsim
expect 0 '1961 blocks' lid --topology leaf-spine:324:18:18 --scheme grouped --fail 1
expect 0 'hetero over ftree' rails --nodes 700 --trials 2
expect 2 'sick' rails --sick 65

# MR-06: sick links in service against a network without them, whose rails differ too.
expect 0 'hetero over updn2' rails --nodes 700 --sick 4 --json rails.json
python3 - <<'P' || { echo "FAIL: MR-06"; exit 1; }
import json
r = json.load(open("rails.json"))
worst = {k: r[k]["worst_mean_600_and_more"] for k in ("minhop", "updn", "ftree", "updn2", "hetero")}
for k in ("minhop", "updn", "ftree"):
    assert 1.10 < worst["hetero"] / worst[k] < 1.45, worst
assert worst["updn2"] > 1.1 * worst["updn"], worst # the repair's part of it
P
expect 0 'computed figures' reproduce --nodes 16 --seeds 1 --json reproduce.json \
    --data data
grep -q '"id": "TA-14"' reproduce.json || { echo "FAIL: TA-14 is not in reproduce.json"; exit 1; }
[ -s data/random.dat ] || { echo "FAIL: no data for the plots"; exit 1; }
python3 - <<'P' || { echo "FAIL: kinds of figures in reproduce.json"; exit 1; }
import json
r = json.load(open("reproduce.json"))
count = {}
for row in r["rows"]:
    count[row["kind"]] = count.get(row["kind"], 0) + 1
    assert ("holds" in row) == (row["kind"] == "computed"), row
assert count["computed"] == r["hold"] + r["differ"], (count, r["hold"], r["differ"])
for kind in ("definition", "calibrated"):
    assert count[kind] == r[kind] > 0, (kind, count)
assert count["not computed"] == r["not_computed"] == sum("why" in row for row in r["rows"])
P

# Data of which a file could not be written whole.
if [ -e /dev/full ]; then
    ln -sf /dev/full data/random.dat
    expect 3 'cannot write data to data' reproduce --nodes 16 --seeds 1 --data data
fi
# A name that is no UTF-8, in JSON.
"$subnet" gen --topology ring:5:1 --output "$(printf 'caf\351-caf\303\251')"
expect 0 '' route --quiet --topology "file:$(printf 'caf\351-caf\303\251')" --json name.json
python3 -c 'import json; t = json.load(open("name.json", encoding="utf-8"))["topology"]; assert t == "caf\u00e9-caf\u00e9", t' ||
    { echo "FAIL: name.json"; exit 1; }
