/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of a cache line's data and less, of lengths that the compiler does not know: without a
 * call, and with one branch for each halving.
 */
#ifndef DNET_COMMON_SHORT_COPY_H
#define DNET_COMMON_SHORT_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DNET_SHORT_COPY_MOST 64u

/** memcpy() of at most DNET_SHORT_COPY_MOST bytes, by two copies that overlap. */
static inline void dnet_short_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n >= 32) {
        memcpy(to, from, 32);
        memcpy(to + n - 32, from + n - 32, 32);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else if (n >= 2) {
        memcpy(to, from, 2);
        memcpy(to + n - 2, from + n - 2, 2);
    } else if (n) {
        *to = *from;
    }
}

#endif
