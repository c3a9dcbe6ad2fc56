# SPDX-License-Identifier: BSD-3-Clause
# A library of its own, preloaded by dnet-check; it needs the mpi.h of the MPICH that has been built, and is
# linked to no MPI library.
EXTRA_DIST += src/check/README.md
noinst_HEADERS += src/check/check.h src/check/calls.def
if BUILD_MPICH
pkglib_LTLIBRARIES = libdimmnet-check.la
libdimmnet_check_la_SOURCES = \
	src/check/collectives.c src/check/communicators.c src/check/neighbours.c src/check/signature.c
libdimmnet_check_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(abs_top_builddir)/mpich-build/obj/src/include \
	-I$(abs_top_builddir)/mpich-build/src/src/include
libdimmnet_check_la_LDFLAGS = -module -avoid-version -shared
$(libdimmnet_check_la_OBJECTS): | mpich
endif
