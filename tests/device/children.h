/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that a test forks, and what they share with it.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "tests/device/board.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside the NICs: a step counter and a little data. */
typedef struct {
    _Atomic unsigned step;
    dnet_emu_locator_t at[2];
    _Atomic uint64_t word[8];
} shared_t;

extern shared_t *shared;

/* Make it, before the fork. */
void share(void);

/* The one comes to a step, the other waits until it has. */
void reach(unsigned step);
void await(unsigned step);

/* A process that runs this, and ends with the test. */
pid_t child_of(void (*run)(cluster_t *), cluster_t *c);

/* It is to end by itself, with status 0. */
void join_child(pid_t child);

/* Make and bring up a NIC with one device. */
dnet_device_t *nic_up(uint16_t lid, dnet_profile_t profile, dnet_emu_nic_t **nic_p);

/* A message of two words into an LH entry. */
void send_lhs(dnet_device_t *d, unsigned dlid, unsigned dwid, uint64_t value);

#endif
