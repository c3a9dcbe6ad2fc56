/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/choice.h"

#include "common/compiler.h"

#define LAST (DNET_CHOICE_CALLS - 1)

static uint64_t fastest(const uint64_t *last)
{
    uint64_t least = last[0];
    for (unsigned i = 1; i < LAST; i++)
        least = last[i] < least ? last[i] : least;
    return least;
}

static DNET_COLD void trial_ends(dnet_choice_t *c)
{
    if (fastest(c->last[true]) < fastest(c->last[false])) {
        c->second = !c->second;
        c->pause = DNET_CHOICE_PAUSE;
    } else {
        c->pause = c->pause ? c->pause * 2 : DNET_CHOICE_PAUSE;
        c->pause = c->pause < DNET_CHOICE_PAUSE_MOST ? c->pause : DNET_CHOICE_PAUSE_MOST;
    }
}

void dnet_choice_took(dnet_choice_t *c, size_t bytes, uint64_t ns)
{
    /* Of a trial the last call comes where the first was. */
    c->last[c->tries][c->calls++ % LAST] = (uint64_t) ((double) ns / (double) bytes * (1 << 20));
    if (c->calls < (c->tries || !c->pause ? DNET_CHOICE_CALLS : c->pause))
        return;
    if (c->tries)
        trial_ends(c);
    c->tries = !c->tries;
    c->calls = 0;
}
