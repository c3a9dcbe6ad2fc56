#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A program that is linked with the distribution's MPICH and its parallel HDF5 runs over our library: only
# LD_LIBRARY_PATH says so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/hdf5
pkg-config --exists hdf5-mpich mpich || { echo "parallel HDF5 is missing (Debian: libhdf5-mpich-dev)"; exit 77; }
# shellcheck disable=SC2046 # lists of words
cc -O2 -Wall "$here/hdf5.c" -o "$program" $(pkg-config --cflags --libs hdf5-mpich mpich)
abi=$(mpicc -show | sed -n 's/.* -L\([^ ]*\).*/\1/p' | head -n 1)/abi
nm -D "$abi/libmpich.so.12" | grep -q ' MPI_File_open$' || { echo "this library has no MPI-IO"; exit 77; }
LD_LIBRARY_PATH=$abi:$(dirname "$abi") ldd "$program" >"$program.ldd"
if grep 'libmpich\.so' "$program.ldd" | grep -qv "$abi"; then
    echo "hdf5.sh: not our library:" >&2
    grep 'libmpich\.so' "$program.ldd" >&2
    exit 1
fi
LD_LIBRARY_PATH=$abi:$(dirname "$abi") DIMMNET_STATS=1 \
    timeout 100 mpirun -n "$RANKS" "$program" "$DNET_TEST_DIR/matrix.h5" 2>"$program.err" >"$program.out" ||
    { cat "$program.out" "$program.err" >&2; exit 1; }
grep -q '^0 wrong values' "$program.out" || { cat "$program.out" "$program.err" >&2; exit 1; }
[ "$(grep -c 'stats:.*received_messages [1-9]' "$program.err")" -eq "$RANKS" ] ||
    { echo "hdf5.sh: not every rank received through its NIC" >&2; cat "$program.err" >&2; exit 1; }
rm -f "$DNET_TEST_DIR/matrix.h5"
