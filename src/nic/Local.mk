# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_nic.la
libdnet_nic_la_SOURCES = \
	src/nic/nic.c \
	src/nic/nic.h
