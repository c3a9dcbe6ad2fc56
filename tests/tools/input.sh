#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Input that is none: files that are empty, of bytes at random, a folder or not there, processes that have ended, a device
# that is full. One line that says what is wrong, and an exit status that is not 0; nothing passes for good news.
. "$DNET_SRC/tests/tools/lib.sh"

: >empty
mkdir folder
head -c 3000 /dev/urandom >junk
# refused COMMAND...: with one line, and 1, 2 or 3.
refused() {
    rc=0
    timeout 60 "$@" >out 2>err </dev/null || rc=$?
    case $rc in 1 | 2 | 3) ;; *) fail "$*: exit status $rc" ;; esac
    [ "$(wc -l <err)" = 1 ] || fail "$*: more or less than one line of error"
}
for file in empty junk folder missing; do
    for command in "dnet-replay $file" "dnet-trace show $file" "dsh --cluster $cluster --file $file" \
        "dnet-cluster up --topology file:$file $cluster" \
        "dnet-subnet gen --topology file:$file" "dnet-subnet draw --topology $file" "dnet-subnet show --topology $file" \
        "dnet-subnet draw --topology ring:5 --links $file" "dnet-subnet show --topology ring:5 --links $file" \
        "dnet-subnet health --topology ring:5 --before $file --after $file" \
        "dnet-subnet verify --topology ring:5 --lfts $file" "dnet-subnet diff --topology ring:5 --lfts $file --against $file" \
        "dnet-subnet route -q --topology ring:5 --matrix $file" "dnet-subnet route -q --topology ring:5 --from $file"; do
        # shellcheck disable=SC2086
        refused $command
    done
done
sleep 0 &
gone=$!
wait $gone
for command in "dnet-stat $gone" "dnet-stat --json $gone" "dnet-stat -i 1 $gone" "dnet-stat --nics $gone" "dnet-trace on all --job $gone" \
    "dnet-trace show --job $gone" "dnet-trace capture status --job $gone" "dsh -p $gone -c v"; do
    # shellcheck disable=SC2086
    refused $command
done
expect 0 dnet-replay bt 4 --iterations 2 --write bt.dnt
# More buffers than are tried are no number of buffers.
low_mark='--trigger low-mark --mark 4096 --iterations 1'
# shellcheck disable=SC2086
expect 0 dnet-replay $low_mark bt 4
shows '^STATIC: below 0.1 % with [0-9]* buffers and stop/resend, more than 4096 and a limit event: reduction not known '
# shellcheck disable=SC2086
expect 0 dnet-replay --json $low_mark bt 4
python3 -c 'import json
f = json.load(open("out"))["found"]
assert f[0]["prop"] < 4096 and f[0]["conv"] is f[0]["reduction_percent"] is None, f' || fail 'more than 4096 buffers as JSON'
# A program whose name is no UTF-8: of rank 0 of 1, which makes no calls.
printf 'DNCALLS\032\001\000\040\000\000\000\000\000\001\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000\003h\351"\000\000\000' >latin.dnt
for form in '--json' '--json --rings'; do
    # shellcheck disable=SC2086
    expect 0 dnet-replay $form latin.dnt
    python3 -c 'import json; name = json.loads(open("out", "rb").read().decode("utf-8"))["program"]
assert name == "h\u00e9_", name' || fail "$form with a name that is no UTF-8"
done
# Of two forms at once neither is meant.
for command in 'dnet-replay --csv --json bt.dnt' 'dnet-replay --print bt 4' 'dnet-replay --print --json bt.dnt' 'dnet-trace show --json --chrome'; do
    # shellcheck disable=SC2086
    expect 2 $command
