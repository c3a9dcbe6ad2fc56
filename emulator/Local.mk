# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_emulator.la
libdnet_emulator_la_SOURCES = \
	emulator/amt_table.c \
	emulator/aperture.c \
	emulator/charge.h \
	emulator/lh_buffer.c \
	emulator/nic.c \
	emulator/nic.h \
	emulator/prefetch_unit.c \
	emulator/receive_controller.c \
	emulator/segment.c \
	emulator/status_write_unit.c \
	emulator/swif/shm.c \
	emulator/swif/swif.h \
	emulator/window_controller.c \
	emulator/write_unit.c

noinst_PROGRAMS += benchmarks/nic_pingpong
benchmarks_nic_pingpong_SOURCES = benchmarks/nic_pingpong.c
benchmarks_nic_pingpong_LDADD = libdnet_emulator.la libdnet_common.la
