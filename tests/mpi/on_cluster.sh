# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of jobs on an emulated cluster share.  Sourced, with `test` the script's name and `program`
# that of its source; ends the cluster and the job, however the test ends.
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$DNET_TEST_DIR/$test-$RANKS"
cd "$DNET_TEST_DIR/$test-$RANKS"
PATH=$DNET_BUILD/tools:$PATH
name=$test$$
job=
trap 'dnet-cluster down $name >/dev/null 2>&1; [ -z "$job" ] || kill $job 2>/dev/null' EXIT
mpicc -O2 -I"$here" "$here/$program.c" -o "$program"
: >job.err
fail() { echo "$test.sh: $*" >&2; cat out err job.err >&2; exit 1; }
ok() { "$@" >out 2>err || fail "$*: exit status $?"; }

# until_true TEXT COMMAND...: what it is that does not come true within 40 s
until_true() {
    text=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 800 ] || fail "$text"
        sleep 0.05
    done
}
