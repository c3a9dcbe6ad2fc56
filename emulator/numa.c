/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulator/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES 1024u /* as many as Linux can have */
#define BITS (8 * sizeof(unsigned long))

int dnet_emu_numa_here(void)
{
    unsigned node;

    return syscall(SYS_getcpu, NULL, &node, NULL) == 0 && node < NODES ? (int) node : -1;
}

int dnet_emu_numa_of(const void *at)
{
    int node;

    return syscall(SYS_get_mempolicy, &node, NULL, 0, at, MPOL_F_NODE | MPOL_F_ADDR) == 0 ? node
                                                                                          : -1;
}

void dnet_emu_numa_prefer(void *at, size_t bytes, int node)
{
    unsigned long nodes[NODES / BITS] = {0};

    if (node < 0)
        return;
    nodes[(unsigned) node / BITS] = 1ul << ((unsigned) node % BITS);
    /* The kernel takes one bit less than it is told. */
    (void) syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, nodes, NODES + 1, 0);
}
