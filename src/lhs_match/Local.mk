# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_lhs_match.la
libdnet_lhs_match_la_SOURCES = \
	src/lhs_match/lhs_match.c \
	src/lhs_match/lhs_match.h
EXTRA_DIST += src/lhs_match/README.md

check_PROGRAMS += tests/unit/test_lhs_match tests/property/test_lhs_match_random
DNET_UNIT_TESTS += tests/unit/test_lhs_match tests/property/test_lhs_match_random

tests_unit_test_lhs_match_SOURCES = tests/unit/test_lhs_match.c
tests_unit_test_lhs_match_LDADD = libdnet_lhs_match.la -lcmocka

tests_property_test_lhs_match_random_SOURCES = \
	tests/property/lhs_both.c \
	tests/property/lhs_both.h \
	tests/property/lhs_reference.c \
	tests/property/lhs_reference.h \
	tests/property/seed.h \
	tests/property/test_lhs_match_random.c
tests_property_test_lhs_match_random_LDADD = libdnet_lhs_match.la -lcmocka
