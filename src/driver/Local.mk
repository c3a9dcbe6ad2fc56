# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_driver.la
libdnet_driver_la_SOURCES = \
	src/driver/heap.c \
	src/driver/heap.h \
	src/driver/driver.c \
	src/driver/driver.h \
	src/driver/srq_limit.c

check_PROGRAMS += tests/unit/test_heap
DNET_UNIT_TESTS += tests/unit/test_heap
tests_unit_test_heap_SOURCES = tests/unit/test_heap.c
tests_unit_test_heap_LDADD = libdnet_driver.la -lcmocka

check_PROGRAMS += tests/unit/test_driver_srq_limit
DNET_UNIT_TESTS += tests/unit/test_driver_srq_limit
DNET_FLOWCTL_TESTS += tests/unit/test_driver_srq_limit
tests_unit_test_driver_srq_limit_SOURCES = tests/unit/test_driver_srq_limit.c
tests_unit_test_driver_srq_limit_LDADD = libdnet_all.la -lcmocka
check_PROGRAMS += tests/unit/test_driver_start
DNET_UNIT_TESTS += tests/unit/test_driver_start
tests_unit_test_driver_start_SOURCES = tests/unit/test_driver_start.c
tests_unit_test_driver_start_LDADD = libdnet_all.la -lcmocka
