/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of processors, as the operating system numbers them, and which of them a process may use.
 */
#ifndef DNET_LOCALITY_PROCESSORS_H
#define DNET_LOCALITY_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dimmnet/status.h"

#define DNET_PROCESSORS_MAX 8192u /* as many as Linux can have */
#define DNET_PROCESSORS_WORDS (DNET_PROCESSORS_MAX / 64u)

typedef struct {
    uint64_t word[DNET_PROCESSORS_WORDS];
} dnet_processors_t;

/**
 * The processors that a process may use.
 *
 * @param pid  0: this thread
 * @return DNET_OK; DNET_NOT_FOUND: there is no such process, or it may not be looked into
 */
dnet_status_t dnet_processors_of(int32_t pid, dnet_processors_t *set_p);

/** How many they are. */
uint32_t dnet_processors_count(const dnet_processors_t *set);

/** Is each of them one of `all`? */
bool dnet_processors_within(const dnet_processors_t *set, const dnet_processors_t *all);

/** Are both sets the same one processor? */
bool dnet_processors_same_one(const dnet_processors_t *a, const dnet_processors_t *b);

/** Room for any set as text: at worst of every three processors two are in it, as "3000-3001,". */
#define DNET_PROCESSORS_TEXT (DNET_PROCESSORS_MAX / 3 * 10 + 32)

/** As text: "0-3,8"; numbers and ranges that have no room are left out.  @return text */
const char *dnet_processors_text(const dnet_processors_t *set, char *text, size_t room);

#endif
