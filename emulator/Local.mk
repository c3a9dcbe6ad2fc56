# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_emulator.la
libdnet_emulator_la_SOURCES = \
	include/dimmnet/events.def \
	emulator/amt_table.c \
	emulator/amt_table.h \
	emulator/aperture.c \
	emulator/aperture.h \
	emulator/charge.c \
	emulator/charge.h \
	emulator/core_logic.h \
	emulator/descriptor.c \
	emulator/descriptor.h \
	emulator/device.c \
	emulator/elements.h \
	emulator/executor.c \
	emulator/executor.h \
	emulator/flow_ring.c \
	emulator/flow_ring.h \
	emulator/guests.c \
	emulator/guests.h \
	emulator/lh_buffer.c \
	emulator/lh_buffer.h \
	emulator/limit_event.c \
	emulator/limit_event.h \
	emulator/lines.c \
	emulator/memory.c \
	emulator/memory.h \
	emulator/numa.c \
	emulator/numa.h \
	emulator/packets.c \
	emulator/packets.h \
	emulator/prefetch_unit.c \
	emulator/prefetch_unit.h \
	emulator/process.c \
	emulator/process.h \
	emulator/receive_controller.c \
	emulator/receive_controller.h \
	emulator/receive_entry.h \
	emulator/receive_side.c \
	emulator/receive_side.h \
	emulator/registers.c \
	emulator/registers.h \
	emulator/request.h \
	emulator/request_fifo.h \
	emulator/results.def \
	emulator/segment.c \
	emulator/segment.h \
	emulator/states.def \
	emulator/status_write_unit.c \
	emulator/status_write_unit.h \
	emulator/swif/burst.c \
	emulator/swif/capture.c \
	emulator/swif/fault_point.c \
	emulator/swif/faults.c \
	emulator/swif/hosts/alive.c \
	emulator/swif/hosts/alive.h \
	emulator/swif/hosts/connection.c \
	emulator/swif/hosts/connection.h \
	emulator/swif/hosts/flow.c \
	emulator/swif/hosts/guests.c \
	emulator/swif/hosts/guests.h \
	emulator/swif/hosts/hosts.c \
	emulator/swif/hosts/in.c \
	emulator/swif/hosts/libfabric.c \
	emulator/swif/hosts/out.c \
	emulator/swif/hosts/plug.h \
	emulator/swif/hosts/plugs.def \
	emulator/swif/hosts/port.c \
	emulator/swif/hosts/rails.c \
	emulator/swif/hosts/rails.h \
	emulator/swif/hosts/rails_end.h \
	emulator/swif/hosts/rails_reads.c \
	emulator/swif/hosts/rails_state.c \
	emulator/swif/hosts/reads.c \
	emulator/swif/hosts/reads.h \
	emulator/swif/hosts/tcp.c \
	emulator/swif/hosts/tcp_address.c \
	emulator/swif/hosts/tcp_connect.c \
	emulator/swif/hosts/tcp_end.h \
	emulator/swif/hosts/tcp_stream.c \
	emulator/swif/hosts/unmapped.c \
	emulator/swif/hosts/unmapped.h \
	emulator/swif/hosts/verbs.c \
	emulator/swif/hosts/verbs_connect.c \
	emulator/swif/hosts/verbs_device.c \
	emulator/swif/hosts/verbs_end.h \
	emulator/swif/hosts/verbs_functions.def \
	emulator/swif/hosts/verbs_memory.c \
	emulator/swif/hosts/verbs_states.def \
	emulator/swif/shm.c \
	emulator/swif/swif.h \
	emulator/swif/switches.c \
	emulator/watch.c \
	emulator/window_controller.c \
	emulator/window_controller.h \
	emulator/write_unit.c \
	emulator/write_unit.h

# The same NIC with its clocks counted.
check_LTLIBRARIES += libdnet_emulator_timing.la
libdnet_emulator_timing_la_SOURCES = $(libdnet_emulator_la_SOURCES)
libdnet_emulator_timing_la_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_TIMING

EXTRA_DIST += emulator/README.md

check_PROGRAMS += tests/unit/test_numa
DNET_UNIT_TESTS += tests/unit/test_numa
tests_unit_test_numa_SOURCES = tests/unit/test_numa.c
tests_unit_test_numa_LDADD = libdnet_emulator.la libdnet_locality.la libdnet_srq_flowctl.la libdnet_common.la -lcmocka
tests_unit_test_numa_LDFLAGS = -Wl,--wrap=dnet_emu_numa_of

check_PROGRAMS += tests/unit/test_tcp_plug
DNET_UNIT_TESTS += tests/unit/test_tcp_plug
tests_unit_test_tcp_plug_SOURCES = tests/unit/test_tcp_plug.c
tests_unit_test_tcp_plug_LDADD = libdnet_all.la -lcmocka
