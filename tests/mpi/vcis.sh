#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Four threads, each with an endpoint of its own (vcis.c): nothing is lost or mixed up, and each of the
# endpoints has carried its part.  VCIS is how many are asked for, the first argument how many there are to be.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$DNET_TEST_DIR/vcis-$RANKS"
cd "$DNET_TEST_DIR/vcis-$RANKS"
PATH=$DNET_BIN:$PATH
fail() { echo "vcis.sh: $*" >&2; tail -n 40 out >&2; exit 1; }
mpicc -O2 -pthread -I"$here" "$here/vcis.c" -o vcis

MPIR_CVAR_CH4_NUM_VCIS=$VCIS DIMMNET_STATS=1 mpirun -n "$RANKS" ./vcis >out 2>&1 || fail "exit status $?"
awk -v ranks="$RANKS" -v vcis="$1" '
    BEGIN { for (c = 1; c <= 4; c++) on[c % vcis] }
    /^dimmnet\[rank [0-9]+( vci [0-9]+)?\] stats: / {
        vci = $3 == "vci" ? $4 + 0 : 0
        for (i = 1; i < NF; i++) n[$i] = $(i + 1)
        lines[vci]++
        # the communicators, numbered 1 to 4, are on these
        if ((vci in on) && (n["sent_messages"] < 100 || n["received_messages"] < 100)) {
            print "an endpoint carried too little:", $0
            wrong = 1
        }
    }
    END {
        for (v = 0; v < vcis; v++)
            if (lines[v] != ranks) { print lines[v] + 0, "ranks have an endpoint", v; wrong = 1 }
        if (vcis in lines) { print "there is an endpoint", vcis; wrong = 1 }
        exit wrong
    }' out || fail "not as many endpoints, or not used"
