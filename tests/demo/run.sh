#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh [PREFIX]: the demonstration.  `make demo` runs it with DNET_SRC, DNET_BUILD and DNET_BIN set; by
# hand, PREFIX is where this project is installed.  Results stay in DNET_BUILD/demo, or ./demo.
set -eu
src=${DNET_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/demo
bin=${1:+$1/bin}
bin=${bin:-${DNET_BIN:?usage: run.sh PREFIX}}
out=${DNET_BUILD:-.}/demo
mkdir -p "$out"
PATH=$bin:$PATH
MPIR_CVAR_NETMOD=dimmnet
export PATH MPIR_CVAR_NETMOD

title() { printf '\n== %s\n\n' "$*"; }

mpicc -O2 "$src/latency.c" -o "$out/latency"
mpicc -O2 "$src/heat.c" "$src/png.c" -o "$out/heat" -lm

title 'Latency and bandwidth between two ranks'
mpirun -n 2 "$out/latency" | tee "$out/latency.txt"

title 'A solver on four ranks: steady heat in a plate'
DIMMNET_STATS=1 mpirun -n 4 "$out/heat" "$out/heat.png" 2>"$out/stats.txt" || {
    cat "$out/stats.txt" >&2
    exit 1
}

title 'What went through the NICs in that run (DIMMNET_STATS=1)'
cat "$out/stats.txt"
[ "$(grep -c 'stats: .*botf [1-9]' "$out/stats.txt")" -eq 4 ] || {
    echo 'demo: not every rank used its NIC' >&2
    exit 1
}
