/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DNET_COMMON_KERNEL_COPIES_H
#define DNET_COMMON_KERNEL_COPIES_H

/* How fast the kernel copies between processes, beside two copies through memory that both have
 * mapped.  Of several ranks the least counts. */
typedef enum {
    DNET_KERNEL_SLOW = -2, /* those two are faster for 64 KB and more */
    DNET_KERNEL_FAIR = -1, /* for 16 KB in collectives */
    DNET_KERNEL_FAST = 0,  /* for 8 KB */
} dnet_kernel_copies_t;

#endif
