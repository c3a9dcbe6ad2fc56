# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_nic.la
libdnet_nic_la_SOURCES = \
	src/nic/heap.c \
	src/nic/heap.h \
	src/nic/nic.c \
	src/nic/nic.h \
	src/nic/pool.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_heap
DNET_UNIT_TESTS += tests/unit/test_heap
tests_unit_test_heap_SOURCES = tests/unit/test_heap.c
tests_unit_test_heap_LDADD = libdnet_nic.la -lcmocka

check_PROGRAMS += tests/unit/test_nic_pool
DNET_UNIT_TESTS += tests/unit/test_nic_pool
DNET_FLOWCTL_TESTS += tests/unit/test_nic_pool
tests_unit_test_nic_pool_SOURCES = tests/unit/test_nic_pool.c
tests_unit_test_nic_pool_LDADD = libdnet_all.la -lcmocka
endif
