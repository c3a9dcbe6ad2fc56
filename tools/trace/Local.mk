# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-trace
dist_man_MANS += tools/trace/dnet-trace.1
tools_dnet_trace_SOURCES = \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/processes.c \
	tools/common/processes.h \
	tools/trace/capture.c \
	tools/trace/dnet-trace.c \
	tools/trace/list.c \
	tools/trace/on.c \
	tools/trace/rings.c \
	tools/trace/show.c \
	tools/trace/status.c \
	tools/trace/trace.h
tools_dnet_trace_LDADD = libdnet_common.la
