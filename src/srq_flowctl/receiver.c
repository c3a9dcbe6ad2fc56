/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving process: which senders are stopped, and how much each is granted when room comes
 * (8.3 to 8.6).
 *
 * A sender has a record only from its STOP to the end of its grant.  A record is in one of two
 * lists: `stopped`, in order of stopping, or `granted`, in order of expiry (every grant lasts
 * equally long, so that is the order of the last arrival).  Records are found by sender through
 * hash chains.
 */
#include <stdlib.h>

#include "srq_flowctl/srq_flowctl.h"

#define NONE UINT32_MAX
#define CAPACITY_MIN 16u

struct dnet_fc_record {
    dnet_fc_peer_t peer;
    uint32_t chain;      /* next of the same bucket, or of the free records */
    uint32_t next, prev; /* in its list */
    uint32_t need_bytes; /* of the packet that was dropped */
    uint8_t credits;     /* packets still reserved; 0: in the stopped list */
    uint8_t repeats;     /* RESENDs that may still be repeated */
    uint64_t deadline_ns;
};

static uint32_t *bucket_of(const dnet_fc_receiver_t *r, dnet_fc_peer_t peer)
{
    /* 2^32 / golden ratio: the upper half of the product differs for neighbouring LIDs. */
    uint32_t key = ((uint32_t) peer.wid << 16 | peer.lid) * 0x9e3779b9u;
    return &r->bucket[(key >> 16) & (r->capacity - 1)];
}

static uint32_t find(const dnet_fc_receiver_t *r, dnet_fc_peer_t peer)
{
    if (r->capacity == 0)
        return NONE;
    uint32_t i = *bucket_of(r, peer);
    while (i != NONE && (r->record[i].peer.lid != peer.lid || r->record[i].peer.wid != peer.wid))
        i = r->record[i].chain;
    return i;
}

static void list_append(dnet_fc_receiver_t *r, dnet_fc_list_t *list, uint32_t i)
{
    r->record[i].next = NONE;
    r->record[i].prev = list->last;
    if (list->last != NONE)
        r->record[list->last].next = i;
    else
        list->first = i;
    list->last = i;
    list->count++;
}

static void list_prepend(dnet_fc_receiver_t *r, dnet_fc_list_t *list, uint32_t i)
{
    r->record[i].prev = NONE;
    r->record[i].next = list->first;
    if (list->first != NONE)
        r->record[list->first].prev = i;
    else
        list->last = i;
    list->first = i;
    list->count++;
}

static void list_remove(dnet_fc_receiver_t *r, dnet_fc_list_t *list, uint32_t i)
{
    const dnet_fc_record_t *rec = &r->record[i];
    if (rec->prev != NONE)
        r->record[rec->prev].next = rec->next;
    else
        list->first = rec->next;
    if (rec->next != NONE)
        r->record[rec->next].prev = rec->prev;
    else
        list->last = rec->prev;
    list->count--;
}

static void chain_in(dnet_fc_receiver_t *r, uint32_t i)
{
    uint32_t *bucket = bucket_of(r, r->record[i].peer);
    r->record[i].chain = *bucket;
    *bucket = i;
}

/* Room for `capacity` records, of which the first `used` are in use. */
static bool resize(dnet_fc_receiver_t *r, uint32_t capacity, uint32_t used)
{
    uint32_t *bucket = malloc(capacity * sizeof(*bucket));
    if (bucket == NULL)
        return false;
    dnet_fc_record_t *record = realloc(r->record, capacity * sizeof(*record));
    if (record == NULL) {
        free(bucket);
        return false;
    }
    free(r->bucket);
    r->record = record;
    r->bucket = bucket;
    r->capacity = capacity;
    r->unused = NONE;
    for (uint32_t i = 0; i < capacity; i++)
        bucket[i] = NONE;
    for (uint32_t i = capacity; i-- > used;) {
        record[i].chain = r->unused;
        r->unused = i;
    }
    for (uint32_t i = 0; i < used; i++)
        chain_in(r, i);
    return true;
}

static void record_free(dnet_fc_receiver_t *r, uint32_t i)
{
    uint32_t *at = bucket_of(r, r->record[i].peer);
    while (*at != i)
        at = &r->record[*at].chain;
    *at = r->record[i].chain;
    r->record[i].chain = r->unused;
    r->unused = i;
    /* A flood is over: its memory goes back.  Shrinking cannot lose anything, so failing is
     * harmless. */
    if (!dnet_fc_receiver_pending(r) && r->capacity > CAPACITY_MIN)
        resize(r, CAPACITY_MIN, 0);
}

