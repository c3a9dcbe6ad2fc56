/* SPDX-License-Identifier: BSD-3-Clause
 *
 * On which NUMA node memory lies.  By system calls alone: all that is asked for is the node of the
 * processor this process runs on, and loading a topology to learn that would cost each process of a
 * job milliseconds.
 */
#ifndef DNET_EMU_NUMA_H
#define DNET_EMU_NUMA_H

#include <stddef.h>

/* Node of the processor that this thread runs on; -1: not known. */
int dnet_emu_numa_here(void);

/* Node of the page at an address, which is touched; -1: not known. */
int dnet_emu_numa_of(const void *at);

/*
 * Pages of shared memory that are not there yet come from this node as long as it has some,
 * whichever process needs them first: the policy is the file's, not the mapping's.  A kernel that
 * knows no nodes, or a container that forbids the call, leaves things as they are: a page then
 * comes from the node of the process that touches it first.
 *
 * at: begins a page
 */
void dnet_emu_numa_prefer(void *at, size_t bytes, int node);

#endif
