# SPDX-License-Identifier: BSD-3-Clause
# `make check` and its parts; tests/README.md says how to add to them.
EXTRA_DIST += tests/README.md tests/run-tests tests/apps tests/asan tests/demo tests/faults tests/hosts tests/mpi tests/mpich tests/random tests/vcis

DNET_TEST_ENV = \
	DNET_SRC='$(abs_top_srcdir)' DNET_BUILD='$(abs_top_builddir)' DNET_BIN='$(bindir)' \
	DNET_UNIT_TESTS='$(DNET_UNIT_TESTS)' DNET_DEVICE_TESTS='$(DNET_DEVICE_TESTS)' \
	DNET_TOOLS_SHELL_TESTS='$(DNET_TOOLS_SHELL_TESTS)' \
	DNET_FUZZ_SECONDS='$(SECONDS)' MAKE='$(MAKE)' CC='$(CC)' DNET_CFLAGS='$(CFLAGS)' TESTS='$(TESTS)'

# The MPI tests use the installed mpicc and mpirun.  A prefix inside the build tree is ours to refresh.
check-install: all
	+@case '$(prefix)' in \
	'$(abs_top_builddir)'/*) $(MAKE) $(AM_MAKEFLAGS) --no-print-directory install >install.log 2>&1 || \
		{ tail -n 20 install.log >&2; echo "make install failed; log: $(abs_top_builddir)/install.log" >&2; exit 1; } ;; \
	*) test -x '$(bindir)/mpicc' || \
		{ echo "$(bindir)/mpicc: not found; run make install before the MPI tests" >&2; exit 1; } ;; \
	esac

if BUILD_MPICH
check-local: check-install
	+@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests unit device hotpath house fuzz tools mpi faults random mpich-quick
else
check-local:
	+@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests unit device hotpath house fuzz tools
endif

# All test programs, without running them.
check-programs: $(check_LTLIBRARIES) $(check_PROGRAMS)
check-unit: tools/dnet-trace $(check_LTLIBRARIES) $(check_PROGRAMS)
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests unit
check-device: $(check_LTLIBRARIES) $(check_PROGRAMS)
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests device
check-format:
	@$(DNET_TEST_ENV) TESTS=format $(SHELL) $(srcdir)/tests/run-tests house
check-dist:
	+@$(DNET_TEST_ENV) TESTS=dist $(SHELL) $(srcdir)/tests/run-tests house
check-layers: all
	@$(DNET_TEST_ENV) TESTS=layers $(SHELL) $(srcdir)/tests/run-tests house
format:
	@$(SHELL) $(srcdir)/scripts/format all
check-tools: all $(check_LTLIBRARIES) $(check_PROGRAMS)
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests tools
check-mpi: check-install
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests mpi
check-random: check-install
	@$(DNET_TEST_ENV) DNET_RANDOM_SECONDS='$(SECONDS)' SEED='$(SEED)' SEEDS='$(SEEDS)' $(SHELL) $(srcdir)/tests/random/run
check-faults: check-install
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/faults/run
check-hosts: check-install
	+@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/hosts/run
check-verbs: check-install
	+@$(DNET_TEST_ENV) GUESTS='$(GUESTS)' $(SHELL) $(srcdir)/tests/verbs/guests/run
check-mpich: check-install
	+@$(DNET_TEST_ENV) DIRS='$(DIRS)' $(SHELL) $(srcdir)/tests/mpich/run
check-vcis: check-install
	+@$(DNET_TEST_ENV) DNET_VCIS='$(DNET_VCIS)' SANITIZE='$(SANITIZE)' $(SHELL) $(srcdir)/tests/vcis/run
check-apps: check-install
	+@$(DNET_TEST_ENV) APPS='$(APPS)' $(SHELL) $(srcdir)/tests/apps/run
check-asan:
	+@$(DNET_TEST_ENV) PARTS='$(PARTS)' DIRS='$(DIRS)' $(SHELL) $(srcdir)/tests/asan/run
# What takes hours or needs no look at every change.
check-nightly:
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-fuzz SECONDS=600
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-spin-exhaustive
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-subnet
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-hosts || test $$? -eq 77
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-verbs || test $$? -eq 77
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-random SEEDS=10000
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-mpich
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-vcis
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-vcis SANITIZE=thread
	+@$(MAKE) $(AM_MAKEFLAGS) --no-print-directory check-asan
demo: check-install
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/demo/run.sh

.PHONY: check-install check-programs check-unit check-device check-dist check-format check-layers format check-tools check-mpi check-random check-faults check-hosts check-verbs check-mpich check-vcis check-apps check-asan check-nightly demo
