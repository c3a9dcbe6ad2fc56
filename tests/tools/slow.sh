#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Links of an emulated cluster that are slow: a delay, a limit of their rate, lost packets, which are sent again. What
# is sent arrives, in order; the counts say what was lost; --heal ends it all.
. "$DNET_SRC/tests/tools/lib.sh"
job=
trap '[ -z "$job" ] || kill $job 2>/dev/null; clean_up' EXIT

degrade() { dnet-cluster degrade --cluster "$cluster" "$@"; }
# takes MS COMMAND...: it takes at least so long.
takes() {
    least=$1
    shift
    begun=$(date +%s%N)
    expect 0 "$@"
    took=$((($(date +%s%N) - begun) / 1000000))
    [ $took -ge "$least" ] || fail "$*: $took ms instead of $least"
}
# link EXPRESSION: of the link from leaf0001 that is used, as `l`.
link() {
    expect 0 dnet-cluster status --json --links "$cluster"
    python3 - "$port" "$1" <<'P' || fail "not so: $1"
import json, sys
links = json.load(open("out"))["clusters"][0]["network"]["link"]
l = [l for l in links if (l["from"], l["from_port"]) == ("leaf0001", int(sys.argv[1]))][0]
assert eval(sys.argv[2]), l
P
}

expect 0 dnet-cluster up --topology leaf-spine:3:1:2 "$cluster"
expect 0 dnet-cluster path --cluster "$cluster" 1 2
port=$(sed -n 's/^leaf0001 port \([0-9]*\) -> .*/\1/p' out)
for wrong in '--loss 91' '--loss -1' '--loss x' '--delay 2000000' '--limit 0.5' '--limit many' '--delay 0.4' '--loss 0.00001'; do
    # shellcheck disable=SC2086
    expect 2 degrade leaf0001:$port $wrong
    says "${wrong% *}"
done
expect 0 dnet-cluster status --links "$cluster"
! grep -q slowed out || fail 'a link is slow from the start'

expect 0 degrade leaf0001:$port --delay 300000
link 'l["delay_us"] == 300000 and l["limit_mb_s"] == 0 and l["loss_percent"] == 0'
expect 0 dnet-cluster status --links "$cluster"
shows '^      slowed: delay 300000 us, at most 0 MB/s'
takes 300 dsh --cluster "$cluster" --node 1 -c 'rllcm_write 2 0 7'
expect 0 dsh --cluster "$cluster" --node 2 -c 'llcm_read 0 8'
shows 00000007
# A cut ends no delay.
expect 0 dnet-cluster cut --cluster "$cluster" leaf0001:$port
expect 0 dnet-cluster restore --cluster "$cluster" leaf0001:$port
expect 0 dnet-cluster cut --cluster "$cluster" leaf0001:$((3 - port)) # so that the way leads over it again
expect 0 dnet-cluster path --cluster "$cluster" 1 2
shows "^leaf0001 port $port "
takes 300 dsh --cluster "$cluster" --node 1 -c 'rllcm_write 2 0 7'
expect 0 degrade leaf0001:$port --delay 0 --limit 1
takes 200 dsh --cluster "$cluster" --node 1 -c 'prim RVS dt=0 it=0 dw=0 dl=2 ef=0 size=200000 src=0 dst=0'
expect 0 degrade leaf0001:$port --limit 0 --loss 80

# 60 packets, each of which arrives; of 60 none lost at 80 per cent is 10^-42.
i=0
while [ $i -lt 60 ]; do
    echo "rllcm_write 2 $((8 * (i % 8))) $i"
    i=$((i + 1))
done >script
expect 0 dsh --cluster "$cluster" --node 1 --file script
link 'l["loss_percent"] == 80 and l["lost"] > 0 and l["symbol_errors_back"] >= l["lost"] and l["packets"] >= 61'
expect 0 dsh --cluster "$cluster" --node 2 -c 'llcm_read 0 64'
for i in 52 53 54 55 56 57 58 59; do
    grep -qi "$(printf '%08x' $i)" out || fail "packet $i has not arrived"
done
expect 1 dnet-subnet show --cluster "$cluster" --brief
shows ' symbol errors'
expect 0 degrade leaf0001:$port --heal
link 'l["delay_us"] == l["limit_mb_s"] == l["loss_percent"] == 0 and l["lost"] > 0'
before=$(python3 -c 'import json; print(sum(l["lost"] for l in json.load(open("out"))["clusters"][0]["network"]["link"]))')
expect 0 dsh --cluster "$cluster" --node 1 --file script
link "l['lost'] == $before"
# All is well at both ends, whichever is named; what else is given comes after.
expect 0 degrade leaf0001:$port --receive-errors 5000
expect 0 dnet-cluster path --cluster "$cluster" 2 1
other=$(sed -n 's/^\(spine[0-9]* port [0-9]*\) -> leaf0001 .*/\1/p' out | sed 's/ port /:/')
expect 0 degrade "$other" --heal --delay 50
link 'l["delay_us"] == 50 and l["receive_errors"] > 0'
before=$(python3 -c 'import json; print(*[l["receive_errors"] for l in json.load(open("out"))["clusters"][0]["network"]["link"]])')
sleep 0.1
link '[l["receive_errors"] for l in json.load(open("out"))["clusters"][0]["network"]["link"]] == [int(n) for n in "'"$before"'".split()]'

# A job over such links, and a cut among them.
expect 0 dnet-cluster down "$cluster"
expect 0 dnet-cluster up --topology leaf-spine:3:1:2 --profile extended "$cluster"
for l in leaf0001:1 leaf0002:2 leaf0003:1; do
    expect 0 degrade $l --loss 10 --delay 20 --limit 200
done
DIMMNET_CLUSTER=$cluster "$DNET_BUILD/tests/tools/traffic" enough rounds >job.out 2>&1 &
job=$!
until_true test -s rounds
until_true sh -c '[ $(cat rounds) -ge 3 ]'
expect 0 dnet-cluster cut --cluster "$cluster" leaf0001:1
expect 0 dnet-cluster restore --cluster "$cluster" leaf0001:1
expect 0 dnet-cluster status --links "$cluster"
[ "$(grep -c 'slowed: delay 20 us, at most 200 MB/s' out)" = 3 ] || fail 'a cut made a slow link fast'
: >enough
wait $job || fail "the job: $(cat job.out)"
job=
