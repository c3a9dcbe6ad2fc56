/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/retry.h"

#include "endpoint/channel.h"
#include "endpoint/defer_send.h"
#include "endpoint/guests.h"

void dnet_retry_due(dnet_ep_t *ep, uint64_t now_ns)
{
    if (ep->stalled)
        return;
    ep->tx.retry_ns = UINT64_MAX;
    for (uint32_t peer = 0; peer < dnet_peers_end(ep); peer++) {
        dnet_channel_t *ch = ep->peers[peer].channel;
        if (!ch || dnet_fc_sender_may_send(&ch->sender))
            continue;
        if (ch->retry_ns <= now_ns) {
            dnet_channel_retry(ep, ch);
            dnet_defer_flush(ep, ch);
        } else if (ch->retry_ns < ep->tx.retry_ns) {
            ep->tx.retry_ns = ch->retry_ns;
        }
    }
}

uint32_t dnet_retry_sleep_us(const dnet_ep_t *ep, uint32_t most_us)
{
    if (ep->stalled)
        return 1; /* only this process can let its NIC go on */
    uint64_t now = dnet_clock_ns();
    if (!(ep->flow_turns || ep->tx.open_channels) || ep->tx.retry_ns >= now + most_us * 1000ull)
        return most_us;
    return ep->tx.retry_ns > now ? (uint32_t) ((ep->tx.retry_ns - now) / 1000) + 1 : 1;
}
