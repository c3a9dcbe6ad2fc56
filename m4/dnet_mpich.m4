# SPDX-License-Identifier: BSD-3-Clause
#
# DNET_MPICH
# ----------
# MPICH: whether it is built, from what source, with which netmods and Fortran bindings; and the MPI that
# libdimmnet-trace is made for.  Conditionals BUILD_MPICH and HAVE_TRACER; substitutes with_mpich_source,
# with_netmods, DNET_VCIS, DNET_FORTRAN, MPICC, MPICH_CONFIGURE_FLAGS and FC.
AC_DEFUN([DNET_MPICH], [
AC_ARG_WITH([mpich],
    [AS_HELP_STRING([--without-mpich], [build libdimmnet and the tools only])],
    [AS_CASE([$withval], [yes|no], [],
        [AC_MSG_ERROR([--with-mpich takes no value; name a source with --with-mpich-source=DIR|TARBALL])])],
    [with_mpich=yes])
AC_ARG_WITH([mpich-source],
    [AS_HELP_STRING([--with-mpich-source=DIR|TARBALL],
        [MPICH source to build from (default: the cache, then the Debian source package)])],
    [], [with_mpich_source=])
AS_CASE([$with_mpich_source],
    [yes|no], [AC_MSG_ERROR([--with-mpich-source wants a directory or a tarball])],
    [''|/*], [],
    [with_mpich_source=$(pwd)/$with_mpich_source])
AS_IF([test -n "$with_mpich_source" && test ! -e "$with_mpich_source"],
    [AC_MSG_ERROR([--with-mpich-source=$with_mpich_source: no such directory or tarball])])
AC_ARG_WITH([netmods],
    [AS_HELP_STRING([--with-netmods=LIST],
        [netmods of MPICH, comma-separated, first is the default at run time: dimmnet and any of ucx, ofi
         (default: dimmnet alone, inlined)])],
    [], [with_netmods=dimmnet])
AS_CASE([,$with_netmods,], [*,dimmnet,*], [],
    [AC_MSG_ERROR([--with-netmods=$with_netmods: the list must contain dimmnet])])
for netmod in $(echo "$with_netmods" | tr , ' '); do
    AS_CASE([$netmod], [dimmnet], [],
        [ucx], [AC_CHECK_HEADER([ucp/api/ucp.h], [],
            [AC_MSG_ERROR([--with-netmods: ucx wants UCX's headers (Debian: libucx-dev)])])],
        [ofi], [AC_CHECK_HEADER([rdma/fabric.h], [],
            [AC_MSG_ERROR([--with-netmods: ofi wants libfabric's headers (Debian: libfabric-dev)])])],
        [AC_MSG_ERROR([--with-netmods: unknown netmod $netmod; known: dimmnet, ucx, ofi])])
done
AC_ARG_ENABLE([vcis],
    [AS_HELP_STRING([--enable-vcis@<:@=N@:>@],
        [threads of a process may use up to N endpoints at once, 2 to 64 (16), each with a lock of its own; programs
         without threads get slower (default: one endpoint, one lock)])],
    [], [enable_vcis=no])
AS_CASE([$enable_vcis],
    [no], [DNET_VCIS=1],
    [yes], [DNET_VCIS=16],
    [@<:@2-9@:>@|@<:@1-5@:>@@<:@0-9@:>@|6@<:@0-4@:>@], [DNET_VCIS=$enable_vcis],
    [AC_MSG_ERROR([--enable-vcis=$enable_vcis: want a number from 2 to 64])])
AC_ARG_ENABLE([fortran],
    [AS_HELP_STRING([--disable-fortran], [build MPICH without its Fortran bindings])],
    [], [enable_fortran=yes])
AC_ARG_VAR([MPICC],
    [with --without-mpich: compiler wrapper of the MPI that libdimmnet-trace shall trace (default: none)])
AS_IF([test "$with_mpich" = no && test -n "$MPICC" && ! command -v $MPICC >/dev/null 2>&1],
    [AC_MSG_ERROR([MPICC=$MPICC: no such program])])
AM_CONDITIONAL([HAVE_TRACER], [test "$with_mpich" = yes || test -n "$MPICC"])
AC_ARG_VAR([MPICH_CONFIGURE_FLAGS], [more flags for MPICH's configure])
AC_ARG_VAR([FC], [Fortran compiler, for MPICH's bindings])
AS_IF([test "$with_mpich" = yes], [
    AS_IF([test "$enable_fortran" = no], [DNET_FORTRAN=no], [
        DNET_FORTRAN=all
        AC_CHECK_PROGS([FC], [gfortran])
        AS_IF([test -n "$FC" && command -v $FC >/dev/null 2>&1], [],
            [AC_MSG_ERROR([no Fortran compiler${FC:+ $FC}; install gfortran or configure with --disable-fortran])])
    ])
    for tool in perl python3 automake patch xz; do
        AS_IF([command -v $tool >/dev/null 2>&1], [],
            [AC_MSG_ERROR([$tool is missing; scripts/install-packages installs what the build needs])])
    done
])
AM_CONDITIONAL([BUILD_MPICH], [test "$with_mpich" = yes])
AC_SUBST([with_mpich_source])
AC_SUBST([with_netmods])
AC_SUBST([DNET_VCIS])
AC_SUBST([DNET_FORTRAN])
])
