/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options from the environment; the list is options.def.
 */
#ifndef DNET_COMMON_OPTIONS_H
#define DNET_COMMON_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "dimmnet/status.h"

typedef struct {
#define DNET_OPTION_CHOICE(field, variable, preset, title, a, b, c, d) unsigned field;
#define DNET_OPTION_NUMBER(field, variable, preset, least, most, unit, title) uint64_t field;
#define DNET_OPTION_TEXT(field, variable, title) const char *field;
#include "common/options.def"
#undef DNET_OPTION_CHOICE
#undef DNET_OPTION_NUMBER
#undef DNET_OPTION_TEXT
} dnet_options_t;

/**
 * Read all options.
 *
 * Names that start with DIMMNET_ but are no option are warned about.
 *
 * @return DNET_OK, or DNET_ERR_FORMAT after one line that names the variable, its value and what is
 *         allowed
 */
dnet_status_t dnet_options_load(dnet_options_t *options_p);

/**
 * The file of one rank of a job.
 *
 * @param variable  option it comes from, for the logged line
 * @param pattern   "%r" is replaced by the rank; where it is missing and the job has several ranks,
 *                  ".RANK" goes before the last suffix
 * @param path      result, at most `room` bytes with its end
 * @return DNET_OK, or DNET_ERR_FORMAT (logged): empty, too long, or a % that is not %r
 */
dnet_status_t dnet_options_rank_path(const char *variable, const char *pattern, uint32_t rank,
                                     uint32_t size, char *path, size_t room);

/** Table of all options with their values, for people. */
void dnet_options_print(const dnet_options_t *options, FILE *out);

#endif
