# SPDX-License-Identifier: BSD-3-Clause
# The kept corpus is replayed as unit and device tests; `make check-fuzz SECONDS=60` looks for more.
EXTRA_DIST += tests/fuzz/README.md tests/fuzz/run tests/fuzz/corpus tests/fuzz/fuzz_match.c

dnet_fuzz_programs = tests/fuzz/replay_packets tests/fuzz/replay_registers
check_PROGRAMS += $(dnet_fuzz_programs)
DNET_DEVICE_TESTS += $(dnet_fuzz_programs)
tests_fuzz_replay_packets_SOURCES = tests/fuzz/fuzz.h tests/fuzz/fuzz_packets.c tests/fuzz/replay.c
tests_fuzz_replay_packets_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_CORPUS='"packets"'
tests_fuzz_replay_packets_LDADD = $(dnet_device_libraries)
tests_fuzz_replay_registers_SOURCES = tests/fuzz/fuzz.h tests/fuzz/fuzz_registers.c tests/fuzz/replay.c
tests_fuzz_replay_registers_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_CORPUS='"registers"'
tests_fuzz_replay_registers_LDADD = $(dnet_device_libraries)

# Reads files, so it needs no device.
check_PROGRAMS += tests/fuzz/replay_calls
DNET_UNIT_TESTS += tests/fuzz/replay_calls
tests_fuzz_replay_calls_SOURCES = tests/fuzz/fuzz.h tests/fuzz/fuzz_calls.c tests/fuzz/replay.c \
	$(dnet_replay_sources)
tests_fuzz_replay_calls_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_CORPUS='"calls"'
tests_fuzz_replay_calls_LDADD = libdnet_common.la $(HWLOC_LIBS) $(ZLIB_LIBS)

SECONDS = 60
check-fuzz:
	@$(DNET_TEST_ENV) $(SHELL) $(srcdir)/tests/run-tests fuzz
.PHONY: check-fuzz
