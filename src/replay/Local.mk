# SPDX-License-Identifier: BSD-3-Clause
# The buffer study is no part of libdimmnet: its sources go into the tool and its test.
dnet_replay_sources = \
	src/replay/pattern.c \
	src/replay/replay.h \
	src/replay/simulate.c

bin_PROGRAMS += tools/dnet-replay
tools_dnet_replay_SOURCES = tools/dnet-replay.c $(dnet_replay_sources)
tools_dnet_replay_LDADD = libdnet_common.la $(HWLOC_LIBS)
dist_man_MANS += tools/dnet-replay.1

check_PROGRAMS += tests/unit/test_replay
DNET_UNIT_TESTS += tests/unit/test_replay
tests_unit_test_replay_SOURCES = tests/unit/test_replay.c $(dnet_replay_sources)
tests_unit_test_replay_LDADD = -lcmocka
