/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of two ways takes less time: the one that did when both were tried last.
 */
#ifndef DNET_COLLECTIVE_CHOICE_H
#define DNET_COLLECTIVE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Calls of a trial.  The first does not count, for it finds nothing in the caches; of the others,
 * and of as many before the trial, the fastest are compared. */
#define DNET_CHOICE_CALLS 4u
/** Calls between the first two trials and the third.  After one that has changed nothing it is
 * twice as many, up to DNET_CHOICE_PAUSE_MOST. */
#define DNET_CHOICE_PAUSE 64u
#define DNET_CHOICE_PAUSE_MOST 1024u

/** Zeroed: the first of the two ways until something is known. */
typedef struct {
    bool second; /* is the second way the one that takes less time? */
    bool tries;  /* the other one is tried */
    uint32_t calls, pause;
    /* ns for a megabyte: by the way chosen, by the other */
    uint64_t last[2][DNET_CHOICE_CALLS - 1];
} dnet_choice_t;

/** Does the next call go the second way? */
static inline bool dnet_choice_next(const dnet_choice_t *c)
{
    return c->second != c->tries;
}

/** That call has moved so many bytes, and taken so long. */
void dnet_choice_took(dnet_choice_t *c, size_t bytes, uint64_t ns);

/** Data of about as many bytes, up to DNET_CHOICE_SHORT_BYTES, of twice as many and so on, share
 * what is known of them. */
#define DNET_CHOICE_SHORT_BYTES 131072u
#define DNET_CHOICE_LENGTHS 7u

/** Zeroed, too. */
typedef struct {
    dnet_choice_t of[DNET_CHOICE_LENGTHS];
} dnet_choices_t;

static inline dnet_choice_t *dnet_choices_for(dnet_choices_t *choices, size_t bytes)
{
    unsigned i = 0;
    while (i + 1 < DNET_CHOICE_LENGTHS && bytes >> i > DNET_CHOICE_SHORT_BYTES)
        i++;
    return &choices->of[i];
}

#endif
