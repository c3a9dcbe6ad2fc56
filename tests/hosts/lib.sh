# SPDX-License-Identifier: BSD-3-Clause
#
# lib.sh: cases with jobs on several hosts, for run and for the guests of tests/verbs/guests.  Who sources it sets `out`, the directory
# of logs, `mpirun`, the command that starts a job on the hosts of HOSTS, `name`, of which a host's name is NAME-I, and says how
# host I is powered off: power_off I.
passed=0 failed=0

in_turn=10.77.0.1,10.77.0.2
two=10.77.0.1:2,10.77.0.2:2
odd=10.77.0.1:1,10.77.0.2:3,10.77.0.3:1
four=10.77.0.1:1,10.77.0.2:1,10.77.0.3:1,10.77.0.4:1

now_ms() { echo $(($(date +%s%N) / 1000000)); }
wanted() { case " ${TESTS:-$1} " in *" $1 "*) ;; *) return 1 ;; esac }

# begin LOG
begin() { log=$out/$1.log start=$(now_ms); }

# job LIMIT HOSTS RANKS COMMAND: its output in the log, its exit status in `status`
job() {
    limit=$1 HOSTS=$2 ranks=$3
    export HOSTS
    shift 3
    status=0
    timeout -k 5 "$limit" "$mpirun" -n "$ranks" "$@" >"$log" 2>&1 </dev/null || status=$?
}

# verdict TITLE PROBLEM [DETAIL]
verdict() {
    took=$(($(now_ms) - start))
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        printf 'PASS  %-32s %3d.%d s  %s\n' "$1" $((took / 1000)) $((took / 100 % 10)) "${3:-}"
    else
        failed=$((failed + 1))
        printf 'FAIL  %-32s %s; log: %s\n' "$1" "$2" "$log"
        tail -n 8 "$log" | sed 's/^/      | /'
    fi
}

good() { [ "$status" -eq 0 ] || echo "exit status $status"; }

# plugs TITLE PLUG: each rank says by which plug it reaches which ranks
plugs() {
    begin "$(echo "$1" | tr " " -)"
    DIMMNET_STATS=1
    export DIMMNET_STATS
    job 60 $two 4 "$job_program" rounds 1
    unset DIMMNET_STATS
    problem=$(good)
    grep -q "rank 0\] plugs: 0-1 shm, 2-3 $2; 2 of 2 connected" "$log" || problem=${problem:-"no plug is named per peer"}
    verdict "$1" "$problem" "$(grep -m 1 -o 'plugs: .* connected' "$log" || :)"
}

# rails TITLE RAIL0 RAIL1 MOST_MS COMMAND...: both rails carry messages and reads while the command is run in the midst, and no round lasts
# longer (two of the four ranks read from the other host); the verdict is left to the caller, who may look at more
rails() {
    begin "$(echo "$1" | tr " " -)"
    carries="; rails: $2 [1-9][0-9]* bytes sent, [1-9][0-9]* read, $3 [1-9][0-9]* bytes sent, [1-9][0-9]* read"
    most_ms=$4
    shift 4
    : >"$log"
    (
        for i in $(seq 600); do
            ! grep -q begun "$log" || break
            sleep 0.1
        done
        sleep 1
        "$@"
    ) &
    puller=$!
    DIMMNET_STATS=1
    export DIMMNET_STATS
    job 60 $two 4 "$job_program" rounds 6 65536
    unset DIMMNET_STATS
    wait $puller
    problem=$(good)
    longest=$(sed -n 's/.* rounds, the longest \([0-9]*\) ms/\1/p' "$log")
    [ -n "$problem" ] || [ "${longest:-60000}" -le "$most_ms" ] || problem="a round lasts ${longest:-?} ms"
    [ -n "$problem" ] || [ "$(grep -c "$carries" "$log")" -eq 2 ] || problem="not both rails carry"
}

# without_power TITLE: host 2 is powered off: one line says which ranks are lost, and the others end within 5 s of the
# time-out.  mpirun itself waits some seconds more for what it has started on that host.
without_power() {
    begin "$(echo "$1" | tr " " -)"
    DIMMNET_HOST_WAIT_S=3
    export DIMMNET_HOST_WAIT_S
    : >"$log"
    : >"$out/off"
    (
        for i in $(seq 400); do
            ! grep -q waiting "$log" || break
            sleep 0.1
        done
        off=$(now_ms)
        power_off 2
        while pgrep -f "^$job_program" >/dev/null; do sleep 0.1; done
        echo $(($(now_ms) - off)) >"$out/off"
    ) &
    killer=$!
    job 60 $two 4 "$job_program" wait
    wait $killer || :
    unset DIMMNET_HOST_WAIT_S
    took=$(cat "$out/off")
    problem=
    [ "$status" -ne 0 ] || problem="exit status 0"
    [ "${took:-60000}" -le 8000 ] || problem="the other ranks end after $took ms"
    lost='(has not been heard of for 3 s|cannot be reached: transport retry counter exceeded)'
    lines=$(grep -cE "error: rank [23] on host $name-2 $lost" "$log" || :)
    [ "$lines" -eq 1 ] || [ "$lines" -eq 2 ] || problem="${problem:-$lines lines name a rank on $name-2}"
    verdict "$1" "$problem" "the others end after $took ms: $(grep -m 1 -o 'rank [23] on host.*' "$log" || :)"
}

close_cases() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
}
