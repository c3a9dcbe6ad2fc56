#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives that do not fit together: dnet-check ends the job and names two ranks that differ; a right
# program is left alone; and where a rank is missing, those that wait say for whom (DIMMNET_HANG_S).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$DNET_TEST_DIR/mismatch-$RANKS"
cd "$DNET_TEST_DIR/mismatch-$RANKS"
PATH=$DNET_BIN:$PATH
fail() { echo "mismatch.sh: $*" >&2; cat out >&2; exit 1; }
mpicc -O2 -I"$here" "$here/mismatch.c" -o mismatch
last=$((RANKS - 1))

timeout 60 mpirun -n "$RANKS" dnet-check ./mismatch right >out 2>&1 || fail "a right program is ended"
[ ! -s out ] || fail "a right program is complained about"
timeout 60 mpirun -n "$RANKS" dnet-check ./mismatch spawn >out 2>&1 || fail "a program that starts others is ended, or hangs"
[ ! -s out ] || fail "a program that starts others is complained about"

# ends WAY TEXT: with that text
ends() {
    ! timeout 60 mpirun -n "$RANKS" dnet-check ./mismatch "$1" >out 2>&1 || fail "$1: it goes on"
    grep -q "^dnet-check: rank .*$2" out || fail "$1: no line '$2'"
}
ends call 'MPI_Bcast, root 0, 4 elements.* on MPI_COMM_WORLD: all ranks must enter the same collective'
ends root 'the same root'
ends count 'the same number of elements'
ends type 'of different types'
ends operation 'the same operation'
ends disconnect 'MPI_Barrier.* all ranks must enter the same collective'
ends free 'MPI_Barrier.* in MPI_Comm_free, on copy: all ranks must enter the same collective'
ends later 'MPI_Ibcast, root 0, 4 elements.* all ranks must enter the same collective'
ends tested 'MPI_Ibcast, root 0, 4 elements.* all ranks must enter the same collective'

# Of Fortran 2008 the beginning is not seen: a line says what that means.
if [ -x "$DNET_BIN/mpifort" ]; then
    cat >f08.f90 <<'F'
program f08
    use mpi_f08
    implicit none
    integer :: one = 1, total
    call MPI_Init()
    call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
end program
F
    mpifort f08.f90 -o f08
    mpirun -n "$RANKS" dnet-check ./f08 >out 2>&1 || fail "a Fortran 2008 program is ended"
    [ "$(grep -c '^dnet-check: nothing is compared' out)" = 1 ] || fail "a Fortran 2008 program: not one line"
fi

# No collective at all: whoever waits for a second says so, with and without dnet-check.
for with in dnet-check ''; do
    DIMMNET_HANG_S=1 timeout 4 mpirun -n "$RANKS" $with ./mismatch absent >out 2>&1 || :
    grep -q "rank $last\].*has waited for 1 s (DIMMNET_HANG_S); dnet-stat [0-9]* shows" out || fail "rank $last does not say that it waits"
    grep -q "rank $last\] .*receive waits for rank 0: MPI_COMM_WORLD, tag 5" out || fail "rank $last does not say for whom"
    grep -q "rank 0\] state: in MPI_" out || fail "rank 0 does not say in which call"
done
