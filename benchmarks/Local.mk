# SPDX-License-Identifier: BSD-3-Clause
# What is measured, and how it is compared.  Scripts, and MPI programs that they compile for each library:
EXTRA_DIST += \
	benchmarks/build-posix \
	benchmarks/compare \
	benchmarks/floor.c \
	benchmarks/hosts \
	benchmarks/incast \
	benchmarks/incast.c \
	benchmarks/libraries.py \
	benchmarks/memory \
	benchmarks/memory.c \
	benchmarks/osu.c \
	benchmarks/oversub \
	benchmarks/oversub.c \
	benchmarks/overlap \
	benchmarks/overlap.c \
	benchmarks/programs \
	benchmarks/rma \
	benchmarks/rows.py \
	benchmarks/strided \
	benchmarks/strided.c \
	benchmarks/tcp.c \
	benchmarks/threads \
	benchmarks/threads.c

# Scripts, though a .c file of the name stands beside them (make's own rule would compile it).
benchmarks/incast benchmarks/memory benchmarks/overlap benchmarks/oversub benchmarks/strided benchmarks/threads: ;

# Two NICs without anything above them.
noinst_PROGRAMS += benchmarks/nic_pingpong
benchmarks_nic_pingpong_SOURCES = benchmarks/nic_pingpong.c
benchmarks_nic_pingpong_LDADD = libdnet_emulator.la libdnet_locality.la libdnet_srq_flowctl.la libdnet_common.la

# IPUSH rings of their own for frequent partners.
check_PROGRAMS += benchmarks/rings
benchmarks_rings_SOURCES = benchmarks/rings.c
benchmarks_rings_LDADD = libdnet_test_job.la libdnet_all.la
