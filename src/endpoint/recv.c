/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of receiving and probing.
 */
#include <string.h>

#include "endpoint/channel.h"
#include "endpoint/defer_recv.h"
#include "endpoint/inbox.h"
#include "endpoint/rndv_recv.h"

/* Give a message to a receive.  The message is used up. */
static dnet_status_t deliver(dnet_ep_t *ep, dnet_ep_message_t *m, dnet_ep_request_t *req)
{
    switch (m->kind) {
        case DNET_MESSAGE_WHOLE:
            dnet_request_result(ep, req, m->match.envelope, m->len);
            if (req->len_bytes) /* else there may be no buffer */
                memcpy(req->buf, m->data, req->len_bytes);
            dnet_count_received(ep, m->len);
            if (m->sync)
                dnet_send_ack(ep, m->rank, m->op);
            dnet_message_free(ep, m);
            return dnet_request_status(req);
        case DNET_MESSAGE_PARTIAL:
            m->req = req;
            return DNET_IN_PROGRESS;
        case DNET_MESSAGE_RTS: {
            dnet_ep_head_t head = {
                .rank = m->rank, .op = m->op, .arg = m->fetch_addr, .length = m->len};
            dnet_ep_origin_t origin = m->origin;
            uint64_t envelope = m->match.envelope;
            dnet_message_free(ep, m);
            dnet_request_result(ep, req, envelope, head.length);
            dnet_rndv_recv_message(ep, &head, &origin, req);
            return DNET_IN_PROGRESS;
        }
    }
    return DNET_ERR_STATE;
}

static inline void post(dnet_ep_t *ep, uint64_t envelope, uint64_t mask, dnet_ep_request_t *req)
{
    req->match.envelope = envelope;
    req->match.mask = mask;
    req->waits_in = DNET_WAITS_IN_POSTED;
    dnet_match_post(&ep->inbox.match, &req->match);
}

/* There may be a message already, here or at a sender that is held back. */
static __attribute__((noinline)) dnet_status_t take_or_post(dnet_ep_t *ep, uint64_t envelope,
                                                            uint64_t mask, dnet_ep_request_t *req)
{
    DNET_TRACE(recv, 0, envelope, req->cap_bytes);
    dnet_match_item_t *item = dnet_match_take(&ep->inbox.match, envelope, mask);
    if (item)
        return deliver(ep, (dnet_ep_message_t *) item, req);
    post(ep, envelope, mask, req);
    if (DNET_UNLIKELY(ep->holding))
        dnet_defer_want(ep, req);
    return DNET_IN_PROGRESS;
}

dnet_status_t dnet_ep_recv(dnet_ep_t *ep, uint64_t envelope, uint64_t mask, void *buf, size_t len,
                           dnet_ep_request_t *req)
{
    req->buf = buf;
    req->cap_bytes = len;
    if (ep->inbox.match.unexpected_count || DNET_UNLIKELY(ep->holding) ||
        DNET_UNLIKELY(dnet_trace_on(DNET_TRACE_recv)))
        return take_or_post(ep, envelope, mask, req);
    post(ep, envelope, mask, req);
    return DNET_IN_PROGRESS;
}

bool dnet_ep_cancel_recv(dnet_ep_t *ep, dnet_ep_request_t *req)
{
    if (req->waits_in == DNET_WAITS_IN_NONE)
        return false;
    if (req->waits_in == DNET_WAITS_IN_PULLS)
        dnet_defer_unwant(ep, req);
    req->waits_in = DNET_WAITS_IN_NONE;
    dnet_match_withdraw(&ep->inbox.match, &req->match);
    return true;
}

dnet_status_t dnet_ep_probe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask,
                            dnet_ep_probe_t *probe_p)
{
    const dnet_probe_t *held;
    dnet_match_item_t *item = dnet_match_peek(&ep->inbox.match, envelope, mask);
    if (item) {
        *probe_p = (dnet_ep_probe_t){item->envelope, ((dnet_ep_message_t *) item)->len};
        return DNET_OK;
    }
    if (DNET_LIKELY(!ep->holding) || !(held = dnet_defer_probe(ep, envelope, mask)))
        return DNET_NOT_FOUND;
    *probe_p = (dnet_ep_probe_t){held->message.envelope, held->message.length};
    return DNET_OK;
}

static dnet_ep_message_t *take_held(dnet_ep_t *ep, uint64_t envelope, uint64_t mask)
{
    const dnet_probe_t *held = dnet_defer_probe(ep, envelope, mask);
    if (!held)
        return NULL;
    dnet_ep_head_t head = {.rank = held->rank,
                           .op = held->message.op,
                           .arg = held->message.arg,
                           .length = held->message.length};
    uint64_t found = held->message.envelope;
    if (!dnet_defer_take(ep, held))
        return NULL;
    dnet_ep_message_t *m = dnet_message_new_rts(ep, &head, found);
    dnet_defer_if_full(ep, found);
    return m;
}

dnet_status_t dnet_ep_mprobe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask,
                             dnet_ep_probe_t *probe_p, dnet_ep_message_t **message_p)
{
    dnet_ep_message_t *m = (dnet_ep_message_t *) dnet_match_take(&ep->inbox.match, envelope, mask);
    if (!m && DNET_UNLIKELY(ep->holding))
        m = take_held(ep, envelope, mask);
    if (!m)
        return DNET_NOT_FOUND;
    *message_p = m;
    *probe_p = (dnet_ep_probe_t){m->match.envelope, m->len};
    return DNET_OK;
}

dnet_status_t dnet_ep_mrecv(dnet_ep_t *ep, dnet_ep_message_t *message, void *buf, size_t len,
                            dnet_ep_request_t *req)
{
    req->buf = buf;
    req->cap_bytes = len;
    return deliver(ep, message, req);
}
