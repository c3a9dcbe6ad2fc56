#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Sick links of an emulated cluster: errors that rise while nothing passes, a lane of four; found, and not
# touched; isolated while a job goes on, whose packets then avoid them; not isolated where the last way or too
# many uplinks would go.
. "$DNET_SRC/tests/tools/lib.sh"
job=
trap '[ -z "$job" ] || kill $job 2>/dev/null; clean_up' EXIT

health() { # STATUS OPTION...; links.json: what it found
    status=$1
    shift
    expect "$status" dnet-subnet health --cluster "$cluster" --interval 0.2 --json found.json "$@"
}
found() { # EXPRESSION over `links`, the links found
    python3 - "$1" <<'P' || fail "not so: $1: $(cat found.json)"
import json, sys
links = [((l["switch"], l["port"]), l) for l in json.load(open("found.json"))["links"]]
assert eval(sys.argv[1], {"links": links, "sick": {k for k, l in links if l["state"] == "sick"}})
P
}
# carried SWITCH PORT: packets of both directions of the link
carried() {
    dnet-cluster status --json --links "$cluster" | python3 -c '
import json, sys
for l in json.load(sys.stdin)["clusters"][0]["network"]["link"]:
    if (l["from"], l["from_port"]) == (sys.argv[1], int(sys.argv[2])): print(l["packets"] + l["packets_back"])' "$@"
}
further() {
    wanted=$(($(cat rounds) + $1))
    until_true sh -c "[ \$(cat rounds) -ge $wanted ]"
}

expect 2 dnet-subnet health
says 'needs --cluster'
expect 2 dnet-subnet health --cluster "$cluster" --before a --after b
expect 1 dnet-subnet health --cluster "$cluster"
says 'no cluster'
expect 0 dnet-cluster up "$cluster"
expect 1 dnet-subnet health --cluster "$cluster"
says 'has no network'
expect 1 dnet-cluster degrade --name "$cluster" leaf0001:1 --width 1x
says 'has no network'
expect 0 dnet-cluster down "$cluster"

expect 0 dnet-cluster up --topology leaf-spine:3:1:4 --profile extended "$cluster"
expect 2 dnet-cluster degrade --name "$cluster" leaf0001:1
says 'want --width'
expect 2 dnet-cluster degrade --name "$cluster" leaf0001:9 --heal
says 'no link between switches'
expect 2 dnet-cluster degrade --name "$cluster" leaf0001 --heal
expect 2 dnet-cluster degrade --name "$cluster" leaf0001:1 --width 2x
expect 2 dnet-cluster degrade --name "$cluster" leaf0001:1 --speed fast
expect 2 dnet-cluster degrade --name "$cluster" leaf0001:1 --symbol-errors -1
health 0
shows '^0 links not clean'

# A job; and the links it uses fall ill: one counts errors, of one a single lane works.
DIMMNET_CLUSTER=$cluster "$DNET_BUILD/tests/tools/traffic" enough rounds >job.out 2>&1 &
job=$!
until_true test -s rounds
further 5
expect 0 dnet-cluster path --name "$cluster" 1 2
errs=$(sed -n 's/^leaf0001 port \([0-9]*\) -> spine.*/\1/p' out)
expect 0 dnet-cluster path --name "$cluster" 2 3
slow=$(sed -n 's/^leaf0002 port \([0-9]*\) -> spine.*/\1/p' out)
expect 0 dnet-cluster degrade --name "$cluster" "leaf0001:$errs" --symbol-errors 300
expect 0 dnet-cluster degrade --name "$cluster" "leaf0002:$slow" --width 1x
expect 0 dnet-cluster degrade --name "$cluster" leaf0003:1 --speed DDR
expect 0 dnet-cluster degrade --name "$cluster" leaf0003:1 --heal

# Found, not touched.
health 1
shows 'not idle'
shows 'nothing was changed'
found "sick == {('leaf0001', $errs), ('leaf0002', $slow)}"
found "100 < links[0][1]['symbol_rate'] < 900"
found "links[1][1]['gbps'] == 10 and links[1][1]['slow'] and not links[0][1]['slow']"
found "all(l['isolate'] for _, l in links)"
expect 0 dnet-cluster status "$cluster"
shows 'tables of sweep 1: good'

# Isolated, and the job goes on over other links.
health 1 --apply
shows 'isolated: tables of sweep 3'
expect 0 dnet-cluster status --json --links "$cluster"
python3 - "leaf0001:$errs" "leaf0002:$slow" <<'P' || fail "the cuts"
import json, sys
n = json.load(open("out"))["clusters"][0]["network"]
assert n["verdict"] == "good" and sorted(n["cuts"]) == sys.argv[1:], n
assert {"%s:%d" % (l["from"], l["from_port"]): l["width"] for l in n["link"] if l["cut"]} == \
    {sys.argv[1]: 4, sys.argv[2]: 1}, n
P
before="$(carried leaf0001 "$errs") $(carried leaf0002 "$slow")"
further 30
for word in $(carried leaf0001 "$errs") $(carried leaf0002 "$slow"); do
    [ $((word - ${before%% *})) -le 6 ] || fail "$((word - ${before%% *})) packets over an isolated link"
    before=${before#* }
done
health 0
shows '^0 links not clean'
: >enough
wait $job || fail "the job: $(cat job.out)"
job=
! grep -q waits job.out || fail "a packet had to wait: $(cat job.out)"

# Idle now, and errors rise all the same.
expect 0 dnet-cluster degrade --name "$cluster" leaf0003:1 --receive-errors 50
health 1
shows ', idle'
found "sick == {('leaf0003', 1)} and 15 < links[0][1]['receive_error_rate'] < 150"

# A quarter of the uplinks is gone: not without --confirm, and then never the last.
expect 0 dnet-cluster restore --name "$cluster" "leaf0001:$errs"
expect 0 dnet-cluster restore --name "$cluster" "leaf0002:$slow"
for link in "leaf0001:$errs" "leaf0002:$slow" leaf0003:1; do
    expect 0 dnet-cluster degrade --name "$cluster" --heal "$link"
done
for port in 1 2 3 4; do
    expect 0 dnet-cluster degrade --name "$cluster" leaf0001:$port --speed SDR
done
health 1 --apply
shows 'leaf0001 port .*a quarter of the uplinks is gone'
expect 0 dnet-cluster status "$cluster"
[ "$(grep -c 'cut leaf0001' out)" = 1 ] || fail "one uplink in four, not more"
health 1 --apply --confirm
shows 'leaf0001 port .*nothing else connects'
expect 0 dnet-cluster status "$cluster"
[ "$(grep -c 'cut leaf0001' out)" = 3 ] || fail "all but the last"
shows 'good'
