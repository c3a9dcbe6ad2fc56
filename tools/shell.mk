# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-cluster tools/dsh
dist_man_MANS += tools/dnet-cluster.1 tools/dsh.1
tools_dnet_cluster_SOURCES = \
	tools/cluster_network.c \
	tools/cluster_tool.h \
	tools/command.c \
	tools/command.h \
	tools/dnet-cluster.c
tools_dnet_cluster_LDADD = libdnet_cluster.la libdnet_subnet.la libdnet_all.la
tools_dsh_SOURCES = \
	tools/dsh.c \
	tools/dsh.h \
	tools/dsh_attach.c \
	tools/dsh_commands.def \
	tools/dsh_input.c \
	tools/dsh_rings.c \
	tools/dsh_sheet.c \
	tools/dsh_words.c \
	tools/nics.c \
	tools/nics.h
tools_dsh_CPPFLAGS = $(AM_CPPFLAGS) $(EDIT_CFLAGS)
tools_dsh_LDADD = libdnet_cluster.la libdnet_all.la $(EDIT_LIBS)

bin_PROGRAMS += tools/dnet-stat
dist_man_MANS += tools/dnet-stat.1
tools_dnet_stat_SOURCES = tools/dnet-stat.c tools/nics.c tools/nics.h
tools_dnet_stat_LDADD = libdnet_all.la
