#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Bad input is no good news: junk in a topology or a number, a health query that has failed, servers that are cut off.
. "$(dirname "$0")/lib.sh"

# refuse TEXT ARGUMENT...: status 2 and one line, which holds the text.
refuse() {
    text=$1
    shift
    expect 2 "$text" "$@"
    [ "$(wc -l <out)" = 1 ] || { echo "FAIL: dnet-subnet $*: more than one line:"; cat out; exit 1; }
}

# A topology is what its whole specification says.
for spec in ring:5:1junk ring:5junk ring:5:1:9 ring:5: ring:: ring:-5 'ring: 5' torus:4x4x4x4x4 torus:4x4x torus:4x4y \
    mesh:4xx4 mesh:x4 fat-tree:3:4junk leaf-spine:2:2:2:2 tsubame:88:18:6:0:1 random:20:10:10:10 dragonfly:2:1:1x \
    two-fat-trees:16:middle:half:half two-fat-trees:16:muddle two-fat-trees:0x10x; do
    refuse 'subnet: ' gen --topology "$spec"
done
expect 0 '256 switches' route --topology torus:4x4x4x4 --quiet --engine minhop
for option in '--seed x' '--seed 1x' '--seed -1' '--seed 1.5' '--lanes 0' '--lanes 8x' '--between inf' '--between 0' '--bundles 1e3'; do
    # shellcheck disable=SC2086
    refuse "${option%% *}" route --topology ring:5 $option
done
refuse 'neither a switch nor' route --topology ring:5 --cut S00001:2junk
refuse 'unexpected argument' route --topology ring:5 stray

# Servers whose switch is out of service are not served.
expect 0 'tables_verdict: good' route --topology leaf-spine:4:2:2 --verify --quiet --cut spine0001
expect 1 '2 of 8 servers are cut off' route --topology leaf-spine:4:2:2 --verify --quiet --cut leaf0001 --json cut.json
grep -q '"servers_cut_off": 2' cut.json || { echo "FAIL: servers_cut_off"; exit 1; }
grep -A4 '"turns"' cut.json | grep -q '"good": false' || { echo "FAIL: cut off, and good"; exit 1; }

# Multicast tables that are none.
"$subnet" route --topology ring:5:1 --engine updn --write-lfts ring.lfts --quiet >out
refuse 'before the first switch' verify --topology ring:5:1 --lfts ring.lfts --mfts ring.lfts
refuse 'needs --mfts' verify --topology ring:5:1 --lfts ring.lfts --groups ring.lfts
printf 'Multicast mlids of switch Lid 1 guid 0x200000 (a):\n0xc000      x\n' >mfts
refuse 'saquery -g' verify --topology ring:5:1 --lfts ring.lfts --mfts mfts --groups ring.lfts
for marks in '0xc000  x' '0xc000   x' '0xc000       x' '0xc000              x' '0xc000      y'; do
    printf 'Multicast mlids of switch Lid 1 guid 0x200000 (a):\n%s\n' "$marks" >astray.mfts
    refuse 'astray.mfts:2: expected an x' verify --topology ring:5:1 --lfts ring.lfts --mfts astray.mfts
done
expect 0 'multicast: good; 1 groups, 1 members' verify --topology ring:5:1 --lfts ring.lfts --mfts mfts

# Port 256 of a switch, which multicast tables have no bit for; nor have the others an entry for 255 and 256.
cut='--topology leaf-spine:256:1:1 --cut leaf0255 --cut leaf0256'
# shellcheck disable=SC2086
"$subnet" route $cut --engine minhop --write-lfts wide.lfts --quiet >out || exit 1
printf 'Multicast mlids of switch Lid 1 guid 0x200100 (spine0001):\n0xc000      %512sx\n' '' >wide.mfts
# shellcheck disable=SC2086
refuse 'wide.mfts:2: expected an x under each port of 0..255' verify $cut --lfts wide.lfts --mfts wide.mfts

# Partitions that are none.
for text in 'ring' 'a=0x1 : ALL' 'a=0x10000 : ALL ;' 'a=0x1 : H00001 ;' 'a=0x1 : ALL=half ;' '' 'a=0x1, ipoob : ALL ;' \
    'a=0x1, defmember=half : ALL ;' 'a=0x1 ipoib : ALL ;' 'a=0x1 : 0x100001 0x100004 ;' 'a=0x1 : ALL= ;'; do
    echo "$text" >partitions
    refuse 'partitions:1: ' verify --topology ring:5:1 --lfts ring.lfts --partitions partitions
