/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests of the verbs plug: the program runs with the libibverbs of tests/verbs/fake in the
 * place of the real one.
 */
#ifndef DNET_TEST_FABRIC_H
#define DNET_TEST_FABRIC_H

#include <stdbool.h>
#include <stddef.h>

/** First thing in main(): starts the program anew with the library's path, once, and makes the
 * file that joins processes.  @return false: it cannot be had */
bool dnet_fabric_begin(char **argv);

/** Last thing: removes the file. */
void dnet_fabric_end(void);

/** In a process that has a port: what fails from now on, as DNET_FAKE_VERBS_FAULTS. */
void dnet_fabric_faults(const char *text);

/** How often something has happened in this process. */
unsigned dnet_fabric_count(const char *what);

/** fake_verbs_unmapped(). */
void dnet_fabric_unmapped(const void *at, size_t bytes);

#endif
