# SPDX-License-Identifier: BSD-3-Clause
#
# HPC Challenge: HPL, PTRANS, RandomAccess, FFT, latency and bandwidth, each with a check of its own.
. "$DNET_SRC/tests/apps/lib.sh"
app_need "$(cc -print-file-name=libblas.so)" libblas-dev
app_source hpcc
cat >"$source/hpl/Make.dimmnet" <<END
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -sf
MKDIR = mkdir -p
RM = rm -f
TOUCH = touch
ARCH = dimmnet
TOPdir = ../../..
INCdir = \$(TOPdir)/include
BINdir = \$(TOPdir)/bin/\$(ARCH)
LIBdir = \$(TOPdir)/lib/\$(ARCH)
HPLlib = \$(LIBdir)/libhpl.a
LAlib = -lblas
F2CDEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle
HPL_INCLUDES = -I\$(INCdir) -I\$(INCdir)/\$(ARCH)
HPL_LIBS = \$(HPLlib) \$(LAlib) -lm
HPL_OPTS = -DHPL_CALL_VSIPL_NOT
HPL_DEFS = \$(F2CDEFS) \$(HPL_OPTS) \$(HPL_INCLUDES)
CC = mpicc
CCNOOPT = \$(HPL_DEFS)
CCFLAGS = \$(HPL_DEFS) -O2 -w
LINKER = mpicc
LINKFLAGS = \$(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
END
app_build 1200 make -C "$source" arch=dimmnet
for ranks in 2 4; do
    mkdir -p run$ranks
    sed -e '6s/^[0-9 ]*/200  /' -e '5s/^[0-9 ]*/1  /' -e '7s/^[0-9 ]*/1  /' -e '8s/^[0-9 ]*/32 /' -e '10s/^[0-9 ]*/1  /' \
        -e '11s/^[0-9 ]*/'$((ranks / 2))' /' -e '12s/^[0-9 ]*/2  /' "$source/_hpccinf.txt" >run$ranks/hpccinf.txt
    app_run "all parts, $ranks ranks" 600 '' sh -c "cd run$ranks && mpirun -n $ranks '$source/hpcc'" || continue
    cp run$ranks/hpccoutf.txt "$LOGS/hpccoutf-$ranks.txt"
    if grep -q '^Success=1' run$ranks/hpccoutf.txt && ! grep -qi 'fail.*[1-9][0-9]* tests\|FAILED$' run$ranks/hpccoutf.txt; then
        app_result PASS "its checks, $ranks ranks"
    else
        app_result FAIL "its checks, $ranks ranks" "(log: $LOGS/hpccoutf-$ranks.txt)"
    fi
done