/* Give back what is left of a grant.  The record is in no list afterwards. */
static void release(dnet_fc_receiver_t *r, uint32_t i)
{
    r->reserved_slots -= r->record[i].credits;
    r->reserved_bytes -= (uint64_t) r->record[i].credits * r->record[i].need_bytes;
    r->record[i].credits = 0;
    list_remove(r, &r->granted, i);
}

dnet_fc_receiver_config_t dnet_fc_receiver_defaults(uint32_t slots, uint32_t senders)
{
    return (dnet_fc_receiver_config_t){
        .slots = slots,
        .senders = senders,
        .grant_least = 1,
        .grant_max = 8,
        .headroom = slots / 8,
        .repeats = 0,
        .grant_ns = 10 * 1000 * 1000,
    };
}

dnet_status_t dnet_fc_receiver_init(dnet_fc_receiver_t *r, const dnet_fc_receiver_config_t *config,
                                    const dnet_fc_receiver_ops_t *ops, void *arg)
{
    if (config->slots == 0 || config->headroom >= config->slots || config->grant_least == 0 ||
        config->grant_max < config->grant_least || config->grant_max > UINT8_MAX ||
        config->repeats > UINT8_MAX || config->grant_ns == 0)
        return DNET_ERR_ARGUMENT;
    *r = (dnet_fc_receiver_t){
        .ops = ops,
        .arg = arg,
        .config = *config,
        .unused = NONE,
        .stopped = {NONE, NONE, 0},
        .granted = {NONE, NONE, 0},
    };
    return DNET_OK;
}

void dnet_fc_receiver_fini(dnet_fc_receiver_t *r)
{
    free(r->record);
    free(r->bucket);
    r->record = NULL;
    r->bucket = NULL;
    r->capacity = 0;
    r->unused = NONE;
    r->stopped = (dnet_fc_list_t){NONE, NONE, 0};
    r->granted = (dnet_fc_list_t){NONE, NONE, 0};
    r->reserved_slots = 0;
    r->reserved_bytes = 0;
}

dnet_status_t dnet_fc_receiver_stopped(dnet_fc_receiver_t *r, dnet_fc_peer_t peer,
                                       uint32_t need_bytes)
{
    uint32_t i = find(r, peer);
    if (i == NONE) {
        if (r->unused == NONE &&
            !resize(r, r->capacity != 0 ? 2 * r->capacity : CAPACITY_MIN, r->capacity))
            return DNET_ERR_NO_MEMORY;
        i = r->unused;
        r->unused = r->record[i].chain;
        r->record[i] = (dnet_fc_record_t){.peer = peer};
        chain_in(r, i);
        list_append(r, &r->stopped, i);
        r->stats.stops++;
    } else if (r->record[i].credits != 0 && r->config.uncounted) {
        release(r, i);
        list_append(r, &r->stopped, i);
        r->stats.stops++;
    } else if (r->record[i].credits != 0) {
        /* It has had no turn yet: the end of the queue would let running senders starve it. */
        release(r, i);
        list_prepend(r, &r->stopped, i);
        r->stats.stops++;
        r->stats.robbed++;
    }
    r->record[i].need_bytes = need_bytes;
    if (r->stopped.count > r->stats.stopped_max)
        r->stats.stopped_max = r->stopped.count;
    return DNET_OK;
}

void dnet_fc_receiver_count_arrival(dnet_fc_receiver_t *r, dnet_fc_peer_t peer, bool last,
                                    uint64_t now_ns)
{
    uint32_t i = find(r, peer);
    if (i == NONE || r->record[i].credits == 0)
        return;
    dnet_fc_record_t *rec = &r->record[i];
    if (last || rec->credits == 1) {
        release(r, i);
        record_free(r, i);
        return;
    }
    rec->credits--;
    r->reserved_slots--;
    r->reserved_bytes -= rec->need_bytes;
    rec->repeats = (uint8_t) r->config.repeats;
    rec->deadline_ns = now_ns + r->config.grant_ns;
    list_remove(r, &r->granted, i);
    list_append(r, &r->granted, i);
}

/* Repeat or take back the grants of which nothing came in time. */
static void expire(dnet_fc_receiver_t *r, uint64_t now_ns)
{
    while (r->granted.count != 0 && r->record[r->granted.first].deadline_ns <= now_ns) {
        uint32_t i = r->granted.first;
        dnet_fc_record_t *rec = &r->record[i];
        dnet_fc_peer_t peer = rec->peer;
        if (rec->repeats != 0) {
            rec->repeats--;
            rec->deadline_ns = now_ns + r->config.grant_ns;
            list_remove(r, &r->granted, i);
            list_append(r, &r->granted, i);
            r->stats.repeats++;
            r->ops->resend(r->arg, peer, rec->credits, true);
            continue;
        }
        /* The sender is busy, not dead (D5): its RESEND stays valid, its buffers do not wait. */
        release(r, i);
        record_free(r, i);
        r->stats.expired++;
        if (r->ops->revoke != NULL)
            r->ops->revoke(r->arg, peer);
    }
}