done
echo 'a=0x1 : ALL=limited, 0x100001=full ;' >partitions
expect 0 'good; 8 pairs' verify --topology ring:5:1 --lfts ring.lfts --partitions partitions

# health OUTPUT: a reading of the counters that is no reading.
"$subnet" gen --topology leaf-spine:2:2:2 --output net || exit 1
summary='## Summary: 8 nodes checked, 0 bad nodes found
##          12 ports checked, 0 ports have errors beyond threshold
## 
## Suppressed:'
printf '\n%s\n' "$summary" >good
expect 0 '0 links not clean' health --topology file:net --before good --after good
health() {
    printf '%s\n' "$1" >bad
    refuse "$2" health --topology file:net --before good --after bad
    refuse "$2" health --topology file:net --before bad --after good
}
: >empty
refuse 'Summary' health --topology file:net --before good --after empty
health "ibwarn: [4711] get_abi_version: can't open UMAD port" 'bad:1: no line of ibqueryerrors'
health 'It was a dark and stormy night.' 'bad:1: no line of ibqueryerrors'
health 'Errors for 0x200000 "leaf0001"
   GUID 0x200000 port 3: [SymbolErrorCounter == 70]' 'Summary' # cut off
health '## Summary: 0 nodes checked, 0 bad nodes found' 'has checked no node'
expect 3 'cannot open' health --topology file:net --before good --after missing
printf '\n%s\n##          3 PMA query failures\n' "$summary" >failures
expect 0 'counters of 3 ports could not be read' health --topology file:net --before good --after failures

# Networks in which what is asked for is not there.
expect 2 'not leaves with one link to every spine' lid --topology ring:4:0 --fail 1
printf '%s\n' 's/^Switch.3 "leaf0001"/Switch 4 "leaf0001"\n[4] "spine0001"[3]/' \
    's/^Switch.2 "spine0001"/Switch 3 "spine0001"\n[3] "leaf0001"[4]/' >parallel
"$subnet" gen --topology leaf-spine:2:1:2 | sed -f parallel >twice
expect 2 'not leaves with one link to every spine' lid --topology file:twice --fail 1
refuse 'has 0 servers' rails --topology ring:4:0 --sick 1
printf 'Switch 4 "a"\nHca 1 "g"\n[1] "a"[1]\nHca 1 "h"\n[1] "a"[2]\n' >one
expect 2 'no link between switches that could be sick' rails --topology file:one --sick 1
expect 0 ' 8 nodes: worst pair' rails --topology leaf-spine:4:2:2 --trials 1
expect 2 'updn2: on leaf-spine:40:16:1 servers are without a way' rails --topology leaf-spine:40:16:1 --trials 1 --sick 4

# Ports that InfiniBand does not have.
expect 2 'spine0001 lead to port 255' route --quiet --topology leaf-spine:256:1:2 --engine minhop --write-lfts many.lfts
[ ! -e many.lfts ] || { echo "FAIL: tables that were refused"; exit 1; }

# A row of an SL2VL table that ends before its lanes do, as the last of a file.
"$subnet" route --topology ring:5:1 --engine dfsssp --write-lfts five.lfts --write-sl five.sl --quiet >out || exit 1
printf 'SL2VL table: Lid 16385\nports: in  1, out  2: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14| 7|\nports: in  1, out  3: | 0| 1' >short
refuse 'short:3: expected 16 virtual lanes' verify --topology ring:5:1 --lfts five.lfts --sl five.sl --sl2vl short

# SL2VL tables with rows of port 0 alone, which a query without a port asks for, and without one row (4: replies of
# switches are not dfsssp's concern).
rows() { # rows LAST-OUT-PORT: of all switches, whose ports with links are 1 to 3, lane = service level
    for lid in 16385 16386 16387 16388 16389; do
        echo "# SL2VL table: Lid $lid"
        for in in 0 1 2 3; do
            for out in $(seq 0 "$1"); do
                echo "ports: in  $in, out  $out: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14| 7|"
            done
        done
    done
}
levels='verify --topology ring:5:1 --lfts five.lfts --sl five.sl'
rows 0 >zero.sl2vl
rows 3 >all.sl2vl
awk '!/in  2, out  3/ || seen++' all.sl2vl >most.sl2vl # all but one
# shellcheck disable=SC2086
for of in '45 zero' '1 most'; do
    expect 4 "VL = SL for ${of% *} pairs of ports" $levels --sl2vl "${of#* }.sl2vl" --json sl2vl.json
    ! grep -q 'as the SL2VL tables say' out || { echo "FAIL: $of rows are missing, and the tables say so"; cat out; exit 1; }
    grep -q "\"port_pairs_without_sl2vl_row\": ${of% *}" sl2vl.json || { echo "FAIL: $of in sl2vl.json"; exit 1; }
