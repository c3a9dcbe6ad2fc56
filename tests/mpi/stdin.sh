#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What mpirun gets on its stdin rank 0 gets, all of it, when it likes to read; the other ranks' stdin is at its end; and who does not
# read it is not ended by that.
set -eu
dir=$DNET_TEST_DIR/stdin-$RANKS
mkdir -p "$dir"
cd "$dir"
PATH=$DNET_BIN:$PATH
fail() { echo "stdin.sh: $*" >&2; cat out >&2; exit 1; }
seq 1000000 >in

mpirun -n "$RANKS" sh -c 'sleep 0.3; cksum' <in >out 2>&1 || fail "slow readers: exit status $?"
[ "$(grep -cx "$(cksum <in)" out)" = 1 ] || fail "the file has not come to one rank"
[ "$(grep -cx "$(cksum </dev/null)" out)" = $((RANKS - 1)) ] || fail "the others have read something"

for reads in 'exec <&-' 'read -r line' true; do
    mpirun -n "$RANKS" sh -c "$reads; sleep 0.1; echo here" <in >out 2>&1 || fail "'$reads': exit status $?"
    [ "$(grep -cx here out)" = "$RANKS" ] && [ "$(wc -l <out)" = "$RANKS" ] || fail "'$reads': not one line of each rank"
done

# the host of rank 0 has ended when more comes
(sleep 0.5; echo late; sleep 1) | mpirun -launcher fork -hosts a,b -n 2 sh -c '[ $PMI_RANK = 0 ] || { sleep 1; echo here; }' >out 2>&1 ||
    fail "rank 0 has ended: exit status $?"
[ "$(cat out)" = here ] || fail "rank 0 has ended: more than a line of the other"
