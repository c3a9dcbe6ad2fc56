# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-stat
dist_man_MANS += tools/stat/dnet-stat.1
tools_dnet_stat_SOURCES = \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/nics.c \
	tools/common/nics.h \
	tools/common/processes.c \
	tools/common/processes.h \
	tools/stat/dnet-stat.c
tools_dnet_stat_LDADD = libdnet_all.la
