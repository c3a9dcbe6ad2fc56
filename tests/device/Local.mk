# SPDX-License-Identifier: BSD-3-Clause
check_LTLIBRARIES += libdnet_board.la
libdnet_board_la_SOURCES = tests/device/board.c tests/device/board.h

check_PROGRAMS += tests/device/smoke
DNET_DEVICE_TESTS += tests/device/smoke
tests_device_smoke_SOURCES = tests/device/smoke.c
tests_device_smoke_LDADD = libdnet_board.la libdnet_emulator.la libdnet_common.la
