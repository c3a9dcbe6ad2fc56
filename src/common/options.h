/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options from the environment; the list is options.def.
 */
#ifndef DNET_COMMON_OPTIONS_H
#define DNET_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A number's default that is found out where it is used; its variable may say "auto". */
#define DNET_OPTION_AUTO UINT64_MAX

/**
 * Read all options: numbers and choices, whether files can be written, whether trace points exist.
 *
 * @param rank, size  of this process and of its job: what a file's name depends on
 * @return DNET_OK, or after one line that names the variable, its value and what is allowed:
 *         DNET_ERR_FORMAT; DNET_ERR_SYSTEM (a file that cannot be written)
 */
dnet_status_t dnet_options_load(uint32_t rank, uint32_t size, dnet_options_t *options_p);

/** Warn of each variable that starts with DIMMNET_ but is no option; one process of a job does. */
void dnet_options_warn_unknown(void);

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

/* One option with its value. */
typedef struct {
    enum { DNET_OPTION_IS_CHOICE, DNET_OPTION_IS_NUMBER, DNET_OPTION_IS_TEXT } kind;
    const char *variable, *title;
    bool set;                /* by the environment; else it is the default */
    const char *text;        /* of choices and texts; NULL: a text that is not set */
    const char *preset_text; /* of choices: the default */
    const char *choices[5];  /* the last is NULL */
    const char *unit;        /* of numbers */
    uint64_t number, preset; /* of numbers; DNET_OPTION_AUTO */
    uint64_t least, most;
} dnet_option_t;

typedef void dnet_options_visit_fn(void *arg, const dnet_option_t *option);

/** Visit all options, in the order of options.def. */
void dnet_options_each(const dnet_options_t *o, dnet_options_visit_fn *visit, void *arg);

#endif
