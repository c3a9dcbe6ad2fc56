# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_lhs_match.la
libdnet_lhs_match_la_SOURCES = \
	src/lhs_match/lhs_match.c \
	src/lhs_match/lhs_match.h

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

# Coverage-guided, with clang's libFuzzer: make fuzz-match FUZZ_SECONDS=600
EXTRA_DIST += tests/property/fuzz_lhs_match.c
FUZZ_SECONDS = 30
FUZZ_CC = clang
fuzz-match:
	$(MKDIR_P) tests/property/corpus-lhs-match
	$(FUZZ_CC) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-I$(top_srcdir)/include -I$(top_srcdir)/src -o tests/property/fuzz_lhs_match \
		$(srcdir)/tests/property/fuzz_lhs_match.c $(srcdir)/tests/property/lhs_both.c \
		$(srcdir)/tests/property/lhs_reference.c $(srcdir)/src/lhs_match/lhs_match.c
	tests/property/fuzz_lhs_match -max_len=4096 -max_total_time=$(FUZZ_SECONDS) tests/property/corpus-lhs-match
.PHONY: fuzz-match
