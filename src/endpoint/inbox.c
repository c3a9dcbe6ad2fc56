/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/inbox.h"

#include <stdlib.h>

dnet_ep_message_t *dnet_message_new(dnet_ep_t *ep, uint64_t envelope, size_t len, size_t room)
{
    size_t bytes = dnet_message_bytes(room);
    dnet_ep_message_t *m = ep->inbox.messages_free;
    if (bytes == DNET_MESSAGE_SMALL && m) {
        ep->inbox.messages_free = m->next_free;
    } else if (!(m = malloc(bytes))) {
        dnet_error("no memory for an unexpected message of %zu bytes; %llu bytes are kept already",
                   room, (unsigned long long) ep->page.unexpected_bytes);
        abort();
    }
    DNET_TRACE(unexpected, 0, 0, room);
    *m = (dnet_ep_message_t){.match.envelope = envelope, .len = len, .room = room};
    ep->page.counters.unexpected++;
    ep->page.unexpected_bytes += bytes;
    if (ep->page.unexpected_bytes > ep->page.counters.unexpected_bytes_max)
        ep->page.counters.unexpected_bytes_max = ep->page.unexpected_bytes;
    if (ep->inbox.unexpected_fn)
        ep->inbox.unexpected_fn(envelope, len, true);
    return m;
}

void dnet_message_free(dnet_ep_t *ep, dnet_ep_message_t *m)
{
    size_t bytes = dnet_message_bytes(m->room);
    ep->page.unexpected_bytes -= bytes;
    if (ep->inbox.unexpected_fn)
        ep->inbox.unexpected_fn(m->match.envelope, m->len, false);
    if (bytes == DNET_MESSAGE_SMALL) {
        m->next_free = ep->inbox.messages_free;
        ep->inbox.messages_free = m;
    } else {
        free(m);
    }
}

dnet_ep_message_t *dnet_message_new_rts(dnet_ep_t *ep, const dnet_ep_head_t *head,
                                        uint64_t envelope)
{
    dnet_ep_message_t *m = dnet_message_new(ep, envelope, head->length, 0);
    m->kind = DNET_MESSAGE_RTS;
    m->rank = head->rank;
    m->op = head->op;
    m->fetch_addr = head->arg;
    return m;
}

dnet_assembly_t *dnet_assembly_new(dnet_ep_t *ep)
{
    dnet_assembly_t *a = ep->inbox.assemblies_free;
    if (a) {
        ep->inbox.assemblies_free = a->next;
    } else if (!(a = malloc(sizeof(*a)))) {
        dnet_error("no memory for a message in several packets");
        abort();
    }
    return a;
}

void dnet_assembly_free(dnet_ep_t *ep, dnet_assembly_t *a)
{
    a->next = ep->inbox.assemblies_free;
    ep->inbox.assemblies_free = a;
}

bool dnet_inbox_is_receiving(const dnet_ep_t *ep, uint32_t peer)
{
    const dnet_assembly_t *a = ep->inbox.assemblies;
    while (a && (a->rank != peer || (a->message && !a->message->req)))
        a = a->next;
    return a;
}

/* What never found its receive. */
static void free_kept(dnet_ep_t *ep)
{
    dnet_match_t *m = &ep->inbox.match;
    for (unsigned b = 0; b < DNET_MATCH_BINS; b++) {
        while (m->unexpected[b].next != &m->unexpected[b]) {
            dnet_match_item_t *item = (dnet_match_item_t *) (void *) m->unexpected[b].next;
            dnet_match_drop(m, item);
            free(item);
        }
    }
}

void dnet_inbox_free(dnet_ep_t *ep)
{
    while (ep->inbox.assemblies) {
        dnet_assembly_t *a = ep->inbox.assemblies;
        ep->inbox.assemblies = a->next;
        if (a->message && a->message->req) /* which has been claimed */
            free(a->message);
        free(a);
    }
    free_kept(ep);
    while (ep->inbox.messages_free) {
        dnet_ep_message_t *m = ep->inbox.messages_free;
        ep->inbox.messages_free = m->next_free;
        free(m);
    }
    while (ep->inbox.assemblies_free) {
        dnet_assembly_t *a = ep->inbox.assemblies_free;
        ep->inbox.assemblies_free = a->next;
        free(a);
    }
    free(ep->inbox.scratch);
}
