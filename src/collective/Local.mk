# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_collective.la
libdnet_collective_la_SOURCES = \
	src/collective/blocks.h \
	src/collective/board.h \
	src/collective/choice.c \
	src/collective/choice.h \
	src/collective/collective.c \
	src/collective/collective.h \
	src/collective/combine.c \
	src/collective/exchange.c \
	src/collective/exchange.h \
	src/collective/in_place.h \
	src/collective/nonblocking.c \
	src/collective/nonblocking.h \
	src/collective/nonblocking_blocks.c \
	src/collective/nonblocking_blocks.h \
	src/collective/nonblocking_data.c \
	src/collective/nonblocking_data.h \
	src/collective/nonblocking_op.h \
	src/collective/nonblocking_pairs.h \
	src/collective/nonblocking_slots.c \
	src/collective/nonblocking_slots.h \
	src/collective/parcel.c \
	src/collective/parcel.h \
	src/collective/reduce.c \
	src/collective/reduce.h \
	src/collective/rooted.c \
	src/collective/steps.c \
	src/collective/steps.h
EXTRA_DIST += src/collective/README.md

DNET_COLLECTIVE_TESTS = tests/unit/test_blocks tests/unit/test_choice tests/unit/test_collective \
	tests/unit/test_nonblocking tests/unit/test_nonblocking_blocks
check_PROGRAMS += $(DNET_COLLECTIVE_TESTS)
DNET_UNIT_TESTS += $(DNET_COLLECTIVE_TESTS)

tests_unit_test_blocks_SOURCES = tests/unit/test_blocks.c tests/unit/board_ranks.h
tests_unit_test_blocks_LDADD = libdnet_collective.la libdnet_common.la -lcmocka -lpthread
tests_unit_test_choice_SOURCES = tests/unit/test_choice.c
tests_unit_test_choice_LDADD = libdnet_collective.la -lcmocka
tests_unit_test_collective_SOURCES = tests/unit/test_collective.c tests/unit/board_ranks.h
tests_unit_test_collective_LDADD = libdnet_collective.la libdnet_common.la -lcmocka -lpthread
tests_unit_test_nonblocking_SOURCES = tests/unit/test_nonblocking.c tests/unit/board_ranks.h
tests_unit_test_nonblocking_LDADD = libdnet_collective.la libdnet_common.la -lcmocka -lpthread
tests_unit_test_nonblocking_blocks_SOURCES = tests/unit/test_nonblocking_blocks.c tests/unit/board_ranks.h
tests_unit_test_nonblocking_blocks_LDADD = libdnet_collective.la libdnet_common.la -lcmocka -lpthread
