# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-stat
dist_man_MANS += tools/stat/dnet-stat.1
tools_dnet_stat_SOURCES = \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/json_out.c \
	tools/common/json_out.h \
	tools/common/nics.c \
	tools/common/nics.h \
	tools/common/pages.c \
	tools/common/pages.h \
	tools/common/processes.c \
	tools/common/processes.h \
	tools/stat/deadlock.c \
	tools/stat/dnet-stat.c \
	tools/stat/nics.c \
	tools/stat/ranks.c \
	tools/stat/show.c \
	tools/stat/stat.h
tools_dnet_stat_LDADD = libdnet_all.la
