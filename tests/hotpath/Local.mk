# SPDX-License-Identifier: BSD-3-Clause
# `make check-hotpath`: the instructions of an 8-byte message, against the numbers in `instructions`.
EXTRA_DIST += tests/hotpath/run tests/hotpath/instructions
check_PROGRAMS += tests/hotpath/messages
tests_hotpath_messages_SOURCES = tests/hotpath/messages.c
tests_hotpath_messages_LDADD = libdnet_all.la

check-hotpath: tests/hotpath/messages$(EXEEXT)
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests hotpath
.PHONY: check-hotpath
