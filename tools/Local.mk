# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-info
tools_dnet_info_SOURCES = tools/dnet-info.c
tools_dnet_info_LDADD = libdnet_all.la
dist_man_MANS += tools/dnet-info.1
