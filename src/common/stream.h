/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that leave nothing in the caches, for results that are larger than these, and for what a
 * processor reads next that shares no cache with this one.
 */
#ifndef DNET_COMMON_STREAM_H
#define DNET_COMMON_STREAM_H

#include <stddef.h>
#include <stdint.h>

/** memcpy() whose stores go to memory and do not bring there what they replace; they are visible to
 * other processes before any store that follows. */
void dnet_stream_copy(void *to, const void *from, size_t bytes);

#ifdef __x86_64__
/** The same to the beginning of a cache line, and all of the last one is stored to.  For processors
 * with AVX-512BW. */
void dnet_stream_lines(uint8_t *to, const uint8_t *from, uint64_t bytes);
#endif

#endif
