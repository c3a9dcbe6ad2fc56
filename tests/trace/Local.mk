# SPDX-License-Identifier: BSD-3-Clause
# Captures and traces of jobs without MPI; those of MPI programs are in tests/mpi.
check_PROGRAMS += tests/trace/test_capture
DNET_UNIT_TESTS += tests/trace/test_capture
tests_trace_test_capture_SOURCES = \
	tests/trace/capture.c tests/trace/capture.h tests/trace/test_capture.c
tests_trace_test_capture_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka
tests_trace_test_capture_LDFLAGS = -Wl,--wrap=write

check_PROGRAMS += tests/trace/test_dissector
DNET_UNIT_TESTS += tests/trace/test_dissector
tests_trace_test_dissector_SOURCES = tests/trace/test_dissector.c
tests_trace_test_dissector_LDADD = libdnet_test_job.la libdnet_all.la

check_PROGRAMS += tests/trace/test_trace
DNET_UNIT_TESTS += tests/trace/test_trace
tests_trace_test_trace_SOURCES = tests/trace/test_trace.c
tests_trace_test_trace_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka
