# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dsh
dist_man_MANS += tools/shell/dsh.1
tools_dsh_SOURCES = \
	tools/common/clusters.c \
	tools/common/clusters.h \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/nics.c \
	tools/common/nics.h \
	tools/common/processes.c \
	tools/common/processes.h \
	tools/shell/attach.c \
	tools/shell/commands.c \
	tools/shell/commands.def \
	tools/shell/dsh.c \
	tools/shell/dsh.h \
	tools/shell/input.c \
	tools/shell/rings.c \
	tools/shell/sheet.c \
	tools/shell/words.c
tools_dsh_CPPFLAGS = $(AM_CPPFLAGS) $(EDIT_CFLAGS)
tools_dsh_LDADD = libdnet_cluster.la libdnet_all.la $(EDIT_LIBS)
