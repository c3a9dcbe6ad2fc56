# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += tools/check/dnet-check.in
if BUILD_MPICH
bin_SCRIPTS = tools/dnet-check
dist_man_MANS += tools/check/dnet-check.1
CLEANFILES += tools/dnet-check
tools/dnet-check: tools/check/dnet-check.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && sed 's|@pkglibdir[@]|$(pkglibdir)|; s|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' $(srcdir)/tools/check/dnet-check.in >$@ && chmod +x $@
else
EXTRA_DIST += tools/check/dnet-check.1
endif
