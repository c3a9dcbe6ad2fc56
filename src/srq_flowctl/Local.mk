# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_srq_flowctl.la
libdnet_srq_flowctl_la_SOURCES = \
	src/srq_flowctl/receiver.c \
	src/srq_flowctl/sender.c \
	src/srq_flowctl/srq_flowctl.h \
	src/srq_flowctl/states.def \
	src/srq_flowctl/table.c
