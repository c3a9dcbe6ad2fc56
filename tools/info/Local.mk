# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-info
dist_man_MANS += tools/info/dnet-info.1
tools_dnet_info_SOURCES = \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/json_out.c \
	tools/common/json_out.h \
	tools/common/pages.c \
	tools/common/pages.h \
	tools/common/processes.c \
	tools/common/processes.h \
	tools/info/dnet-info.c \
	tools/info/topology.c \
	tools/info/topology.h
tools_dnet_info_LDADD = libdnet_all.la -lm
