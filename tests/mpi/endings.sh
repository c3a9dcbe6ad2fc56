#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How jobs end that do not end well, on one host and on two: with the status that says so and a line that names the
# process or the host, within seconds, and nothing is left.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$DNET_TEST_DIR/endings-$RANKS
mkdir -p "$dir"
cd "$dir"
PATH=$DNET_BIN:$PATH
program=$dir/endings
mpicc -O2 "$here/endings.c" -o "$program"
two='-launcher fork -hosts a,b'
running() { pgrep -f "^$program" || :; }
fail() { echo "endings.sh: $*" >&2; cat out >&2; exit 1; }

# none_left WHAT
none_left() {
    tries=0
    while [ -n "$(running)" ]; do
        tries=$((tries + 1))
        [ $tries -lt 50 ] || { pkill -9 -f "^$program" || :; fail "$1: processes are left"; }
        sleep 0.1
    done
}

# ends STATUS LINE ARGUMENTS...: so that mpirun with these gives this status and this line
ends() {
    wanted=$1 line=$2 rc=0
    shift 2
    timeout -k 2 30 mpirun "$@" >out 2>&1 </dev/null || rc=$?
    [ $rc = "$wanted" ] || [ "$wanted" = failure -a $rc -gt 0 -a $rc -lt 124 ] || fail "$*: exit status $rc, not $wanted"
    [ -z "$line" ] || grep -q -e "$line" out || fail "$*: no line '$line'"
    ! grep -q assert out || fail "$*: a failed assertion"
    none_left "$*"
}

# start ARGUMENTS...: in the background
start() { : >out; mpirun "$@" >out 2>&1 </dev/null & job=$!; }
until_waits() {
    tries=0
    until grep -q waits out; do tries=$((tries + 1)); [ $tries -lt 100 ] || fail "does not start"; sleep 0.1; done
}
# finish WHAT: its status in rc
finish() {
    (sleep 20; kill -9 $job 2>/dev/null) & watch=$!
    rc=0
    wait $job || rc=$?
    kill $watch 2>/dev/null || :
    [ $rc != 137 ] || fail "$1: no end in 20 s"
    none_left "$1"
}

for count in 0 -1 2x ''; do
    ends 255 "^-n $count: a number of processes is wanted" -n "$count" "$program"
done
ends 255 'no program is given' -n "$RANKS"
ends 255 'no program is given behind a colon' -n 1 "$program" :

for hosts in '' "$two"; do
    # before MPI_Init, where others wait; without MPI, where nobody does
    first='[ $PMI_RANK != 1 ] || exit'
    ends 5 'rank 1 .* status 5 before MPI_Init' $hosts -n "$RANKS" sh -c "$first 5; exec \"\$0\"" "$program"
    ends 5 'rank 1 .* status 5 before MPI_Init' $hosts -n "$RANKS" sh -c "$first 5; sleep 1; exec \"\$0\"" "$program"
    ends 1 'rank 1 .* status 0 before MPI_Init' $hosts -n "$RANKS" sh -c "$first 0; exec \"\$0\"" "$program"
    ends 1 '' $hosts -n "$RANKS" false
    ends 4 here $hosts -n "$RANKS" sh -c 'sleep 0.$PMI_RANK; echo here; exit 4'
    [ "$(grep -cx here out)" = "$RANKS" ] || fail "without MPI: not a line of each process"
    ends 255 'spawned rank .* before MPI_Init' $hosts -n "$RANKS" "$program" spawn "$dir/missing"
    ends 1 'spawned rank .* before MPI_Init' $hosts -n "$RANKS" "$program" spawn true

    # killed, perhaps while the next ones are started
    ends 9 'rank 1 .* killed by signal 9' $hosts -n "$RANKS" sh -c '[ $PMI_RANK != 1 ] || kill -9 $$; exec "$0"' "$program"
    first='case $PMI_RANK in 1) sleep 0.5; kill -9 $$;; 3) sleep 5;; esac'
    ends 9 'rank 1 .* killed by signal 9' $hosts -n "$RANKS" sh -c "$first; exec \"\$0\"" "$program"
    for time in 1 2 3 4 5 6 7 8 9 10; do
        ends 9 'rank 1 .* killed by signal 9' $hosts -n "$RANKS" sh -c '[ $PMI_RANK != 1 ] || kill -9 $$; exec sleep 5'
    done

    ends 3 'rank 1 .* without MPI_Finalize, with status 3' $hosts -n "$RANKS" "$program" in-init 3
    ends 1 'rank 1 .* without MPI_Finalize, with status 0' $hosts -n "$RANKS" "$program" in-init 0
    # without MPI_Finalize; on two hosts another rank may be the first that says so
    ends failure 'rank 1 .* has ended' $hosts -n "$RANKS" "$program" exit 0
    says=3
    [ -z "$hosts" ] || says=failure
    ends $says '' $hosts -n "$RANKS" "$program" exit 3

    # signals that mpirun passes on, after rank 0 and with it a host of two have ended
    for signal in USR1 USR2; do
        start $hosts -n 2 sh -c 'trap : USR1; [ $PMI_RANK = 1 ] || exit 0; echo waits; sleep 2; sleep 0.2; exit 3'
        until_waits
        sleep 0.4
        kill -$signal $job
        finish "SIG$signal"
        [ $rc = 3 ] || fail "SIG$signal to mpirun $hosts: exit status $rc, not 3"
    done
    # and such as end it, at its start or later
    for signal in TERM INT; do
        for after in 0.02 0.05 0.1 0.2 1; do
            start $hosts -n "$RANKS" "$program" wait
            sleep $after
            kill -$signal $job
            finish "SIG$signal after $after s"
            [ $rc != 0 ] || fail "SIG$signal to mpirun $hosts after $after s: exit status 0"
        done
    done

    start $hosts -n "$RANKS" "$program" wait
    until_waits
    kill -9 "$(pgrep -P $job hydra_pmi_proxy | tail -n 1)"
    finish "a proxy killed"
    [ $rc != 0 ] && grep -q 'proxy on host .* has ended' out || fail "a proxy killed: exit status $rc"
done

# a signal to be passed on while mpirun waits for a reader of what it writes
rm -f pipe
mkfifo pipe
mpirun -n 1 sh -c 'trap : USR1; yes | head -n 100000; exit 3' >pipe 2>out </dev/null & job=$!
exec 3<pipe
sleep 0.5
kill -USR2 $job
sleep 0.2
[ "$(wc -l <&3)" = 100000 ] || fail "a signal while nobody reads: lines are lost"
exec 3<&-
finish "a signal while nobody reads"
[ $rc = 3 ] || fail "a signal while nobody reads: exit status $rc, not 3"

# a host that cannot be reached
cat >launcher <<'END'
[ "$2" = a ] || { echo "no way to host $2" >&2; exit 255; }
shift 2
exec sh -c "$*"
END
printf '#!/bin/sh\nexec sh "%s" "$@"\n' "$dir/launcher" >reaches-a
chmod +x reaches-a
ends 255 'nothing could be started on host b' -launcher ssh -launcher-exec "$dir/reaches-a" -hosts a,b -n "$RANKS" "$program"
