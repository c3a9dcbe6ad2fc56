# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_srq_flowctl.la
libdnet_srq_flowctl_la_SOURCES = \
	src/srq_flowctl/connection.h \
	src/srq_flowctl/controls.def \
	src/srq_flowctl/partners.c \
	src/srq_flowctl/partners.h \
	src/srq_flowctl/receiver.c \
	src/srq_flowctl/rx.c \
	src/srq_flowctl/sender.c \
	src/srq_flowctl/srq_flowctl.h \
	src/srq_flowctl/states.def \
	src/srq_flowctl/table.c \
	src/srq_flowctl/tx.c
EXTRA_DIST += src/srq_flowctl/README.md

dnet_srq_flowctl_tests = \
	tests/unit/test_srq_flowctl \
	tests/unit/test_fc_connection \
	tests/unit/test_fc_partners \
	tests/property/test_fc_faults
check_PROGRAMS += $(dnet_srq_flowctl_tests)
DNET_UNIT_TESTS += $(dnet_srq_flowctl_tests)
DNET_FLOWCTL_TESTS += $(dnet_srq_flowctl_tests)

tests_unit_test_srq_flowctl_SOURCES = tests/unit/test_srq_flowctl.c
tests_unit_test_srq_flowctl_LDADD = libdnet_srq_flowctl.la -lcmocka

tests_unit_test_fc_partners_SOURCES = tests/unit/test_fc_partners.c
tests_unit_test_fc_partners_LDADD = libdnet_srq_flowctl.la -lcmocka

tests_unit_test_fc_connection_SOURCES = tests/unit/test_fc_connection.c
tests_unit_test_fc_connection_LDADD = libdnet_srq_flowctl.la -lcmocka

tests_property_test_fc_faults_SOURCES = \
	tests/property/fc_world.c \
	tests/property/fc_world.h \
	tests/property/seed.h \
	tests/property/test_fc_faults.c
tests_property_test_fc_faults_LDADD = libdnet_srq_flowctl.la -lcmocka
