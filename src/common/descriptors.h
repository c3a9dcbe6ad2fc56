/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many files a process may have open.
 */
#ifndef DNET_COMMON_DESCRIPTORS_H
#define DNET_COMMON_DESCRIPTORS_H

#include <stdint.h>

/** Let this process have so many descriptors, or as many as it may allow itself (ulimit -Hn).
 * @return how many it may have now */
uint64_t dnet_descriptors_allow(uint64_t need);

#endif
