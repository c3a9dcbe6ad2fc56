# SPDX-License-Identifier: BSD-3-Clause
# The buffer study is no part of libdimmnet: its sources go into the tool.
bin_PROGRAMS += tools/dnet-replay
dist_man_MANS += tools/replay/dnet-replay.1
tools_dnet_replay_SOURCES = tools/common/command.c tools/common/command.h \
	tools/common/json_out.c tools/common/json_out.h \
	tools/replay/dnet-replay.c $(dnet_replay_sources)
tools_dnet_replay_LDADD = libdnet_common.la $(HWLOC_LIBS) $(ZLIB_LIBS)
