# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += \
	scripts/check-dist \
	scripts/check-layers \
	scripts/debian-packages \
	scripts/format \
	scripts/install-packages \
	scripts/layers \
	scripts/spec-trace

# Tables that repeat a .def list: `make lists` renews them, the tests say when one is stale.
check_PROGRAMS += scripts/lists
DNET_UNIT_TESTS += scripts/lists
scripts_lists_SOURCES = scripts/lists.c
lists: scripts/lists$(EXEEXT)
	DNET_SRC='$(abs_top_srcdir)' scripts/lists --write
.PHONY: lists
