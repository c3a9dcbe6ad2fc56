#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-stat looks at a running job: what each rank does and waits for; who has a ring, how full it is, who is
# stopped; the job goes on.
. "$DNET_SRC/tests/tools/lib.sh"
mkfifo pipe
DIMMNET_RINGS=4 DIMMNET_RING_BYTES=65536 "$DNET_BUILD/tests/tools/stopped" <pipe >job.out 2>&1 &
job=$!
exec 3>pipe
until_true grep -q '^[0-9]* [0-9]* [0-9]*$' job.out
read -r rank0 rank1 rank2 <job.out

expect 0 dnet-stat $job
shows '^job of 3 ranks on .*tests/tools/.*stopped$'
shows "^    0 *$rank0  computes  "
shows "^    1 *$rank1  waits  .*  -  "
shows '^ *stopped by rank 0, waits for its resend request$'
shows '^ *send to rank 0: context [0-9]*, tag [0-9]*, 0 of [0-9]* bytes sent, waits in the queue$'
! grep -q 'deadlock' out || fail 'a deadlock with a rank that computes'
expect 0 dnet-stat --json --interval 0.1 "$rank2"
python3 - "$rank0" "$rank1" <<'END' || fail 'the ranks as an object'
import json, sys
j, = json.load(open("out"))["jobs"]
r = j["ranks"]
good = (j["size"] == 3 and [x["rank"] for x in r] == [0, 1, 2] and r[0]["pid"] == int(sys.argv[1]) and
        r[0]["state"] == "computes" and r[1]["state"] == "waits" and "deadlock" not in j and
        {"stopped", "send queued"} <= {w["kind"] for w in r[1]["waits_for"] if w["rank"] == 0} and
        r[1]["counters"]["stop"] > 0 and r[1]["per_second"]["sent_messages"] == 0)
sys.exit(not good)
END
# A process that does not run shows it as well.
kill -STOP "$rank1"
until_true sh -c "dnet-stat $job | grep -q '^    1 *$rank1  stopped '"
kill -CONT "$rank1"
expect 0 dnet-stat --interval 0.1 --count 2 $job
shows 'received/s'
[ "$(grep -c '^job of 3 ranks' out)" = 2 ] || fail 'two looks'

expect 0 dnet-stat --nics $job
shows "^NIC 0x0001 WID 0, process $rank0: [0-9]* of 1023 LH entries in use, flow mode stop"
shows "^NIC 0x0001 WID 1, process $rank1"
shows "^NIC 0x0002 WID 0, process $rank2"
shows '^     0  all others      16384  '
# Five messages fill rank 1's ring, whichever it is; the shared one of rank 0 is empty.
[ "$(grep -c '^     [1-3]  0x0001 WID 1    16384     1[0-9]*$' out)" = 1 ] || fail 'a full ring of rank 1'
shows '^  0x0001 WID 1     [1-3]  *[0-9]*  *[0-9]*  stopped$'
# Any process of the job, and its NIC, mean the same.
grep process out >own
expect 0 dnet-stat --nics "$rank2"
grep process out | cmp - own || fail 'the same from another rank'
expect 0 dnet-stat 0x0002
! grep -q "process $rank0" out || fail 'another NIC'
expect 0 dnet-stat --nics --json $job
python3 - "$rank0" <<'END' || fail 'the list of objects'
import json, sys
me = [p for p in json.load(open("out")) if p["process"] == int(sys.argv[1])][0]
own = [r for r in me["rings"] if "owner" in r]
peer = me["peers"][0]
good = (len(own) == 1 and own[0]["owner"] == {"lid": 1, "wid": 1} and own[0]["used"] > 10000 and
        peer["stopped"] and peer["stops"] > 0 and peer["ring"] == own[0]["ring"] and not peer["held"])
sys.exit(not good)
END

# What has started the job stands for it, as mpirun does, in every tool that takes a job.
expect 0 dnet-stat --nics --job $job
grep process out | cmp - own || fail '--job'
expect 0 dnet-trace status --job $job
[ "$(grep -c '^rank [012] ' out)" = 3 ] || fail 'the rings of the job'
expect 0 dnet-trace status -p "$rank1"
[ "$(grep -c '^rank ' out)" = 1 ] && shows '^rank 1 ' || fail 'the ring of a rank'
expect 2 dnet-stat --job $job "$rank1"
says 'want one of them'

expect 0 dnet-stat --help
shows '^usage: dnet-stat'
expect 0 dnet-stat --version
shows '^dnet-stat (dimmnet) [0-9]'
expect 2 dnet-stat --rings
says '--rings'
expect 2 dnet-stat here
says "'here' is neither"
expect 2 dnet-stat --count 2
says 'want --interval'
expect 2 dnet-stat -i 1 0x0001
says 'shows ranks, not NICs'
expect 1 dnet-stat 0xbfff
grep -q 'no process of this user behind 0xbfff' err || fail 'what is missing'

expect 1 dnet-stat --json 0xbfff
says 'no process of this user behind 0xbfff'
[ "$(tr -d '\n' <out)" = '[]' ] || fail 'no list without objects'

echo go >&3
rc=0
wait $job || rc=$?
cat job.out
[ $rc = 0 ] || fail "the job: exit status $rc"
expect 1 dnet-stat "$rank0"
says "no rank of a job of this user behind process $rank0"
expect 1 dnet-stat --nics "$rank0"
