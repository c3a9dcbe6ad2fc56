# SPDX-License-Identifier: BSD-3-Clause
# The buffer study is no part of libdimmnet: its sources go into the tool and its test.
dnet_replay_sources = \
	src/replay/partners.c \
	src/replay/pattern.c \
	src/replay/program.c \
	src/replay/replay.h \
	src/replay/simulate.c \
	src/replay/calls.h \
	src/replay/calls.def \
	src/replay/calls_read.c \
	src/replay/calls_write.c

# The tracer is no part of libdimmnet either: it is loaded before an MPI library and wants only its
# mpi.h, our MPICH's or that of MPICC.  Only the MPI_ functions are visible.
dnet_tracer_sources = \
	src/replay/tracer.c \
	src/replay/tracer.h \
	src/replay/tracer_calls.c
EXTRA_DIST += $(dnet_tracer_sources) src/replay/README.md
dnet_tracer_units = src/replay/tracer.c src/replay/tracer_calls.c src/replay/calls_write.c

if BUILD_MPICH
DNET_TRACER_CC = $(CC) -I$(abs_top_builddir)/mpich-build/obj/src/include \
	-I$(abs_top_builddir)/mpich-build/src/src/include
DNET_TRACER_AFTER = mpich
else
DNET_TRACER_CC = $(MPICC)
endif
if HAVE_TRACER
tracerdir = $(libdir)
tracer_DATA = libdimmnet-trace.so
endif
libdimmnet-trace.so: $(dnet_tracer_sources) src/replay/calls.h src/replay/calls.def \
		src/replay/calls_write.c | $(DNET_TRACER_AFTER)
	$(AM_V_CCLD)cd $(srcdir) && $(DNET_TRACER_CC) $(AM_CFLAGS) $(CFLAGS) -D_GNU_SOURCE \
		-Iinclude -Isrc -fPIC -fvisibility=hidden -pthread -shared $(LDFLAGS) $(dnet_tracer_units) \
		-o $(abs_top_builddir)/$@
CLEANFILES += libdimmnet-trace.so

check_PROGRAMS += tests/unit/test_replay
DNET_UNIT_TESTS += tests/unit/test_replay
tests_unit_test_replay_SOURCES = tests/unit/test_replay.c $(dnet_replay_sources)
tests_unit_test_replay_LDADD = libdnet_common.la $(HWLOC_LIBS) $(ZLIB_LIBS) -lcmocka
