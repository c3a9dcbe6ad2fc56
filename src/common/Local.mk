# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_common.la
libdnet_common_la_SOURCES = \
	include/dimmnet/status.def \
	include/dimmnet/status.h \
	src/common/available.c \
	src/common/available.h \
	src/common/bulk.c \
	src/common/bulk.h \
	src/common/clock.h \
	src/common/compiler.h \
	src/common/descriptors.c \
	src/common/descriptors.h \
	src/common/file_size.c \
	src/common/file_size.h \
	src/common/kernel_copies.h \
	src/common/log.c \
	src/common/log.h \
	src/common/move.c \
	src/common/move.h \
	src/common/number.c \
	src/common/number.h \
	src/common/options.c \
	src/common/options.def \
	src/common/options.h \
	src/common/short_copy.h \
	src/common/status.c \
	src/common/stream.c \
	src/common/stream.h \
	src/common/text.c \
	src/common/text.h \
	src/common/thread.c \
	src/common/thread.h \
	src/common/trace.c \
	src/common/trace.def \
	src/common/trace.h

check_PROGRAMS += tests/unit/test_available tests/unit/test_bulk tests/unit/test_clock tests/unit/test_descriptors tests/unit/test_file_size tests/unit/test_move tests/unit/test_number
DNET_UNIT_TESTS += tests/unit/test_available tests/unit/test_bulk tests/unit/test_clock tests/unit/test_descriptors tests/unit/test_file_size tests/unit/test_move tests/unit/test_number
tests_unit_test_available_SOURCES = tests/unit/test_available.c
tests_unit_test_available_LDADD = libdnet_common.la -lcmocka
tests_unit_test_bulk_SOURCES = tests/unit/test_bulk.c
tests_unit_test_bulk_LDADD = libdnet_common.la -lcmocka
tests_unit_test_move_SOURCES = tests/unit/test_move.c
tests_unit_test_move_LDADD = libdnet_common.la -lcmocka
tests_unit_test_clock_SOURCES = tests/unit/test_clock.c
tests_unit_test_clock_LDADD = libdnet_common.la -lcmocka
tests_unit_test_number_SOURCES = tests/unit/test_number.c
tests_unit_test_number_LDADD = libdnet_common.la -lcmocka
tests_unit_test_descriptors_SOURCES = tests/unit/test_descriptors.c
tests_unit_test_descriptors_LDADD = libdnet_common.la -lcmocka

tests_unit_test_file_size_SOURCES = tests/unit/test_file_size.c
tests_unit_test_file_size_LDADD = libdnet_common.la -lcmocka
tests_unit_test_file_size_LDFLAGS = -Wl,--wrap=posix_fallocate -Wl,--wrap=posix_fallocate64
