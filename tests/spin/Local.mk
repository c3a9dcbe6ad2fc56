# SPDX-License-Identifier: BSD-3-Clause
# The stop/resend models: `make check` runs the small configurations, `make check-spin-exhaustive` all.
EXTRA_DIST += tests/spin/README.md tests/spin/run tests/spin/held.pml tests/spin/push.pml tests/spin/split.pml tests/spin/stop_resend.pml tests/spin/stop_ring.pml

DNET_UNIT_TESTS += tests/spin/small
CLEANFILES += tests/spin/small
tests/spin/small: $(srcdir)/tests/spin/run
	@$(MKDIR_P) $(@D) && printf '#!/bin/sh\nexec sh "$$DNET_SRC/tests/spin/run" small\n' >$@ && chmod +x $@
check-unit check-local: tests/spin/small

check-spin:
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/spin/run small
check-spin-exhaustive:
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/spin/run exhaustive

check-flowctl: $(DNET_FLOWCTL_TESTS)
	@for t in `grep -o '\<test_[a-z_]*' '$(srcdir)/docs/flow-control.md' | sort -u`; do \
		grep -qrw "$$t" --include='*.c' --include=Local.mk '$(srcdir)/tests' || \
		{ echo "docs/flow-control.md names $$t, which is no test" >&2; exit 1; }; done
	@$(DNET_TEST_ENV) DNET_UNIT_TESTS='$(DNET_FLOWCTL_TESTS)' $(SHELL) $(srcdir)/tests/run-tests unit

.PHONY: check-spin check-spin-exhaustive check-flowctl
