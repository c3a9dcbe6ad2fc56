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
#define DNET_OPTION_CHOICE(field, variable, preset, title, a, b, c) unsigned field;
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

/** Table of all options with their values, for people. */
void dnet_options_print(const dnet_options_t *options, FILE *out);

#endif
