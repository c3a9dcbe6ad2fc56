/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files of a size that is known, most of them in memory.
 */
#ifndef DNET_COMMON_FILE_SIZE_H
#define DNET_COMMON_FILE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/** May this process make files of so many bytes (ulimit -f)?  One that tries to all the same is
 * ended by a signal. */
bool dnet_file_size_allowed(uint64_t bytes);

/**
 * Have memory, or room on a disk, behind so many bytes of a file, at least 1.  No signal is handled
 * meanwhile: for a file in memory older kernels undo all when one is pending, so that a program
 * with a profiler's timer would never have it.
 *
 * @return 0, or an error number
 */
int dnet_file_reserve(int fd, uint64_t offset, uint64_t bytes);

#endif
