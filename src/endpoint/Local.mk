# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libdnet_endpoint.la
libdnet_endpoint_la_SOURCES = \
	src/endpoint/counters.def \
	src/endpoint/dump.c \
	src/endpoint/endpoint.c \
	src/endpoint/endpoint.h \
	src/endpoint/flow.c \
	src/endpoint/heads.def \
	src/endpoint/hold.c \
	src/endpoint/internal.h \
	src/endpoint/job.c \
	src/endpoint/layout.c \
	src/endpoint/layout.h \
	src/endpoint/limit.c \
	src/endpoint/offer.c \
	src/endpoint/progress.c \
	src/endpoint/receive.c \
	src/endpoint/rendezvous.c \
	src/endpoint/rings.c \
	src/endpoint/send.c \
	src/endpoint/strided.c
