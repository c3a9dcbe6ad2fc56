# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_srq_flowctl.la
libdnet_srq_flowctl_la_SOURCES = \
	src/srq_flowctl/receiver.c \
	src/srq_flowctl/sender.c \
	src/srq_flowctl/srq_flowctl.h \
	src/srq_flowctl/states.def \
	src/srq_flowctl/table.c

check_PROGRAMS += tests/unit/test_srq_flowctl
DNET_UNIT_TESTS += tests/unit/test_srq_flowctl

tests_unit_test_srq_flowctl_SOURCES = tests/unit/test_srq_flowctl.c
tests_unit_test_srq_flowctl_LDADD = libdnet_srq_flowctl.la -lcmocka
