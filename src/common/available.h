/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that this process may still use.
 */
#ifndef DNET_COMMON_AVAILABLE_H
#define DNET_COMMON_AVAILABLE_H

#include <stdint.h>

/**
 * Bytes that the machine has free, and that the control groups above this process allow, whichever
 * are least.  What files have in memory counts as free: the kernel gives it up when it is needed.
 *
 * @param root  of the file system; "" but in tests
 * @param wanted  a control group that has so much without what its files have is not asked for
 *                that, which takes the kernel longer
 * @return UINT64_MAX: nothing is known
 */
uint64_t dnet_available(const char *root, uint64_t wanted);

#endif
