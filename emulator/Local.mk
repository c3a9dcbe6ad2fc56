# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_emulator.la
libdnet_emulator_la_SOURCES = \
	include/dimmnet/events.def \
	emulator/amt_table.c \
	emulator/aperture.c \
	emulator/charge.h \
	emulator/elements.h \
	emulator/executor.c \
	emulator/lh_buffer.c \
	emulator/limit_event.c \
	emulator/nic.c \
	emulator/nic.h \
	emulator/packets.c \
	emulator/prefetch_unit.c \
	emulator/receive_controller.c \
	emulator/results.def \
	emulator/segment.c \
	emulator/states.def \
	emulator/status_write_unit.c \
	emulator/swif/capture.c \
	emulator/swif/faults.c \
	emulator/swif/lines.c \
	emulator/swif/shm.c \
	emulator/swif/swif.h \
	emulator/swif/switches.c \
	emulator/watch.c \
	emulator/window_controller.c \
	emulator/window_controller.h \
	emulator/write_unit.c

# The same NIC with its clocks counted.
check_LTLIBRARIES += libdnet_emulator_timing.la
libdnet_emulator_timing_la_SOURCES = $(libdnet_emulator_la_SOURCES)
libdnet_emulator_timing_la_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_TIMING

noinst_PROGRAMS += benchmarks/nic_pingpong
benchmarks_nic_pingpong_SOURCES = benchmarks/nic_pingpong.c
benchmarks_nic_pingpong_LDADD = libdnet_emulator.la libdnet_common.la
EXTRA_DIST += emulator/README.md
