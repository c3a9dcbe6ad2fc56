# SPDX-License-Identifier: BSD-3-Clause
# Shared by obtain, graft and build.  Sourced; expects `here` to be the mpich/ directory.

say() { printf 'mpich: %s\n' "$*"; }
die() { printf 'mpich: %s\n' "$*" >&2; exit 1; }

known_versions() { awk '!/^#/ && NF && !seen[$1]++ { printf "%s%s", sep, $1; sep = ", " }' "$here/versions"; }
known_files() { awk '!/^#/ && NF { print $2 }' "$here/versions"; }
known_version() { awk -v v="$1" '!/^#/ && $1 == v { found = 1 } END { exit !found }' "$here/versions"; }
file_of_sha() { awk -v s="$1" '!/^#/ && $3 == s { print $2 }' "$here/versions"; }
sha_of_file() { awk -v f="$1" '!/^#/ && $2 == f { print $3 }' "$here/versions"; }
sha256() { sha256sum "$1" | cut -d' ' -f1; }

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 ||
            die "$tool is not installed; scripts/install-packages installs what the build needs"
    done
}

# seconds since the epoch
now() { date +%s; }

# run_logged NAME LOG COMMAND...: the command's output goes to LOG, the user sees how far it is;
# on failure the tail of the log and where the rest of it is.  Not to be called in a condition: there
# the shell would no longer stop the command at its first failing step.
run_logged() {
    rl_name=$1 rl_log=$2
    shift 2
    mkdir -p "$(dirname "$rl_log")"
    : >"$rl_log"
    progress "$rl_name" "$rl_log" &
    rl_ticker=$!
    trap 'kill $rl_ticker 2>/dev/null; exit 130' INT TERM
    set +e
    (set -e; "$@") >>"$rl_log" 2>&1 </dev/null
    rl_rc=$?
    set -e
    kill "$rl_ticker" 2>/dev/null || :
    wait "$rl_ticker" 2>/dev/null || :
    trap - INT TERM
    [ "$rl_rc" -eq 0 ] && return 0
    printf '%s\n' "mpich: $rl_name failed; the last lines of $rl_log:" >&2
    tail -n 25 "$rl_log" >&2
    exit "$rl_rc"
}

# A line every ten seconds, so that a build of minutes is seen to move.
progress() {
    pr_start=$(now)
    while sleep 10; do
        pr_files=$(grep -Ec '^ +(CC|FC|F77|MOD|CCLD|GEN) ' "$2" || :)
        if [ "$pr_files" -gt 0 ]; then
            say "$1: $pr_files files, $(($(now) - pr_start)) s"
        else
            say "$1: $(($(now) - pr_start)) s"
        fi
    done
}
