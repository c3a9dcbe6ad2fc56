# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-subnet
dist_man_MANS += tools/dnet-subnet.1
tools_dnet_subnet_SOURCES = \
	tools/command.c \
	tools/command.h \
	tools/dnet-subnet.c \
	tools/subnet_health.c \
	tools/subnet_rails.c \
	tools/subnet_rails.h \
	tools/subnet_reproduce.c \
	tools/subnet_route.c \
	tools/subnet_tables.c \
	tools/subnet_tool.c \
	tools/subnet_tool.h
tools_dnet_subnet_LDADD = libdnet_cluster.la libdnet_subnet.la libdnet_all.la
