# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-info
dist_man_MANS += tools/info/dnet-info.1
tools_dnet_info_SOURCES = tools/info/dnet-info.c
tools_dnet_info_LDADD = libdnet_all.la
