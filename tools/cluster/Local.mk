# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-cluster
dist_man_MANS += tools/cluster/dnet-cluster.1
tools_dnet_cluster_SOURCES = \
	tools/cluster/cluster.h \
	tools/cluster/cut.c \
	tools/cluster/degrade.c \
	tools/cluster/dnet-cluster.c \
	tools/cluster/down.c \
	tools/cluster/network.c \
	tools/cluster/path.c \
	tools/cluster/restore.c \
	tools/cluster/status.c \
	tools/cluster/up.c \
	tools/common/clusters.c \
	tools/common/clusters.h \
	tools/common/command.c \
	tools/common/command.h \
	tools/common/json_out.c \
	tools/common/json_out.h \
	tools/common/network.c
tools_dnet_cluster_LDADD = libdnet_cluster.la libdnet_subnet.la libdnet_all.la
