/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A PNG file from 8-bit RGB pixels, in rows from the top.  Stored, not compressed: no library
 * needed.
 */
#ifndef PNG_H
#define PNG_H

#include <stdint.h>

/** @return 0, or -1: the file could not be written */
int png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height);

#endif
