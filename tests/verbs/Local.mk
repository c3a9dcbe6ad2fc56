# SPDX-License-Identifier: BSD-3-Clause
# The verbs plug, on a libibverbs of our own (fake/fake.h) that needs no device.
EXTRA_DIST += tests/verbs/fake/libibverbs.map tests/verbs/guests

if HAVE_VERBS
check_LTLIBRARIES += tests/verbs/fake/libibverbs.la
tests_verbs_fake_libibverbs_la_SOURCES = \
	tests/verbs/fake/fake.c tests/verbs/fake/fake.h tests/verbs/fake/faults.c tests/verbs/fake/transport.c
tests_verbs_fake_libibverbs_la_LDFLAGS = -shared -rpath /nowhere -version-info 1:0:0 \
	-Wl,--version-script=$(srcdir)/tests/verbs/fake/libibverbs.map

check_LTLIBRARIES += libdnet_test_fabric.la
libdnet_test_fabric_la_SOURCES = tests/verbs/fabric.c tests/verbs/fabric.h
libdnet_test_fabric_la_CPPFLAGS = $(AM_CPPFLAGS) -DDNET_FAKE_LIBRARY='"$(abs_top_builddir)/tests/verbs/fake/.libs"'

# The tests of any plug.
check_PROGRAMS += tests/verbs/test_verbs_hosts
DNET_UNIT_TESTS += tests/verbs/test_verbs_hosts
tests_verbs_test_verbs_hosts_SOURCES = tests/endpoint/test_endpoint_hosts.c
tests_verbs_test_verbs_hosts_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/endpoint -I$(top_srcdir)/tests/verbs -DDNET_TEST_FABRIC
tests_verbs_test_verbs_hosts_LDADD = libdnet_test_fabric.la libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/verbs/test_verbs_faults
DNET_UNIT_TESTS += tests/verbs/test_verbs_faults
tests_verbs_test_verbs_faults_SOURCES = tests/verbs/test_verbs_faults.c
tests_verbs_test_verbs_faults_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/endpoint
tests_verbs_test_verbs_faults_LDADD = libdnet_test_fabric.la libdnet_test_job.la libdnet_all.la -lcmocka

check_PROGRAMS += tests/verbs/test_verbs_away
DNET_UNIT_TESTS += tests/verbs/test_verbs_away
tests_verbs_test_verbs_away_SOURCES = tests/verbs/test_verbs_away.c
tests_verbs_test_verbs_away_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/endpoint
tests_verbs_test_verbs_away_LDADD = libdnet_test_fabric.la libdnet_test_job.la libdnet_all.la -lcmocka
tests_verbs_test_verbs_away_LDFLAGS = -Wl,--wrap=clock_gettime -Wl,--wrap=dnet_emu_alive_answer

check_PROGRAMS += tests/verbs/test_verbs_rails
DNET_UNIT_TESTS += tests/verbs/test_verbs_rails
tests_verbs_test_verbs_rails_SOURCES = tests/verbs/test_verbs_rails.c
tests_verbs_test_verbs_rails_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/endpoint
tests_verbs_test_verbs_rails_LDADD = libdnet_test_fabric.la libdnet_test_job.la libdnet_all.la -lcmocka
endif
