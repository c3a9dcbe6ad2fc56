# SPDX-License-Identifier: BSD-3-Clause
# The driver of the device tutorial, from the code blocks of the tutorial.
tests/tutorial/driver.c: $(srcdir)/docs/device-tutorial.md
	@mkdir -p tests/tutorial
	$(AM_V_GEN)awk '/^```/ { code = ($$0 == "```c"); next } code' \
		$(srcdir)/docs/device-tutorial.md >$@

check_PROGRAMS += tests/tutorial/driver tests/tutorial/test_device_tutorial
DNET_UNIT_TESTS += tests/tutorial/test_device_tutorial
nodist_tests_tutorial_driver_SOURCES = tests/tutorial/driver.c
tests_tutorial_driver_LDADD = libdimmnet.la
tests_tutorial_test_device_tutorial_SOURCES = tests/tutorial/test_device_tutorial.c
# When only the public headers are on its way, what the tutorial includes is what users have.
tests_tutorial_driver_CPPFLAGS = -I$(top_srcdir)/include
CLEANFILES += tests/tutorial/driver.c
