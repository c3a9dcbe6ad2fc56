# SPDX-License-Identifier: BSD-3-Clause
#
# Shell functions for tests that run OpenSM on a fabric simulated by ibsim.  Wants DNET_BUILD (build
# tree) and makes a scratch directory, the working directory from then on; everything it starts ends
# with the test.

subnet=$DNET_BUILD/tools/dnet-subnet
umad2sim=
fabric_pids=

skip() {
    echo "$1"
    exit 77
}

fail() {
    echo "FAIL: $1"
    [ -f opensm.log ] && tail -n 5 opensm.log
    exit 1
}

for tool in opensm ibsim dump_fts saquery; do
    command -v $tool >/dev/null 2>&1 ||
        skip "$tool is missing; tests/subnet/packages.txt names the Debian packages"
done
for lib in /usr/lib/*/umad2sim/libumad2sim.so /usr/lib/umad2sim/libumad2sim.so; do
    [ -f "$lib" ] && umad2sim=$lib
done
[ -n "$umad2sim" ] || skip "libumad2sim.so is missing (Debian: ibsim-utils)"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/dnet-subnet-XXXXXX")
cd "$scratch" || exit 1
cleanup() {
    for pid in $fabric_pids; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    cd / && rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Runs a command against the simulated fabric.
on_fabric() {
    LD_PRELOAD=$umad2sim timeout "${SWEEP_SECONDS:-60}" "$@"
}

# start_ibsim NET FIRST-HOST [IBSIM OPTION...]: simulate the wiring in NET; FIRST-HOST runs the SM.
start_ibsim() {
    net=$1 SIM_HOST=$2
    shift 2
    IBSIM_SOCKNAME=dnet-subnet-$$
    export SIM_HOST IBSIM_SOCKNAME
    rm -f console
    mkfifo console
    # Holds the console open for writing; ends with the test.
    sleep $((10 * ${SWEEP_SECONDS:-60})) >console &
    fabric_pids="$fabric_pids $!"
    ibsim -s "$@" "$net" <console >ibsim.log 2>&1 &
    fabric_pids="$fabric_pids $!"
    for _ in $(seq 100); do
        grep -q 'sim>' ibsim.log && return 0
        sleep 0.1
    done
    fail "ibsim does not start: $(tail -n 1 ibsim.log)"
}

# start_opensm ENGINE [OPTION...]: OpenSM with our plug-in loaded; waits for the first SUBNET UP.
start_opensm() {
    engine=$1
    shift
    # Without the flush SUBNET UP may stay in OpenSM's buffer.
    printf 'event_plugin_name dimmnet_osm\nforce_log_flush TRUE\n' >opensm.conf
    mkdir -p cache
    rm -f opensm.log
    OSM_CACHE_DIR=$scratch/cache OSM_TMP_DIR=$scratch/cache \
    LD_LIBRARY_PATH=$DNET_BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LD_PRELOAD=$umad2sim \
        timeout -k 3 $((5 * ${SWEEP_SECONDS:-60})) opensm -F opensm.conf -R "$engine,no_fallback" \
        -f "$scratch/opensm.log" "$@" >opensm.out 2>&1 &
    opensm_pid=$!
    fabric_pids="$fabric_pids $opensm_pid"
    wait_sweeps 1
    [ "$(grep -c "tables configured on all switches" opensm.log)" -ge 1 ] ||
        fail "no engine configured the tables"
    grep "tables configured on all switches" opensm.log | grep -v " $engine tables" &&
        fail "another engine than $engine configured the tables"
    return 0
}

# The manager and the fabric end.
stop_fabric() {
    kill "$opensm_pid" 2>/dev/null
    wait "$opensm_pid" 2>/dev/null
    kill $fabric_pids 2>/dev/null
    wait
    fabric_pids=
}

# wait_sweeps N: until the N-th SUBNET UP, at most SWEEP_SECONDS (60).
wait_sweeps() {
    for _ in $(seq $((10 * ${SWEEP_SECONDS:-60}))); do
        [ -f opensm.log ] && [ "$(grep -c 'SUBNET UP' opensm.log)" -ge "$1" ] && return 0
        sleep 0.1
    done
    fail "no SUBNET UP number $1 within ${SWEEP_SECONDS:-60} s"
}

# settle N: the N-th SUBNET UP, and those that a change in stages asks for.
settle() {
    wait_sweeps "$1"
    for _ in $(seq 100); do
        awk '/LIDs drain first/ { up = 0; last = / 0 LIDs drain first$/ } /SUBNET UP/ { up = last }
            END { exit !up }' opensm.log && return
        sleep 0.1
    done
    fail "a change in stages does not end"
}

sweeps() {
    grep -c 'SUBNET UP' opensm.log
}

# Number behind "key": in a JSON file of ours.
json() {
    sed -n "s/^ *\"$2\": \([^,]*\),*$/\1/p" "$1" | head -n 1
}
