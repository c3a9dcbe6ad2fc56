/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "endpoint/inbox.h"
#include "endpoint/op.h"

static atomic_bool dump_wanted; /* lock-free: written by a signal handler */

static void on_signal(int number)
{
    (void) number;
    atomic_store_explicit(&dump_wanted, true, memory_order_relaxed);
}

bool dnet_dump_wanted(void)
{
    return atomic_load_explicit(&dump_wanted, memory_order_relaxed);
}

void dnet_dump_arm(void)
{
    struct sigaction old;
    if (sigaction(SIGUSR2, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
        return; /* the application has plans of its own */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
}

/* Where lines go, and whose they are: each carries the rank, because those of several ranks mix. */
typedef struct {
    FILE *out;
    uint32_t rank;
} target_t;

static void print_envelope(FILE *out, uint64_t envelope, uint64_t mask)
{
    fprintf(out, "context %" PRIu64, (uint64_t) DNET_GET(envelope, LH_CONTEXT));
    if (mask & DNET_MASK(LH_RANK))
        fprintf(out, " from %" PRIu32, dnet_ep_envelope_rank(envelope));
    else
        fprintf(out, " from any");
    if (mask & 0xffff)
        fprintf(out, " tag %" PRIu32, dnet_ep_envelope_tag(envelope));
    else
        fprintf(out, " any tag");
}

static void print_item(void *arg, const dnet_match_item_t *item, bool posted)
{
    const target_t *to = arg;
    FILE *out = to->out;
    fprintf(out, "dimmnet[rank %" PRIu32 "]   %s: ", to->rank,
            posted ? "receive waits for" : "unexpected message");
    print_envelope(out, item->envelope, posted ? item->mask : DNET_MATCH_BITS);
    if (posted)
        fprintf(out, ", room for %zu bytes\n", ((const dnet_ep_request_t *) item)->cap_bytes);
    else
        fprintf(out, ", %zu bytes\n", ((const dnet_ep_message_t *) item)->len);
}

static void print_op(const target_t *to, const dnet_op_t *op)
{
    FILE *out = to->out;
    static const char *const states[] = {
        [DNET_OP_FREE] = "free",
        [DNET_OP_PACKETS] = "waits in the queue",
        [DNET_OP_ACK_WAIT] = "waits for the receive to be posted (synchronous)",
        [DNET_OP_CTS_WAIT] = "waits for the receive to be posted (rendezvous)",
        [DNET_OP_STORED] = "rendezvous, waits for room in the status ring",
        [DNET_OP_STAGED] = "rendezvous, chunks under way",
        [DNET_OP_FETCH_WAIT] = "rendezvous, waits until the receiver has fetched its half",
    };
    fprintf(out, "dimmnet[rank %" PRIu32 "]   send to rank %" PRIu32 ": ", to->rank, op->peer);
    print_envelope(out, op->envelope, DNET_MATCH_BITS);
    fprintf(out, ", %zu of %zu bytes sent, %s\n", op->off, op->len, states[op->state]);
}

void dnet_ep_dump(dnet_ep_t *ep, FILE *out)
{
    target_t to = {out, ep->rank};
    fprintf(out,
            "dimmnet[rank %" PRIu32 "] state: %" PRIu32 " receives posted, %" PRIu32
            " messages unexpected, %" PRIu32 " sends under way, %" PRIu32
            " peers with a queue, %" PRIu32 " senders stopped here\n",
            ep->rank, ep->inbox.match.posted_count, ep->inbox.match.unexpected_count,
            ep->ops.active, ep->tx.open_channels, ep->receiver.stopped.count);
    for (uint32_t r = 0; ep->tx.open_channels && r < ep->size; r++)
        if (ep->peers[r].channel)
            fprintf(out,
                    "dimmnet[rank %" PRIu32 "]   stopped by rank %" PRIu32
                    ", wait for its resend request\n",
                    ep->rank, r);
    dnet_match_walk(&ep->inbox.match, print_item, &to);
    for (uint32_t i = 0; i < ep->ops.cap; i++)
        if (ep->ops.by_id[i]->state != DNET_OP_FREE)
            print_op(&to, ep->ops.by_id[i]);
    fflush(out);
}

void dnet_dump_now(dnet_ep_t *ep)
{
    atomic_store_explicit(&dump_wanted, false, memory_order_relaxed);
    const char *name = ep->options.dump_file;
    char path[4096];
    if (name && strstr(name, "%r") &&
        dnet_options_rank_path("DIMMNET_DUMP", name, ep->rank, ep->size, path, sizeof(path)) ==
            DNET_OK)
        name = path;
    FILE *out = name ? fopen(name, "a") : NULL;
    if (name && !out)
        dnet_error("DIMMNET_DUMP: cannot open %s: %m", name);
    dnet_ep_dump(ep, out ? out : stderr);
    if (out)
        fclose(out);
}
