# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of dnet-subnet's command line share.  Sourced; works in a scratch directory of its own.
subnet=$DNET_BUILD/tools/dnet-subnet
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dnet-subnet-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# expect STATUS TEXT ARGUMENT...: the exit status, and the text somewhere in the output.
expect() {
    status=$1 text=$2
    shift 2
    rc=0
    "$subnet" "$@" >out 2>&1 || rc=$?
    if [ "$rc" != "$status" ] || { [ -n "$text" ] && ! grep -q -e "$text" out; }; then
        echo "FAIL: dnet-subnet $*: status $rc instead of $status, or no '$text' in:"
        cat out
        exit 1
    fi
}
