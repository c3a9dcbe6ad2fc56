# SPDX-License-Identifier: BSD-3-Clause
# The subnet tools' library.  Not part of libdimmnet: nothing that sends a message needs it.
EXTRA_LTLIBRARIES += libdnet_subnet.la
libdnet_subnet_la_SOURCES = \
	src/subnet/acyclic.c \
	src/subnet/acyclic.h \
	src/subnet/engine_dfsssp.c \
	src/subnet/engine_ftree.c \
	src/subnet/engine_minhop.c \
	src/subnet/engine_turnadd.c \
	src/subnet/engine_turnadd.h \
	src/subnet/engine_turnprohib.c \
	src/subnet/engine_updn.c \
	src/subnet/health.c \
	src/subnet/health.h \
	src/subnet/json_out.c \
	src/subnet/json_out.h \
	src/subnet/fdb.c \
	src/subnet/lft_file.c \
	src/subnet/lid.c \
	src/subnet/lid.h \
	src/subnet/paths.c \
	src/subnet/paths.h \
	src/subnet/paths_greedy.c \
	src/subnet/progress.c \
	src/subnet/progress.h \
	src/subnet/rails.c \
	src/subnet/rails.h \
	src/subnet/rng.h \
	src/subnet/routing.c \
	src/subnet/routing.h \
	src/subnet/tables.c \
	src/subnet/topo.c \
	src/subnet/topo.h \
	src/subnet/topo_fattree.c \
	src/subnet/topo_gen.c \
	src/subnet/topo_gen.h \
	src/subnet/topo_read.c \
	src/subnet/topo_stages.c \
	src/subnet/topo_stages.h \
	src/subnet/topo_svg.c \
	src/subnet/topo_write.c \
	src/subnet/turns.c \
	src/subnet/turns.h \
	src/subnet/verify.c \
	src/subnet/verify.h
libdnet_subnet_la_LIBADD = libdnet_common.la -lm

# The routing plug-in for OpenSM; OpenSM looks for lib<event_plugin_name>.so.
if HAVE_OPENSM
lib_LTLIBRARIES += libdimmnet_osm.la
libdimmnet_osm_la_SOURCES = src/subnet/opensm_plugin.c
libdimmnet_osm_la_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(OPENSM_INCLUDE)
libdimmnet_osm_la_CFLAGS = $(AM_CFLAGS) -Wno-strict-prototypes
libdimmnet_osm_la_LIBADD = libdnet_subnet.la
libdimmnet_osm_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^osm_event_plugin$$'
endif