/* Grant up to `credits` packets to the head of the queue; false: not now. */
static bool grant_head(dnet_fc_receiver_t *r, uint32_t credits, uint32_t free_slots,
                       uint64_t free_bytes, uint64_t now_ns)
{
    uint32_t i = r->stopped.first;
    dnet_fc_record_t *rec = &r->record[i];
    uint64_t own = r->ops->own_bytes ? r->ops->own_bytes(r->arg, rec->peer) : DNET_FC_SHARED;
    uint64_t unreserved = free_bytes > r->reserved_bytes ? free_bytes - r->reserved_bytes : 0;
    if (own != DNET_FC_SHARED)
        unreserved = own;
    if (rec->need_bytes != 0 && unreserved / rec->need_bytes < credits)
        credits = (uint32_t) (unreserved / rec->need_bytes);
    if (credits == 0) {
        /* With every buffer free there is nothing to wait for, whatever the packet needs. */
        if (free_slots < r->config.slots || r->granted.count != 0)
            return false;
        credits = 1;
    }
    if (own != DNET_FC_SHARED)
        rec->need_bytes = 0; /* nothing of the shared ring is reserved */
    /* The record leaves the queue before the RESEND goes out, so that a new STOP finds it granted.
     */
    list_remove(r, &r->stopped, i);
    list_append(r, &r->granted, i);
    rec->credits = (uint8_t) credits;
    rec->repeats = (uint8_t) r->config.repeats;
    rec->deadline_ns = now_ns + r->config.grant_ns;
    r->reserved_slots += credits;
    r->reserved_bytes += (uint64_t) credits * rec->need_bytes;

    dnet_fc_peer_t peer = rec->peer;
    dnet_status_t status = r->ops->resend(r->arg, peer, credits, false);
    if (status == DNET_OK) {
        r->stats.grants++;
        return true;
    }
    i = find(r, peer);
    release(r, i);
    if (status == DNET_NO_RESOURCE) {
        list_prepend(r, &r->stopped, i);
        return false;
    }
    record_free(r, i);
    return true;
}

unsigned dnet_fc_receiver_room(dnet_fc_receiver_t *r, uint32_t free_slots, uint64_t free_bytes,
                               uint64_t now_ns)
{
    expire(r, now_ns);
    if (r->stopped.count == 0 || free_slots <= r->reserved_slots)
        return 0;
    uint32_t unreserved = free_slots - r->reserved_slots;
    bool all_here =
        r->config.senders != 0 && r->stopped.count + r->granted.count >= r->config.senders;
    uint32_t headroom = all_here ? 0 : r->config.headroom;
    uint32_t available = unreserved > headroom ? unreserved - headroom : 1; /* a of 8.6 */
    uint32_t senders = available / r->config.grant_least;                   /* n */
    if (senders == 0)
        senders = 1;
    if (senders > r->stopped.count)
        senders = r->stopped.count;
    uint32_t credits = available / senders; /* g */
    if (credits > r->config.grant_max)
        credits = r->config.grant_max;
    uint64_t grants = r->stats.grants;
    while (senders-- != 0 && grant_head(r, credits, free_slots, free_bytes, now_ns))
        ;
    return (unsigned) (r->stats.grants - grants);
}

uint64_t dnet_fc_receiver_deadline(const dnet_fc_receiver_t *r)
{
    return r->granted.count != 0 ? r->record[r->granted.first].deadline_ns : UINT64_MAX;
}

void dnet_fc_receiver_forget(dnet_fc_receiver_t *r, dnet_fc_peer_t peer)
{
    uint32_t i = find(r, peer);
    if (i == NONE)
        return;
    if (r->record[i].credits != 0)
        release(r, i);
    else
        list_remove(r, &r->stopped, i);
    record_free(r, i);
}

void dnet_fc_receiver_walk(const dnet_fc_receiver_t *r,
                           void (*fn)(void *arg, dnet_fc_peer_t peer, unsigned credits), void *arg)
{
    for (uint32_t i = r->stopped.first; i != NONE; i = r->record[i].next)
        fn(arg, r->record[i].peer, 0);
    for (uint32_t i = r->granted.first; i != NONE; i = r->record[i].next)
        fn(arg, r->record[i].peer, r->record[i].credits);
}

size_t dnet_fc_receiver_bytes(const dnet_fc_receiver_t *r)
{
    return r->capacity * (sizeof(*r->record) + sizeof(*r->bucket));
}
