# SPDX-License-Identifier: BSD-3-Clause
#
# FFTW's MPI transforms: random problems, each compared with what linearity, shift and impulse must give.
. "$DNET_SRC/tests/apps/lib.sh"
app_need perl perl
app_source fftw3
app_build 2400 sh -c "cd '$source' && ./configure --enable-mpi --disable-fortran --disable-doc MPICC=mpicc CFLAGS='-O1' && make -j2"
for ranks in 1 2 3 4; do
    app_run "random problems, $ranks ranks" 900 '' sh -c "cd '$source/mpi' && perl -w ../tests/check.pl -r -c=10 -v --mpi \
        \"mpirun -n $ranks '$source/mpi/mpi-bench'\"" || :
done
