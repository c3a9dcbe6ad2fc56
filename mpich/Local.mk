# SPDX-License-Identifier: BSD-3-Clause
# MPICH: obtained, grafted, built and installed by the scripts of this directory.
EXTRA_DIST += mpich
DNET_MPICH_ENV = \
	DNET_SRC='$(abs_top_srcdir)' DNET_BUILD='$(abs_top_builddir)' \
	DNET_DIRS="--prefix='$(prefix)' --bindir='$(bindir)' --libdir='$(libdir)' --includedir='$(includedir)' --mandir='$(mandir)'" \
	DNET_BIN='$(bindir)' DNET_LIB='$(libdir)' DNET_NETMODS='$(with_netmods)' DNET_MPICH_SOURCE='$(with_mpich_source)' \
	DNET_MPICH_FLAGS="$(MPICH_CONFIGURE_FLAGS)" DNET_FORTRAN='$(DNET_FORTRAN)' \
	DNET_VCIS='$(DNET_VCIS)' \
	CC='$(CC)' FC='$(FC)' MAKE='$(MAKE)' DESTDIR='$(DESTDIR)'

if BUILD_MPICH
all-local: mpich

mpich: libdnet_all.la
	+@$(DNET_MPICH_ENV) $(SHELL) $(srcdir)/mpich/build make

install-exec-local: mpich
	+@$(DNET_MPICH_ENV) $(SHELL) $(srcdir)/mpich/build install

uninstall-local:
	+@$(DNET_MPICH_ENV) $(SHELL) $(srcdir)/mpich/build uninstall
endif

.PHONY: mpich

clean-local:
	rm -rf mpich-build/src mpich-build/src.part mpich-build/obj mpich-build/log mpich-build/test mpich-build/.built

distclean-local:
	rm -rf mpich-build
