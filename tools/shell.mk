# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/dnet-cluster
dist_man_MANS += tools/dnet-cluster.1
tools_dnet_cluster_SOURCES = tools/dnet-cluster.c
tools_dnet_cluster_LDADD = libdnet_cluster.la libdnet_subnet.la libdnet_all.la
