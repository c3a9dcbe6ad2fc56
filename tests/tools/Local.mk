# SPDX-License-Identifier: BSD-3-Clause
# Tests of dsh and dnet-cluster: scripts, and the programs they need.
DNET_TOOLS_SHELL_TESTS = attach capture stat clone cluster compare completion draw dsh dump guide health help info input network obtain programs random show slow terminal topology
EXTRA_DIST += tests/tools/lib.sh tests/tools/session.txt $(DNET_TOOLS_SHELL_TESTS:%=tests/tools/%.sh)

check_PROGRAMS += tests/tools/job tests/tools/test_deadlock tests/tools/test_nics tests/tools/test_watch
DNET_UNIT_TESTS += tests/tools/test_deadlock tests/tools/test_nics tests/tools/test_watch
tests_tools_job_SOURCES = tests/tools/job.c
tests_tools_job_LDADD = libdnet_test_job.la libdnet_all.la
check_PROGRAMS += tests/tools/stopped tests/tools/traffic
tests_tools_traffic_SOURCES = tests/tools/traffic.c
tests_tools_traffic_LDADD = libdnet_test_job.la libdnet_all.la
tests_tools_stopped_SOURCES = tests/tools/stopped.c
tests_tools_stopped_LDADD = libdnet_test_job.la libdnet_all.la
tests_tools_test_deadlock_SOURCES = tests/tools/test_deadlock.c tools/stat/deadlock.c
tests_tools_test_deadlock_LDADD = libdnet_all.la -lcmocka
tests_tools_test_nics_SOURCES = tests/tools/test_nics.c tools/common/nics.c tools/common/processes.c tools/stat/nics.c
tests_tools_test_nics_LDADD = libdnet_all.la -lcmocka
tests_tools_test_watch_SOURCES = tests/tools/test_watch.c
tests_tools_test_watch_LDADD = libdnet_all.la -lcmocka
