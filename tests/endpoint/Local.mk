# SPDX-License-Identifier: BSD-3-Clause
check_LTLIBRARIES += libdnet_test_job.la
libdnet_test_job_la_SOURCES = tests/endpoint/job.c tests/endpoint/job.h

check_PROGRAMS += tests/endpoint/test_endpoint_messages
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_messages
tests_endpoint_test_endpoint_messages_SOURCES = tests/endpoint/test_endpoint_messages.c
tests_endpoint_test_endpoint_messages_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_truncated
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_truncated
tests_endpoint_test_endpoint_truncated_SOURCES = tests/endpoint/test_endpoint_truncated.c
tests_endpoint_test_endpoint_truncated_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_budget
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_budget
tests_endpoint_test_endpoint_budget_SOURCES = tests/endpoint/test_endpoint_budget.c
tests_endpoint_test_endpoint_budget_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_cancel
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_cancel
tests_endpoint_test_endpoint_cancel_SOURCES = tests/endpoint/test_endpoint_cancel.c
tests_endpoint_test_endpoint_cancel_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_stop
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_stop
DNET_FLOWCTL_TESTS += tests/endpoint/test_endpoint_budget tests/endpoint/test_endpoint_stop
tests_endpoint_test_endpoint_stop_SOURCES = tests/endpoint/test_endpoint_stop.c
tests_endpoint_test_endpoint_stop_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_flow
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_flow
tests_endpoint_test_endpoint_flow_SOURCES = tests/endpoint/test_endpoint_flow.c
tests_endpoint_test_endpoint_flow_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_rings
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_rings
DNET_FLOWCTL_TESTS += tests/endpoint/test_endpoint_rings
tests_endpoint_test_endpoint_rings_SOURCES = tests/endpoint/test_endpoint_rings.c
tests_endpoint_test_endpoint_rings_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_strided
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_strided
tests_endpoint_test_endpoint_strided_SOURCES = tests/endpoint/test_endpoint_strided.c
tests_endpoint_test_endpoint_strided_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_rndv
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_rndv
tests_endpoint_test_endpoint_rndv_SOURCES = tests/endpoint/test_endpoint_rndv.c
tests_endpoint_test_endpoint_rndv_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_staged
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_staged
tests_endpoint_test_endpoint_staged_SOURCES = tests/endpoint/test_endpoint_staged.c
tests_endpoint_test_endpoint_staged_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_split
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_split
tests_endpoint_test_endpoint_split_SOURCES = tests/endpoint/test_endpoint_split.c
tests_endpoint_test_endpoint_split_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka
check_PROGRAMS += tests/endpoint/test_endpoint_pushed tests/unit/test_piece_times
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_pushed tests/unit/test_piece_times
tests_endpoint_test_endpoint_pushed_SOURCES = tests/endpoint/test_endpoint_pushed.c
tests_endpoint_test_endpoint_pushed_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka
tests_unit_test_piece_times_SOURCES = tests/unit/test_piece_times.c
tests_unit_test_piece_times_LDADD = libdnet_endpoint.la libdnet_common.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_forbidden
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_forbidden
tests_endpoint_test_endpoint_forbidden_SOURCES = tests/endpoint/test_endpoint_forbidden.c
tests_endpoint_test_endpoint_forbidden_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_guests
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_guests
tests_endpoint_test_endpoint_guests_SOURCES = tests/endpoint/test_endpoint_guests.c
tests_endpoint_test_endpoint_guests_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/unit/test_layout
DNET_UNIT_TESTS += tests/unit/test_layout
tests_unit_test_layout_SOURCES = tests/unit/test_layout.c
tests_unit_test_layout_LDADD = libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_limits
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_limits
tests_endpoint_test_endpoint_limits_SOURCES = tests/endpoint/test_endpoint_limits.c
tests_endpoint_test_endpoint_limits_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_close
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_close
tests_endpoint_test_endpoint_close_SOURCES = tests/endpoint/test_endpoint_close.c
tests_endpoint_test_endpoint_close_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_hosts
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_hosts
DNET_FLOWCTL_TESTS += tests/endpoint/test_endpoint_hosts
tests_endpoint_test_endpoint_hosts_SOURCES = tests/endpoint/test_endpoint_hosts.c
tests_endpoint_test_endpoint_hosts_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_bound
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_bound
tests_endpoint_test_endpoint_bound_SOURCES = tests/endpoint/test_endpoint_bound.c
tests_endpoint_test_endpoint_bound_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_threads
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_threads
tests_endpoint_test_endpoint_threads_SOURCES = tests/endpoint/test_endpoint_threads.c
tests_endpoint_test_endpoint_threads_LDADD = libdnet_all.la -lcmocka

check_PROGRAMS += tests/endpoint/test_endpoint_hosts_tcp
DNET_UNIT_TESTS += tests/endpoint/test_endpoint_hosts_tcp
tests_endpoint_test_endpoint_hosts_tcp_SOURCES = tests/endpoint/test_endpoint_hosts_tcp.c
tests_endpoint_test_endpoint_hosts_tcp_LDADD = libdnet_test_job.la libdnet_all.la -lcmocka
