# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of real programs share.  Sourced by tests/apps/NAME.sh, which tests/apps/run starts in a
# folder of its own with
#   APP        the program's name
#   RESULTS    the file of results
#   CACHE      what was fetched stays there
#   DNET_SRC, DNET_BIN; mpicc, mpifort and mpirun are in the path
set -eu

# app_result PASS|FAIL|SKIP NAME [TEXT]: one line for people, one in the file.
app_result() {
    printf '%-5s %-36s %s\n' "$1" "$APP: $2" "${3:-}"
    printf '%s\t%s\t%s\t%s\n' "$1" "$APP" "$2" "${3:-}" >>"$RESULTS"
}

# app_skip REASON: this program cannot be tried here.
app_skip() {
    app_result SKIP 'all of it' "$1"
    exit 0
}

# app_need FILE PACKAGE: a header, a library or a command that the build needs.
app_need() {
    [ -e "$1" ] || command -v "$1" >/dev/null 2>&1 || app_skip "$1 is missing (Debian: $2)"
}

# app_run NAME SECONDS PATTERN COMMAND...: passes if the command ends well in time and prints the pattern ('' for
# anything).  Its output is in NAME.log.
app_run() {
    ar_name=$1 ar_seconds=$2 ar_pattern=$3
    shift 3
    ar_log=$LOGS/$(echo "$ar_name" | tr ' /' '__').log
    ar_rc=0 ar_start=$(date +%s)
    timeout -k 10 "$ar_seconds" "$@" >"$ar_log" 2>&1 </dev/null || ar_rc=$?
    ar_took="$(($(date +%s) - ar_start)) s"
    if [ $ar_rc -eq 124 ]; then
        app_result FAIL "$ar_name" "not finished after $ar_seconds s (log: $ar_log)"
    elif [ $ar_rc -ne 0 ]; then
        app_result FAIL "$ar_name" "exit status $ar_rc (log: $ar_log)"
    elif [ -n "$ar_pattern" ] && ! grep -qE -e "$ar_pattern" "$ar_log"; then
        app_result FAIL "$ar_name" "no '$ar_pattern' in its output (log: $ar_log)"
    else
        app_result PASS "$ar_name" "$ar_took"
        return 0
    fi
    return 1
}

# app_build SECONDS COMMAND...: a program that does not build is a failure; nothing of it can be run then.
app_build() {
    ab_seconds=$1
    shift
    app_run build "$ab_seconds" '' "$@" || exit 0
}

# app_source PACKAGE: unpacks the original source of a Debian package here; its folder is in $source.
app_source() {
    as_tar=$(ls "$CACHE/$1"_*.orig.tar.* 2>/dev/null | head -n 1)
    if [ -z "$as_tar" ]; then
        apt=$CACHE/apt
        mkdir -p "$apt/sources.list.d" "$apt/lists/partial" "$apt/cache/archives/partial"
        # shellcheck source=/dev/null
        . "$DNET_SRC/mpich/apt.sh"
        command -v apt-get >/dev/null 2>&1 && apt_sources || app_skip "this machine has no Debian package sources"
        # Debian's own changes are not needed, only the original.
        (cd "$CACHE" && apt update && apt source --download-only "$1") >"$LOGS/fetch.log" 2>&1 </dev/null || :
        as_tar=$(ls "$CACHE/$1"_*.orig.tar.* 2>/dev/null | head -n 1)
        [ -n "$as_tar" ] || app_skip "Debian's source package $1 cannot be fetched ($(grep -E '^[EW]:' "$LOGS/fetch.log" | tail -n 1))"
    fi
    mkdir -p source
    tar -xf "$as_tar" -C source --strip-components=1 || app_skip "$as_tar cannot be unpacked"
    source=$PWD/source
}

# app_debs PACKAGE...: unpacks Debian packages below $root, without installing them.
app_debs() {
    root=$PWD/root
    mkdir -p "$root" "$CACHE/debs"
    for ad_package in "$@"; do
        ad_file=$(ls "$CACHE/debs/$ad_package"_*.deb 2>/dev/null | head -n 1)
        if [ -z "$ad_file" ]; then
            (cd "$CACHE/debs" && apt-get -q download "$ad_package") >"$LOGS/fetch.log" 2>&1 </dev/null || :
            ad_file=$(ls "$CACHE/debs/$ad_package"_*.deb 2>/dev/null | head -n 1)
            [ -n "$ad_file" ] || app_skip "Debian's package $ad_package cannot be fetched ($(grep -E '^[EW]:' "$LOGS/fetch.log" | tail -n 1))"
        fi
        dpkg -x "$ad_file" "$root" 2>/dev/null || app_skip "$ad_file cannot be unpacked"
    done
}

# app_abi PROGRAM [FOLDER]: a program that is linked with the distribution's MPICH gets our library, by LD_LIBRARY_PATH
# alone.  FOLDER: below $root/usr/lib/ARCH, with libraries of its own.
app_abi() {
    lib=$(dirname "$DNET_BIN")/lib
    multi=$root/usr/lib/$(cc -print-multiarch)
    LD_LIBRARY_PATH=$lib/abi:$lib:$multi:$multi/blas:$multi/lapack${2:+:$multi/$2}
    export LD_LIBRARY_PATH
    ldd "$1" >"$LOGS/ldd.log" 2>&1 || :
    grep -q 'not found' "$LOGS/ldd.log" && app_skip "$(sed -n 's/^[ \t]*\(.*\) => not found/\1/p' "$LOGS/ldd.log" | head -n 1) is missing"
    grep -q "libmpich\.so.*$lib/abi" "$LOGS/ldd.log" || { app_result FAIL 'our library' "not the one that $1 gets (log: $LOGS/ldd.log)"; exit 0; }
}
