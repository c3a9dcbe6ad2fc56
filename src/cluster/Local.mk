# SPDX-License-Identifier: BSD-3-Clause
# Persistent clusters, for the tools: nothing that sends a message needs them.
EXTRA_LTLIBRARIES += libdnet_cluster.la
libdnet_cluster_la_SOURCES = \
	src/cluster/cluster.c \
	src/cluster/cluster.h \
	src/cluster/fabric.c \
	src/cluster/fabric.h \
	src/cluster/keeper.c \
	src/cluster/roster.h
EXTRA_DIST += src/cluster/README.md
