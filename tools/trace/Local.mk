# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-trace
dist_man_MANS += tools/trace/dnet-trace.1
tools_dnet_trace_SOURCES = tools/trace/dnet-trace.c
tools_dnet_trace_LDADD = libdnet_common.la
