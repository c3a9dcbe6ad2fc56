# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-subnet
dist_man_MANS += tools/subnet/dnet-subnet.1
tools_dnet_subnet_SOURCES = \
	tools/common/clusters.c \
	tools/common/clusters.h \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/json_out.c \
	tools/common/json_out.h \
	tools/common/network.c \
	tools/subnet/diff.c \
	tools/subnet/dnet-subnet.c \
	tools/subnet/draw.c \
	tools/subnet/gen.c \
	tools/subnet/health.c \
	tools/subnet/lid.c \
	tools/subnet/path.c \
	tools/subnet/rails.c \
	tools/subnet/rails.h \
	tools/subnet/report.c \
	tools/subnet/reproduce.c \
	tools/subnet/route.c \
	tools/subnet/show.c \
	tools/subnet/subnet.c \
	tools/subnet/subnet.h \
	tools/subnet/verify.c
tools_dnet_subnet_LDADD = libdnet_cluster.la libdnet_subnet.la libdnet_all.la
