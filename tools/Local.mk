# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-info
tools_dnet_info_SOURCES = tools/dnet-info.c
tools_dnet_info_LDADD = libdnet_all.la
dist_man_MANS += tools/dnet-info.1

bin_PROGRAMS += tools/dnet-trace
tools_dnet_trace_SOURCES = tools/dnet-trace.c
tools_dnet_trace_LDADD = libdnet_common.la
dist_man_MANS += tools/dnet-trace.1

# Tables that repeat a .def list: `make lists` renews them, the tests say when one is stale.
check_PROGRAMS += scripts/lists
DNET_UNIT_TESTS += scripts/lists
scripts_lists_SOURCES = scripts/lists.c
lists: scripts/lists$(EXEEXT)
	DNET_SRC='$(abs_top_srcdir)' scripts/lists --write
.PHONY: lists
dist_pkgdata_DATA = tools/wireshark/dimmnet.lua
