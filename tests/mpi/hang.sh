#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs that hang, each in another way: dnet-stat says what each rank does, in which call, for which ranks of
# the job; names the circle of a deadlock, and none where there is none.  SIGUSR2 makes any rank say the same:
# one that waits, polls, computes, or receives without a pause; sent to mpirun, all of them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$DNET_TEST_DIR/hang-$RANKS"
cd "$DNET_TEST_DIR/hang-$RANKS"
PATH=$DNET_BUILD/tools:$PATH
job=
trap '[ -z "$job" ] || kill $job 2>/dev/null || :' EXIT
mpicc -O2 -I"$here" "$here/hang.c" -o hang
fail() { echo "hang.sh: $*" >&2; cat out job.err dump-* >&2 2>/dev/null; exit 1; }
start() {
    rm -f dump-*
    DIMMNET_DUMP=$PWD/dump-%r mpirun "$@" >job.out 2>job.err &
    job=$!
}
end() {
    kill $job
    wait $job 2>/dev/null || :
    job=
}
until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || fail "not so after 30 s: $*"
        kill -0 $job || fail "the job has ended"
        sleep 0.2
    done
}
shows() { grep -q -e "$1" out || fail "no '$1' in the output"; }
stat_shows() { dnet-stat $job >out 2>&1 && grep -q -e "$1" out; }
# the process of a rank
pid_of() {
    dnet-stat --json $job | python3 -c '
import json, sys
print(*[r["pid"] for j in json.load(sys.stdin)["jobs"] for r in j["ranks"] if r["rank"] == int(sys.argv[1])])' "$1"
}
answers() { [ "$(grep -c '] state: ' "dump-$1" 2>/dev/null || :)" = "$2" ]; }

# The session of docs/hangs.md: the same lines, but for processes, seconds, host and path.
same() { sed 's/ *[0-9][0-9]*  waits *[0-9.]* s /PID waits S /; s/^job of 3 ranks on .*/job of 3 ranks/'; }
start -n 3 ./hang ring
until_true stat_shows '^deadlock: '
same <out >shown
sed -n '/^    \$ dnet-stat/,/^    deadlock/s/^    //p' "$DNET_SRC/docs/hangs.md" | sed 1d | same >told
[ "$(wc -l <told)" = 9 ] || fail "the session in docs/hangs.md has $(wc -l <told) lines"
diff told shown >diff.out || fail "docs/hangs.md shows something else: $(cat diff.out)"
end

# A deadlock, in a communicator that counts the other way round.
start -n 3 ./hang circle
until_true stat_shows '^deadlock: 0 -> 2 -> 1 -> 0 (each waits for the next)$'
shows '^job of 3 ranks on .*/hang$'
for pair in '0 2 0' '1 0 2' '2 1 1'; do
    set -- $pair
    shows "^ *$1 *[0-9]*  waits  .* s  MPI_Recv  "
    shows "^ *receive waits for rank $2: row\( rank $3\)\{0,1\}, tag 3, room for 4 bytes$"
done
dnet-stat --json "$(pid_of 1)" >out
python3 - <<'P' || fail "the deadlock as JSON"
import json
j, = json.load(open("out"))["jobs"]
assert j["deadlock"] == {"certain": True, "circle": [0, 2, 1, 0]}, j["deadlock"]
assert [(r["call"], r["waits_for"][0]["rank"], r["waits_for"][0]["communicator"]) for r in j["ranks"]] == \
       [("MPI_Recv", w, "row") for w in (2, 0, 1)], j["ranks"]
P
end

# A collective that one rank does not enter.
start -n 4 ./hang collective
until_true stat_shows '^deadlock: .*1'
shows '  MPI_Barrier  '
shows '  MPI_Recv  '
end

start -n 4 ./hang board
until_true stat_shows '^deadlock: .*1'
shows '^ *0 *[0-9]*  waits .*  MPI_Barrier  '
shows '^ *collective waits for rank 1: row\( rank 2\)\{0,1\}$'
end

start -n 4 ./hang nonblocking
until_true stat_shows '^deadlock: .*1'
shows '^ *0 *[0-9]*  waits .*  MPI_Wait  '
shows '^ *collective waits for rank 1: row\( rank 2\)\{0,1\}$'
end

# A rank that computes stands behind all the others: no deadlock.
rm -f enough
start -n 5 ./hang each "$PWD/enough"
until_true stat_shows '  MPI_Win_lock  '
until_true stat_shows 'receive waits for rank 0: row rank 4, tag 7'
shows '^ *0 *[0-9]*  computes  '
shows '^ *1 *[0-9]*  waits .*  MPI_Probe  '
shows '^ *probe waits for rank 0: MPI_COMM_WORLD, tag 5$'
shows '^ *2 *[0-9]*  polls .*  MPI_Iprobe  '
shows '^ *probe waits for any rank: MPI_COMM_WORLD, tag 6$'
shows '^ *window waits for the lock of rank 4'
! grep -q deadlock out || fail "a deadlock though rank 0 can go on"
kill -USR2 $job # mpirun hands it on
for r in 0 1 2 3 4; do until_true answers $r 1; done
cat dump-[0-4] >out
shows '^dimmnet\[rank 0\] state: in no call, 0 receives posted'
shows '^dimmnet\[rank 1\] state: in MPI_Probe, '
shows '^dimmnet\[rank 1\]   probe waits for rank 0: MPI_COMM_WORLD, tag 5$'
shows '^dimmnet\[rank 2\] state: in MPI_Iprobe, '
shows '^dimmnet\[rank 2\]   probe waits for any rank: MPI_COMM_WORLD, tag 6$'
shows '^dimmnet\[rank 3\]   window waits for the lock of rank 4'
shows '^dimmnet\[rank 4\]   receive waits for rank 0: row rank 4, tag 7, room for 4 bytes$'
: >enough
wait $job || fail "the job: exit status $?"
job=

# A rank that is stopped amidst an accumulate.
start -n 3 ./hang accumulate
until_true stat_shows '^ *accumulate waits for that of rank 1$'
shows '^ *0 *[0-9]*  waits  .*  MPI_Accumulate  '
shows '^ *1 *[0-9]*  stopped  '
! grep -q deadlock out || fail "a deadlock with a rank that is stopped"
stopped=$(pid_of 1)
kill -USR2 "$(pid_of 0)"
until_true grep -q '^dimmnet\[rank 0\]   accumulate waits for that of rank 1$' dump-0
kill -CONT "$stopped"
wait $job || fail "the job with an accumulate: exit status $?"
job=

# Who waits for a process of another job is in no deadlock, whatever the others of its own do.
start -n 2 ./hang accept
until_true stat_shows '  MPI_Comm_accept  '
shows '^ *receive waits for a process of another job: a port'
! grep -q deadlock out || fail "a deadlock of ranks that accept"
end
start -n 2 ./hang parents
until_true stat_shows '^ *receive waits for a process of another job: children rank 0, tag 1, '
until_true stat_shows '^ *receive waits for any rank: children, tag 1, '
shows '  computes  '
! grep -q deadlock out || fail "a deadlock of ranks whose child computes"
end

# A rank that is never idle answers each time.
start -n 4 ./hang flood
until_true stat_shows '^ *0 *[0-9]*  active '
receiver=$(pid_of 0)
for n in 1 2 3 4 5; do
    kill -USR2 "$receiver"
    until_true answers 0 $n
done
end
