# SPDX-License-Identifier: BSD-3-Clause
#
# PnetCDF: its own tests of parallel reading and writing, over MPI-IO.
. "$DNET_SRC/tests/apps/lib.sh"
app_need m4 m4
app_source pnetcdf
app_build 1800 sh -c "cd '$source' && { [ -x configure ] || autoreconf -i; } && ./configure --disable-fortran --disable-cxx MPICC=mpicc TESTSEQRUN='mpirun -n 1' \
    TESTMPIRUN='mpirun -n NP' && make -j2 && make -j2 tests"
app_run 'tests on 1 rank' 1200 '' make -C "$source" check || :
app_run 'tests on 4 ranks' 1800 '' make -C "$source" ptest || :
