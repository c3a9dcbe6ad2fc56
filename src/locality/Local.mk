# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_locality.la
libdnet_locality_la_SOURCES = \
	src/locality/adapter.c \
	src/locality/adapter.h \
	src/locality/distances.def \
	src/locality/locality.c \
	src/locality/locality.h \
	src/locality/processors.c \
	src/locality/processors.h

check_PROGRAMS += tests/unit/test_locality
DNET_UNIT_TESTS += tests/unit/test_locality
tests_unit_test_locality_SOURCES = tests/unit/test_locality.c
tests_unit_test_locality_LDADD = libdnet_locality.la libdnet_common.la $(HWLOC_LIBS) -lcmocka