done
# shellcheck disable=SC2086
expect 4 'as the SL2VL tables say' $levels --sl2vl all.sl2vl
! grep -q 'assumed' out || { echo "FAIL: something is assumed where all is known"; cat out; exit 1; }

# A server that is cut off has no way, though its switch's table still has it.
expect 1 'H00001 is cut off: its link' path --topology ring:5:1 --cut H00001 H00001 H00003
expect 1 'H00003 is cut off: its link' path --topology ring:5:1 --cut H00003 H00001 H00003
expect 1 'H00003 is cut off: its switch' path --topology ring:5:1 --cut S00003 H00001 H00003

# Nor is it cabled in a topology that is written, which ibsim would run with it.
"$subnet" gen --topology ring:5:1 --cut H00001 --output less || exit 1
! grep -q '"H00001"\[1\]' less && ! grep -A1 '^Hca.*"H00001"' less | grep -q '^\[' ||
    { echo "FAIL: H00001 is cabled"; cat less; exit 1; }
expect 0 '5 switches, 4 servers' route --topology file:less --quiet
expect 0 '' path --topology file:less H00002 H00003

# A spine that is out of service cannot fail, nor take over.
expect 2 'all in service' lid --topology leaf-spine:4:2:2 --fail 2 --cut spine0002
expect 2 'all in service' lid --topology leaf-spine:4:2:2 --fail 1 --cut leaf0003:2

# Tables are good though minhop forbids none of the turns that would close a cycle.
expect 0 'tables_verdict: good' route --topology leaf-spine:4:2:2 --engine minhop --verify --quiet
expect 1 'turns: BAD' route --topology leaf-spine:4:2:2 --engine minhop --verify --quiet --pairs-only

# Two pieces: no engine and no sweep joins them.
printf 'Switch 4 "a"\nSwitch 4 "b"\nHca 1 "g"\n[1] "a"[1]\nHca 1 "h"\n[1] "b"[1]\n' >pieces
expect 1 'the network is in pieces' route --topology file:pieces --verify --quiet --json pieces.json
! grep -q 'sweep' pieces.json out || { echo "FAIL: a sweep is to join pieces"; cat out; exit 1; }

# LIDs that have moved: their entries differ, and no order of blocks is good.
"$subnet" route --topology ring:4:1 --write-lfts moved.lfts --quiet >out
sed 's/^0x0001 /0xTTTT /; s/^0x0003 /0x0001 /; s/^0xTTTT /0x0003 /' moved.lfts >swapped.lfts
expect 0 'difference: 8 entries in 4 blocks' diff --topology ring:4:1 --lfts moved.lfts --against swapped.lfts
expect 0 '2 LIDs belong to another' diff --topology ring:4:1 --lfts moved.lfts --against swapped.lfts
expect 1 'BAD in any order' verify --topology ring:4:1 --lfts swapped.lfts --from moved.lfts
expect 0 'good in any order' verify --topology ring:4:1 --lfts swapped.lfts --from swapped.lfts
sed 's/^0x400/0x480/' moved.lfts >elsewhere.lfts # switches only
expect 0 'difference: 32 entries in 8 blocks.* servers. entries 0' diff --topology ring:4:1 --lfts moved.lfts --against elsewhere.lfts
expect 0 'good in any order' verify --topology ring:4:1 --lfts elsewhere.lfts --from moved.lfts

# What tables in force have no LID for is not left out of files without a word; unless it is out of service.
"$subnet" route --topology leaf-spine:3:2:2 --write-lfts inforce.lfts --quiet >out
grep -v "'H00003'" inforce.lfts >without.lfts
expect 2 'no LID for 1 servers and switches, for example H00003' route --topology leaf-spine:3:2:2 --quiet \
    --from without.lfts --write-lfts after.lfts --guid2lid after.guid2lid
[ ! -e after.lfts ] && [ ! -e after.guid2lid ] || { echo "FAIL: files without H00003"; exit 1; }
expect 0 '' route --topology leaf-spine:3:2:2 --quiet --from without.lfts --cut H00003 --write-lfts after.lfts \
    --guid2lid after.guid2lid
[ "$(grep -c . after.guid2lid)" = 10 ] && ! grep -q ' 0x0000' after.guid2lid ||
    { echo "FAIL: LIDs in after.guid2lid"; cat after.guid2lid; exit 1; }

