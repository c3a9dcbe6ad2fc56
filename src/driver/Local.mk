# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_driver.la
libdnet_driver_la_SOURCES = \
	src/driver/heap.c \
	src/driver/heap.h \
	src/driver/driver.c \
	src/driver/driver.h \
	src/driver/pool.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_heap
DNET_UNIT_TESTS += tests/unit/test_heap
tests_unit_test_heap_SOURCES = tests/unit/test_heap.c
tests_unit_test_heap_LDADD = libdnet_driver.la -lcmocka

check_PROGRAMS += tests/unit/test_driver_pool
DNET_UNIT_TESTS += tests/unit/test_driver_pool
DNET_FLOWCTL_TESTS += tests/unit/test_driver_pool
tests_unit_test_driver_pool_SOURCES = tests/unit/test_driver_pool.c
tests_unit_test_driver_pool_LDADD = libdnet_all.la -lcmocka
endif
