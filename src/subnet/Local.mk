# SPDX-License-Identifier: BSD-3-Clause
# The subnet tools' library.  Not part of libdimmnet: nothing that sends a message needs it.
EXTRA_LTLIBRARIES += libdnet_subnet.la
libdnet_subnet_la_SOURCES = \
	src/subnet/addresses/fdb.c \
	src/subnet/addresses/lft_file.c \
	src/subnet/addresses/lid.c \
	src/subnet/addresses/lid.h \
	src/subnet/addresses/mft_file.c \
	src/subnet/addresses/partition_file.c \
	src/subnet/addresses/sl_file.c \
	src/subnet/base/progress.c \
	src/subnet/base/progress.h \
	src/subnet/base/rng.h \
	src/subnet/base/workers.c \
	src/subnet/base/workers.h \
	src/subnet/engines/dfsssp.c \
	src/subnet/engines/engines.c \
	src/subnet/engines/engines.h \
	src/subnet/engines/ftree.c \
	src/subnet/engines/minhop.c \
	src/subnet/engines/turnadd.c \
	src/subnet/engines/turnadd.h \
	src/subnet/engines/turnprohib.c \
	src/subnet/engines/updn.c \
	src/subnet/judges/depends.c \
	src/subnet/judges/depends.h \
	src/subnet/judges/health.c \
	src/subnet/judges/health.h \
	src/subnet/judges/multicast.c \
	src/subnet/judges/multicast.h \
	src/subnet/judges/rails.c \
	src/subnet/judges/rails.h \
	src/subnet/judges/transition.c \
	src/subnet/judges/transition.h \
	src/subnet/judges/verify.c \
	src/subnet/judges/verify.h \
	src/subnet/routing/acyclic.c \
	src/subnet/routing/acyclic.h \
	src/subnet/routing/fill.c \
	src/subnet/routing/forwarding.c \
	src/subnet/routing/forwarding.h \
	src/subnet/routing/multicast.c \
	src/subnet/routing/multicast.h \
	src/subnet/routing/multicast_tree.c \
	src/subnet/routing/partitions.c \
	src/subnet/routing/partitions.h \
	src/subnet/routing/paths.c \
	src/subnet/routing/paths.h \
	src/subnet/routing/paths_greedy.c \
	src/subnet/routing/routing.c \
	src/subnet/routing/routing.h \
	src/subnet/routing/tables.c \
	src/subnet/routing/tables_balance.c \
	src/subnet/routing/tables_batch.c \
	src/subnet/routing/tables_build.c \
	src/subnet/routing/tables_build.h \
	src/subnet/routing/tables_change.c \
	src/subnet/routing/tables_holes.c \
	src/subnet/routing/tables_label.c \
	src/subnet/routing/turns.c \
	src/subnet/routing/turns.h \
	src/subnet/topology/topo.c \
	src/subnet/topology/topo.h \
	src/subnet/topology/topo_fattree.c \
	src/subnet/topology/topo_gen.c \
	src/subnet/topology/topo_gen.h \
	src/subnet/topology/topo_layout.c \
	src/subnet/topology/topo_layout.h \
	src/subnet/topology/topo_read.c \
	src/subnet/topology/topo_stages.c \
	src/subnet/topology/topo_svg.c \
	src/subnet/topology/topo_write.c
libdnet_subnet_la_LIBADD = libdnet_common.la -lm
EXTRA_DIST += src/subnet/README.md

# The routing plug-in for OpenSM; OpenSM looks for lib<event_plugin_name>.so.
if HAVE_OPENSM
lib_LTLIBRARIES += libdimmnet_osm.la
libdimmnet_osm_la_SOURCES = src/subnet/opensm/plugin.c
libdimmnet_osm_la_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(OPENSM_INCLUDE)
libdimmnet_osm_la_CFLAGS = $(AM_CFLAGS) -Wno-strict-prototypes
libdimmnet_osm_la_LIBADD = libdnet_subnet.la
libdimmnet_osm_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^osm_event_plugin$$'
endif
