# SPDX-License-Identifier: BSD-3-Clause
# Tests of the subnet tools.  The programs also run in `make check`; the scripts, which start OpenSM
# on ibsim's simulated fabrics (packages.txt), only in `make check-subnet`.
DNET_SUBNET_TESTS = \
	tests/subnet/test_change \
	tests/subnet/test_health_rails \
	tests/subnet/test_judge \
	tests/subnet/test_lid \
	tests/subnet/test_memory \
	tests/subnet/test_multicast \
	tests/subnet/test_service \
	tests/subnet/test_turns
check_PROGRAMS += $(DNET_SUBNET_TESTS)
DNET_UNIT_TESTS += $(DNET_SUBNET_TESTS)
tests_subnet_test_turns_SOURCES = tests/subnet/made.h tests/subnet/test_turns.c
tests_subnet_test_turns_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_health_rails_SOURCES = tests/subnet/test_health_rails.c
tests_subnet_test_health_rails_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_service_SOURCES = tests/subnet/test_service.c
tests_subnet_test_service_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_change_SOURCES = tests/subnet/test_change.c
tests_subnet_test_change_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_lid_SOURCES = tests/subnet/test_lid.c
tests_subnet_test_lid_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_memory_SOURCES = tests/subnet/test_memory.c
tests_subnet_test_memory_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_memory_LDFLAGS = -Wl,--wrap=calloc
tests_subnet_test_judge_SOURCES = tests/subnet/made.h tests/subnet/test_judge.c
tests_subnet_test_judge_LDADD = libdnet_subnet.la -lcmocka
tests_subnet_test_multicast_SOURCES = tests/subnet/test_multicast.c
tests_subnet_test_multicast_LDADD = libdnet_subnet.la -lcmocka

DNET_SUBNET_SHELL_TESTS = \
	health_fabric \
	opensm_controls \
	opensm_files \
	opensm_lid \
	opensm_multicast \
	opensm_plugin \
	show_fabric \
	strict \
	tool
EXTRA_DIST += tests/subnet/packages.txt tests/subnet/fabric.sh tests/subnet/join.py \
	tests/subnet/lib.sh \
	$(DNET_SUBNET_SHELL_TESTS:%=tests/subnet/%.sh)

check-subnet: all $(DNET_SUBNET_TESTS)
	@$(DNET_TEST_ENV) DNET_SUBNET_TESTS='$(DNET_SUBNET_TESTS)' \
		DNET_SUBNET_SHELL_TESTS='$(DNET_SUBNET_SHELL_TESTS)' $(SHELL) $(srcdir)/tests/run-tests subnet
.PHONY: check-subnet