# A file that cannot be written whole keeps what it held, and who may read it.
echo '0x100001 0x0001 0x0001' >kept
chmod 600 kept
cp -p kept before
(
    trap '' XFSZ
    ulimit -f 1
    expect 3 'writing kept failed' route --topology torus:8x8:1 --quiet --guid2lid kept
) || exit 1
cmp kept before || { echo "FAIL: a file is lost for one that could not be written"; exit 1; }
expect 0 '' route --topology torus:8x8:1 --quiet --guid2lid kept
[ "$(grep -c . kept)" = 128 ] && [ "$(stat -c %a kept)" = 600 ] || { echo "FAIL: file kept"; ls -l kept; exit 1; }
ls ./*.part 2>/dev/null && { echo "FAIL: parts of files are left"; exit 1; }

# Without tables there is nothing to write.
for file in write-lfts guid2lid write-sl; do
    refuse 'makes no tables' route --topology ring:5:1 --quiet --pairs-only --$file none
    [ ! -e none ] || { echo "FAIL: --$file of no tables"; exit 1; }
done

# The topology says two LIDs, and no switch has an entry for the second.
printf 'switchguid=0x20\nSwitch 4 "S-0000000000000020" # "a" base port 0 lid 1 lmc 0\n' >lmc
for h in 2 4; do
    printf 'caguid=0x1%d\nCa 1 "H-000000000000001%d" # "h%d"\n[1](1%d0) "S-0000000000000020"[%d] # lid %d lmc 1 "a" lid 1 4xQDR\n' \
        $h $h $h $h $h $h
done >>lmc
printf 'Unicast lids [0x0-0x5] of switch Lid 1 guid 0x20 (a):\n0x0001 000 : (Switch portguid 0x20: a)\n' >lmc.lfts
for lid in 2 3 4 5; do
    printf '0x%04x %03d : (Channel Adapter portguid 0x1%d0: h)\n' $lid $((lid / 2 * 2)) $((lid / 2 * 2))
done >>lmc.lfts
expect 0 'good; 4 pairs, 0 missing' verify --topology file:lmc --lfts lmc.lfts
sed '/^0x0005/d' lmc.lfts >lmc1.lfts
expect 1 'BAD; 4 pairs, 1 missing' verify --topology file:lmc --lfts lmc1.lfts
grep -q '(LID 5)' out || { echo "FAIL: LID 5 is not named"; cat out; exit 1; }

# Links that were isolated before are part of the quarter, whatever else says what links should run at.
"$subnet" gen --topology leaf-spine:3:8:8 --output whole || exit 1
"$subnet" gen --topology leaf-spine:3:8:8 --cut leaf0001:1 --cut leaf0001:2 --output isolated || exit 1
{
    echo 'Errors for 0x200000 "leaf0001"'
    printf '   GUID 0x200000 port %d: [SymbolErrorCounter == 5000]\n' 1 2 3 4 5 6 7 8
    printf '\n%s\n' "$summary"
} >many
expect 1 '; isolate' health --topology file:isolated --before good --after many
expect 1 'a quarter of the uplinks is gone' health --topology file:isolated --before good --after many --previous file:whole
! grep -q '; isolate' out || { echo "FAIL: more than a quarter is isolated"; cat out; exit 1; }
expect 1 '; isolate' health --topology file:whole --before good --after many --previous file:whole
[ "$(grep -c '; isolate' out)" = 2 ] || { echo "FAIL: two of eight may be isolated"; cat out; exit 1; }

# A backslash in a name does not take the quote behind it from Graphviz.
printf 'Switch 4 "a\\"\n[1] "b"[1]\nSwitch 4 "b"\n' >backslash
expect 0 '"a\\\\" -- "b" \[' gen --topology file:backslash --format dot

# A name with blanks, which most descriptions of adapters are: by its GUID.
"$subnet" gen --topology ring:5:1 --output ring || exit 1
sed 's/"H00001"/"node 1 HCA-1"/; s/"S00001"/"MF0 core"/' ring >blanks
echo 'node 1 HCA-1 H00002 1' >rates
refuse 'blanks as its GUID' route --topology file:blanks --matrix rates
echo 'MF0 core 2 3' >costs
refuse 'blanks as its GUID' route --topology file:blanks --hints costs
echo '0x100001 H00002 1' >rates
echo '0x200000 2 3' >costs
expect 0 '' route --topology file:blanks --matrix rates --hints costs

# A port that InfiniBand does not have is named as what is wrong.
"$subnet" gen --topology leaf-spine:256:1:2 --output wide || exit 1
refuse 'a port 1..254' show --topology file:wide
