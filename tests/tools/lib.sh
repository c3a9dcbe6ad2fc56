# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of dsh and dnet-cluster share.  Sourced; ends every cluster it has made, however the test
# ends.
PATH=$DNET_BUILD/tools:$PATH
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dnet-tools-XXXXXX")
cluster=t$$
trap 'clean_up' EXIT
trap 'exit 1' INT TERM
cd "$scratch" || exit 1

clean_up() {
    for c in "$cluster" "$cluster-2"; do
        dnet-cluster down "$c" >/dev/null 2>&1
    done
    rm -rf "$scratch"
}

fail() {
    echo "FAIL: $*"
    [ ! -s out ] || sed 's/^/out: /' out
    [ ! -s err ] || sed 's/^/err: /' err
    exit 1
}

# expect STATUS COMMAND...: exit status; what it wrote is in out and err.
expect() {
    want=$1
    shift
    rc=0
    "$@" >out 2>err </dev/null || rc=$?
    [ "$rc" = "$want" ] || fail "$*: exit status $rc instead of $want"
}

# says TEXT: the last command wrote exactly one line to stderr, and it holds the text.
says() {
    [ "$(wc -l <err)" = 1 ] || fail "more or less than one line of error"
    grep -q -e "$1" err || fail "no '$1' in the error line"
}

# shows TEXT: the last command's output holds the text.
shows() { grep -q -e "$1" out || fail "no '$1' in the output"; }

# until_true COMMAND...: within 20 seconds.
until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || fail "not so after 20 s: $*"
        sleep 0.1
    done
}

gone() { ! dnet-cluster status "$1"; }
roster() { echo "/dev/shm/dimmnet-cluster-$(id -u)-$1"; }
keeper() { dnet-cluster status --json "$1" | sed -n 's/.*"keeper": \([0-9]*\).*/\1/p'; }
