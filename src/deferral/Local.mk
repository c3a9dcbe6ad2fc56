# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_deferral.la
libdnet_deferral_la_SOURCES = \
	src/deferral/defer_rx.c \
	src/deferral/defer_rx.def \
	src/deferral/defer_rx.h \
	src/deferral/defer_tx.c \
	src/deferral/defer_tx.def \
	src/deferral/defer_tx.h
EXTRA_DIST += src/deferral/README.md

DNET_DEFERRAL_TESTS = \
	tests/unit/test_defer_tx \
	tests/unit/test_defer_rx \
	tests/property/test_defer_world
check_PROGRAMS += $(DNET_DEFERRAL_TESTS)
DNET_UNIT_TESTS += $(DNET_DEFERRAL_TESTS)

tests_unit_test_defer_tx_SOURCES = tests/unit/test_defer_tx.c
tests_unit_test_defer_tx_LDADD = libdnet_deferral.la -lcmocka

tests_unit_test_defer_rx_SOURCES = tests/unit/test_defer_rx.c
tests_unit_test_defer_rx_LDADD = libdnet_deferral.la -lcmocka

tests_property_test_defer_world_SOURCES = \
	tests/property/seed.h \
	tests/property/test_defer_world.c
tests_property_test_defer_world_LDADD = libdnet_deferral.la libdnet_lhs_match.la -lcmocka
