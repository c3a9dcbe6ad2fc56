/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers that people write: on command lines, in topology specifications, in files.
 */
#ifndef DNET_COMMON_NUMBER_H
#define DNET_COMMON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/**
 * The whole text as a whole number: decimal digits, or 0x and hexadecimal digits.
 *
 * @return false: it is something else, or not from `least` to `most`; *value_p is as before
 */
bool dnet_number(const char *text, uint64_t least, uint64_t most, uint64_t *value_p);

/** The whole text as a decimal fraction, "0.25" or "1e6".  @return as dnet_number */
bool dnet_fraction(const char *text, double least, double most, double *value_p);

#endif
