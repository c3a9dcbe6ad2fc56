# SPDX-License-Identifier: BSD-3-Clause
#
# HDF5: its own tests of the parallel library, over MPI-IO: datasets, chunks and selections that ranks write together and
# compare, filters, and files that a rank leaves open.  Its tests of the metadata cache are not among them: they take long.
. "$DNET_SRC/tests/apps/lib.sh"
app_need "$(cc -print-file-name=libz.so)" zlib1g-dev
app_source hdf5
# Of the rest of the package only what these tests are linked with.
app_build 3600 sh -c "cd '$source' && ./configure --enable-parallel --disable-fortran --disable-cxx --disable-hl --disable-shared CC=mpicc \
    CFLAGS='-O1 -w' && make -j2 -C src && make -j2 -C test libh5test.la && make -j2 -C testpar check_PROGRAMS= t_mpi testphdf5 t_shapesame \
    t_pread t_init_term t_filters_parallel t_pshutdown t_prestart t_pflush1 t_pflush2"
cd "$source/testpar"
# Fewer combinations of selections.
HDF5TestExpress=2
export HDF5TestExpress
for name in t_mpi testphdf5 t_shapesame t_pread t_init_term t_filters_parallel; do
    app_run "$name" 900 '' mpirun -n 2 ./$name || :
done
# the first of each two ends without closing its file, the second reads it
for pair in t_pshutdown:t_prestart t_pflush1:t_pflush2; do
    mpirun -n 2 ./${pair%:*} >"$LOGS/${pair%:*}.log" 2>&1 </dev/null || :
    app_run "${pair#*:} after ${pair%:*}" 300 '' mpirun -n 2 ./${pair#*:} || :
done
