/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/lhs_match and lhs_reference side by side: one call at a time on both, answers compared.  Few
 * contexts, ranks and tags, so that nearly every lookup has several candidates.  What is called is
 * decided by the caller's choose(): a random generator or a fuzzer's bytes.
 */
#ifndef DNET_LHS_BOTH_H
#define DNET_LHS_BOTH_H

#include "lhs_match/lhs_match.h"
#include "lhs_reference.h"

typedef struct {
    unsigned contexts, ranks, tags; /* 1.. */
    unsigned wild;                  /* percent of wildcards */
    unsigned limit;                 /* entries per queue, 1..DNET_REF_MAX */
    unsigned arrive, post;          /* percent of calls; the rest are probes and cancels */
} lhs_mix_t;

typedef struct {
    dnet_match_t fast;
    dnet_ref_t slow;
    dnet_match_item_t item[2 * DNET_REF_MAX]; /* item[id] */
    int free_ids[2 * DNET_REF_MAX];
    int free_count;
    lhs_mix_t mix;
    unsigned (*choose)(void *arg, unsigned n); /* a number from 0 to n - 1 */
    void *arg;
} lhs_both_t;

/** Both empty.  The caller sets mix before the first step and may change it between steps. */
void lhs_both_init(lhs_both_t *b, unsigned (*choose)(void *arg, unsigned n), void *arg);

/** Draw a mix. */
void lhs_both_mix(lhs_both_t *b);

/** One call on both.  @return false: they disagree */
bool lhs_both_step(lhs_both_t *b);

#endif
