#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-trace capture: captures of a running job are switched off and on, by kind and result of packets, by rank, and up to
# a size; each file stays whole.
. "$DNET_SRC/tests/tools/lib.sh"
job=
trap '[ -z "$job" ] || kill $job 2>/dev/null; clean_up' EXIT
further() {
    wanted=$(($(cat rounds) + $1))
    until_true sh -c "[ \$(cat rounds) -ge $wanted ]"
}
# types FILE FROM: kinds of packets behind byte FROM, and the ranks of each, as numbers; a file that is not whole fails.
types() {
    python3 - "$1" "$2" <<'P' || fail "$1 is not whole"
import struct, sys
data, at, found = open(sys.argv[1], "rb").read(), 0, set()
while at < len(data):
    kind, length = struct.unpack_from("<II", data, at)
    assert length >= 12 and struct.unpack_from("<I", data, at + length - 4)[0] == length
    if kind == 6 and at >= int(sys.argv[2]):
        beside, header = struct.unpack_from("<QQ", data, at + 28)
        found.add("%d:%d:%d" % (header >> 12 & 31, (beside >> 32 & 0xffff) - 1, (beside >> 48 & 0xffff) - 1))
    at += length
print(" ".join(sorted(found)))
P
}

expect 1 dnet-trace capture status --job $$
says 'was started with DIMMNET_PCAP'
expect 2 dnet-trace capture perhaps
says 'want on, off or status'
expect 2 dnet-trace capture on --only IPUSH,nonsense
says "'nonsense' is neither"
expect 2 dnet-trace capture off --limit 5
says 'go with on'

DIMMNET_PROFILE=extended DIMMNET_PCAP=$PWD/run.pcapng "$DNET_BUILD/tests/tools/traffic" enough rounds >job.out 2>&1 &
job=$!
until_true test -s rounds
further 2
expect 0 dnet-trace capture status --job $job
[ "$(grep -c '^rank [0-5] .* on ' out)" = 6 ] || fail "six captures that are on"
[ "$(grep -c 'run\.[0-5]\.pcapng  all$' out)" = 6 ] || fail "their files"

# Off: the files stay as they are while the job goes on.
expect 0 dnet-trace capture off --job $job
further 2
before=$(cat run.?.pcapng | wc -c)
further 20
[ "$(cat run.?.pcapng | wc -c)" = "$before" ] || fail "captures that are off grow"
expect 0 dnet-trace capture status -p $job
[ "$(grep -c ' off ' out)" = 6 ] || fail "six captures that are off"

# On again: IPUSH of rank 4 only, which hears from ranks 0 and 2 and talks to rank 0.
size=$(wc -c <run.0.pcapng)
size1=$(wc -c <run.1.pcapng)
expect 0 dnet-trace capture on --only ipush --rank 4 --job $job
further 20
expect 0 dnet-trace capture status --job $job
shows '  IPUSH rank 4$'
types run.0.pcapng "$size" >found
[ "$(cat found)" = '24:0:4' ] || fail "of rank 0 only its messages to rank 4: $(cat found)"
[ "$(wc -c <run.1.pcapng)" = "$size1" ] || fail "of rank 1 nothing: $(types run.1.pcapng "$size1")"

# Nothing is stopped here, so nothing is written; then up to a size.
expect 0 dnet-trace capture on --only unreachable --job $job
further 2
before=$(cat run.?.pcapng | wc -c)
further 10
[ "$(cat run.?.pcapng | wc -c)" = "$before" ] || fail "packets that arrive are not unreachable"
limit=$(($(wc -c <run.0.pcapng) + 2000))
expect 0 dnet-trace capture on --limit $limit --job $job
further 30
expect 0 dnet-trace capture status --job $job
shows "^rank 0 .* off .* $limit "
size=$(wc -c <run.0.pcapng)
[ "$size" -ge $limit ] && [ "$size" -lt $((limit + 300)) ] || fail "$size bytes instead of $limit"
: >enough
wait $job || fail "the job: $(cat job.out)"
job=
for r in 0 1 2 3 4 5; do
    types run.$r.pcapng 0 >found
done

# A process with several endpoints has several captures: all of them are switched.
rm -f enough rounds
DIMMNET_PROFILE=extended DIMMNET_PCAP=$PWD/run.pcapng "$DNET_BUILD/tests/tools/traffic" enough rounds second.pcapng >job.out 2>&1 &
job=$!
until_true test -s rounds
expect 0 dnet-trace capture status --job $job
first=$(awk '$1 == "rank" && $2 == 0 { print $3; exit }' out)
[ "$(grep -c '^rank ' out)" = 7 ] && grep -q '^rank 0 vci ' out || fail "seven captures"
for pid in "$first" $job; do
    expect 0 dnet-trace capture off --job "$pid"
    expect 0 dnet-trace capture status --job "$first"
    [ "$(grep -c ' off ' out)" = 2 ] || fail "both captures of rank 0 are off"
    expect 0 dnet-trace capture on --job "$first"
done
: >enough
wait $job || fail "the job: $(cat job.out)"
job=