done
# Nor is an option meant that says nothing here, or a process that is no number.
for command in 'dnet-replay --iterations 2 bt.dnt' 'dnet-replay --seed 1 bt.dnt' 'dnet-replay --noise 0 bt.dnt' 'dnet-replay --mark 3 bt 4' \
    'dnet-replay --tick 2 bt 4' 'dnet-replay --ring-bytes 4096 bt 4' 'dnet-replay --write again.dnt --rings bt 4' \
    'dnet-replay --write again.dnt --csv bt 4' 'dnet-replay --write again.dnt --wire-ns 1000 bt 4' 'dnet-replay --rings --print bt.dnt' \
    'dnet-replay --rings --release any-call bt 4' 'dnet-replay --rings --trigger low-mark --mark 3 bt 4' \
    'dnet-replay --rings --call-ns 300 bt 4' 'dnet-replay --print --wire-ns 1 bt.dnt' "dsh --job $$ --cluster $cluster -c v" \
    'dsh --list -c v' 'dsh --list --file script' "dsh --list --job $$" 'dsh --list --echo' 'dsh --list 3 0 0' 'dnet-trace show -p abc' 'dnet-trace list --job 0' \
    'dnet-trace on all -p 1x'; do
    # shellcheck disable=SC2086
    expect 2 $command
done
if [ -e /dev/full ]; then
    for command in dnet-info 'dnet-info --json' 'dnet-cluster status' 'dnet-cluster --help' 'dnet-trace list' 'dnet-replay bt 4' 'dnet-replay --print bt.dnt' 'dnet-stat --help' 'dnet-check --help' \
        'dsh --help' 'dnet-subnet gen --topology torus:20x20' 'dnet-subnet draw --topology torus:20x20' 'dnet-subnet draw --topology ring:5' \
        'dnet-subnet show --topology ring:5' 'dnet-subnet lid --topology ring:5' 'dnet-subnet path --topology ring:5 H00001 H00002'; do
        [ -x "$DNET_BUILD/tools/${command%% *}" ] || continue # dnet-check comes with MPICH only
        rc=0
        # shellcheck disable=SC2086
        $command >/dev/full 2>err </dev/null || rc=$?
        [ $rc = 3 ] || fail "$command to a full device: exit status $rc"
        says 'o space left'
    done
    for format in ibsim dot svg; do
        expect 3 dnet-subnet gen --topology torus:20x20 --format $format --output /dev/full
        says '/dev/full'
    done
fi

# Started without standard input, output or error: nothing that is opened takes their place, to be printed into.
DIMMNET_TRACE=all DIMMNET_TRACE_FILE=$PWD/ring.trace "$DNET_BUILD/tests/tools/job" </dev/null >/dev/null 2>&1 || :
expect 0 dnet-trace status ring.0.trace
rc=0
dnet-trace off ring.0.trace nosuchfile 2>&- || rc=$?
[ $rc = 1 ] || fail "without standard error: exit status $rc"
expect 0 dnet-trace status ring.0.trace
expect 0 dnet-cluster up "$cluster"
rc=0
dsh --cluster "$cluster" -c regs >&- 2>err || rc=$?
[ $rc = 3 ] || fail "without standard output: exit status $rc"
rc=0
dsh --cluster "$cluster" <&- >out 2>err || rc=$?
[ $rc = 1 ] && grep -q 'cannot be read' err || fail "without standard input: exit status $rc"

# Events are in the order of the times that are shown: processes of one host have one clock, those of another have another.
for later in 1000 3600000000000; do
    python3 - $later <<'P'
import struct, sys
with open("ring.1.trace", "r+b") as other, open("ring.0.trace", "rb") as first:
    first.seek(32)
    epoch, = struct.unpack("<q", first.read(8))
    other.seek(32)
    other.write(struct.pack("<q", epoch + int(sys.argv[1])))
P
    expect 0 dnet-trace show --json ring.0.trace ring.1.trace
    python3 -c '
import json, sys
events = json.load(open("out"))
assert {e["who"] for e in events} == {"rank 0", "rank 1"}, events
times = [e["time_ns"] for e in events]
assert times == sorted(times), times
assert (times[-1] - times[0] > 3e12) == (sys.argv[1] != "1000"), times' $later || fail "rank 1 $later ns later"
done

# A file whose name of its process is none: JSON all the same.
printf '"\377,' | dd of=ring.0.trace bs=1 seek=40 conv=notrunc 2>/dev/null
for form in --json --chrome; do
    expect 0 dnet-trace show $form ring.0.trace
    python3 -m json.tool out >/dev/null || fail "$form is none"
done
