# SPDX-License-Identifier: BSD-3-Clause
# Finding a persistent cluster: an endpoint may live on one.
noinst_LTLIBRARIES += libdnet_roster.la
libdnet_roster_la_SOURCES = \
	src/cluster/cluster.c \
	src/cluster/cluster.h \
	src/cluster/roster.h

# Making and managing one, for the tools.
EXTRA_LTLIBRARIES += libdnet_cluster.la
libdnet_cluster_la_SOURCES = \
	src/cluster/fabric.c \
	src/cluster/fabric.h \
	src/cluster/keeper.c \
	src/cluster/network.c \
	src/cluster/network.h \
	src/cluster/switches.c \
	src/cluster/switches.h
EXTRA_DIST += src/cluster/README.md

check_PROGRAMS += tests/unit/test_network
DNET_UNIT_TESTS += tests/unit/test_network
tests_unit_test_network_SOURCES = tests/unit/test_network.c
tests_unit_test_network_LDADD = libdnet_cluster.la libdnet_subnet.la libdnet_all.la -lcmocka
