# SPDX-License-Identifier: BSD-3-Clause
check_LTLIBRARIES += libdnet_board.la
libdnet_board_la_SOURCES = tests/device/board.c tests/device/board.h tests/device/children.c tests/device/children.h

dnet_device_programs = \
	tests/device/smoke \
	tests/device/test_clocks \
	tests/device/test_deaths \
	tests/device/test_extensions \
	tests/device/test_lines \
	tests/device/test_memory \
	tests/device/test_numbers \
	tests/device/test_primitives \
	tests/device/test_processes \
	tests/device/test_reception \
	tests/device/test_refusals \
	tests/device/test_registers
check_PROGRAMS += $(dnet_device_programs)
DNET_DEVICE_TESTS += $(dnet_device_programs)

dnet_device_libraries = libdnet_board.la libdnet_emulator.la libdnet_locality.la libdnet_srq_flowctl.la libdnet_common.la
tests_device_smoke_SOURCES = tests/device/smoke.c
tests_device_smoke_LDADD = $(dnet_device_libraries)
tests_device_test_clocks_SOURCES = tests/device/test_clocks.c
tests_device_test_clocks_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_TIMING
tests_device_test_clocks_LDADD = libdnet_board.la libdnet_emulator_timing.la libdnet_locality.la libdnet_srq_flowctl.la libdnet_common.la
tests_device_test_deaths_SOURCES = tests/device/test_deaths.c
tests_device_test_deaths_LDADD = $(dnet_device_libraries)
tests_device_test_extensions_SOURCES = tests/device/test_extensions.c
tests_device_test_extensions_LDADD = $(dnet_device_libraries)
tests_device_test_lines_SOURCES = tests/device/test_lines.c
tests_device_test_lines_LDADD = $(dnet_device_libraries)
tests_device_test_numbers_SOURCES = tests/device/test_numbers.c
tests_device_test_numbers_LDADD = $(dnet_device_libraries)
tests_device_test_primitives_SOURCES = tests/device/test_primitives.c
tests_device_test_primitives_LDADD = $(dnet_device_libraries)
tests_device_test_processes_SOURCES = tests/device/test_processes.c
tests_device_test_processes_LDADD = $(dnet_device_libraries)
tests_device_test_reception_SOURCES = tests/device/test_reception.c
tests_device_test_reception_LDADD = $(dnet_device_libraries)
tests_device_test_refusals_SOURCES = tests/device/test_refusals.c
tests_device_test_refusals_LDADD = $(dnet_device_libraries)
tests_device_test_registers_SOURCES = tests/device/test_registers.c
tests_device_test_registers_LDADD = $(dnet_device_libraries)
tests_device_test_memory_SOURCES = tests/device/test_memory.c
tests_device_test_memory_LDADD = $(dnet_device_libraries)
tests_device_test_memory_LDFLAGS = -Wl,--wrap=posix_fallocate -Wl,--wrap=posix_fallocate64 -Wl,--wrap=madvise -Wl,--wrap=sysconf

# Every clause has its place in the code and its test.
check_PROGRAMS += tests/device/test_trace
DNET_DEVICE_TESTS += tests/device/test_trace
tests_device_test_trace_SOURCES = tests/device/test_trace.c
EXTRA_DIST += tests/device/README.md tests/device/clauses.txt
