/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partners of the ranks of a program (replay.h).
 */
#include <stdlib.h>

#include "replay/replay.h"

/* The channels some message is sent in, in order of destination and source. */
static int by_destination(const void *a, const void *b)
{
    const dnet_replay_channel_t *x = *(const dnet_replay_channel_t *const *) a;
    const dnet_replay_channel_t *y = *(const dnet_replay_channel_t *const *) b;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    return (x->src > y->src) - (x->src < y->src);
}

static uint32_t used_channels(const dnet_replay_program_t *program,
                              const dnet_replay_channel_t **used, dnet_replay_partners_t *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < program->ranks; i++)
        for (uint32_t k = 0; k < program->rank[i].count; k++) {
            const dnet_replay_call_t *call = &program->rank[i].call[k];
            if (call->kind != DNET_REPLAY_SEND)
                continue;
            p->messages++;
            p->bytes += call->amount;
            used[call->where] = &program->channel[call->where];
        }
    for (uint32_t c = 0; c < program->channels; c++)
        if (used[c] != NULL && used[c]->src != used[c]->dst)
            used[n++] = used[c];
    return n;
}

dnet_status_t dnet_replay_partners(const dnet_replay_program_t *program,
                                   dnet_replay_partners_t *partners_p)
{
    dnet_replay_partners_t p = {.least = UINT32_MAX};
    uint32_t *partners = calloc(program->ranks, sizeof(*partners));
    const dnet_replay_channel_t **used = calloc(program->channels + 1, sizeof(*used));
    if (partners == NULL || used == NULL) {
        free(partners);
        free(used);
        return DNET_ERR_NO_MEMORY;
    }
    uint32_t n = used_channels(program, used, &p);
    qsort(used, n, sizeof(*used), by_destination);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || by_destination(&used[i - 1], &used[i]) != 0)
            partners[used[i]->dst]++;
    for (uint32_t i = 0; i < program->ranks; i++) {
        p.mean += (double) partners[i] / program->ranks;
        p.least = partners[i] < p.least ? partners[i] : p.least;
        if (partners[i] > p.most) {
            p.most = partners[i];
            p.most_rank = i;
        }
    }
    free(partners);
    free(used);
    *partners_p = p;
    return DNET_OK;
}
