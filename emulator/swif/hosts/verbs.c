/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plug to InfiniBand and RoCE by libibverbs: messages by reliable connections (verbs_connect.c),
 * into one shared receive queue of the process.  The library is loaded when a job spans hosts.
 *
 * A message is copied into a registered slot, or goes inline, and is reported as sent when the
 * peer's adapter has acknowledged it.  A queue pair that fails reports what was under way as not
 * sent, and another one is made for the next message.  A receive buffer is offered again once its
 * message has been handed over; where there are many, at the next poll that finds nothing, so that
 * no message waits for that.  Should they run out all the same, the adapters wait for one another
 * (RNR) as long as it takes.
 */
#include "config.h"

#include "emulator/swif/hosts/plug.h"

#include <stdio.h>

#ifdef HAVE_STRUCT_IBV_GID_ENTRY

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"
#include "emulator/swif/hosts/verbs_end.h"

/*
 * Receive buffers, whatever the number of peers (flow control specification, equation 2): what
 * comes at the link's rate between two polls, and a burst, the window of one sender.
 */
#define POLL_US 50u
#define BURST 64u
#define EAGER_BYTES 8192u /* above that an adapter's read costs less than the copies */
/* Bytes of a read, most: of a longer one nothing would be seen of its going on for too long
 * (verbs_connect.c). */
#define READ_BYTES 8388608u
#define OTHER_EVENTS (VERBS_TX + 2 * VERBS_UD) /* completions but those of receive buffers */
#define EVENTS_EVERY 1024u /* polls, after which the device's events are looked at */

/* ---- a port ---- */

static void verbs_close(dnet_emu_plug_end_t *e)
{
    while (e->peers) {
        dnet_emu_verbs_peer_t *p = e->peers;

        e->peers = p->next;
        if (p->qp)
            e->lib.destroy_qp(p->qp);
        if (p->ah)
            e->lib.destroy_ah(p->ah);
        free(p);
    }
    if (e->ud)
        e->lib.destroy_qp(e->ud);
    if (e->srq)
        e->lib.destroy_srq(e->srq);
    if (e->cq)
        e->lib.destroy_cq(e->cq);
    if (e->channel)
        e->lib.destroy_comp_channel(e->channel);
    dnet_emu_verbs_memory_close(e->first); /* it may be registered here, too */
    if (e->mr)
        e->lib.dereg_mr(e->mr);
    if (e->pd)
        e->lib.dealloc_pd(e->pd);
    if (e->port.context)
        e->lib.close_device(e->port.context);
    if (e->wait_fd >= 0)
        close(e->wait_fd);
    if (e->slab)
        munmap(e->slab, e->slab_bytes);
    free(e);
}

static uint32_t buffers_for(const dnet_emu_plug_end_t *e, const dnet_emu_port_config_t *config,
                            const struct ibv_device_attr *device)
{
    uint64_t bytes = (uint64_t) e->port.mbits_per_s * POLL_US / 8;
    uint32_t n = config->buffers ? config->buffers
                                 : (uint32_t) ((bytes + VERBS_BYTES - 1) / VERBS_BYTES) + BURST;

    if (n > (uint32_t) device->max_srq_wr)
        n = (uint32_t) device->max_srq_wr;
    /* All of them complete in one queue. */
    if (device->max_cqe > (int) OTHER_EVENTS && n > (uint32_t) device->max_cqe - OTHER_EVENTS)
        n = (uint32_t) device->max_cqe - OTHER_EVENTS;
    return n;
}

/* Reads under way at once, of a device's limit. */
static uint8_t reads_for(int most)
{
    return most < 1 ? 1 : most > (int) VERBS_READS ? VERBS_READS : (uint8_t) most;
}

/* Buffers that the adapter reads and writes.  A child process does not get it: what the parent
 * then writes would go to a copy. */
static bool make_slab(dnet_emu_plug_end_t *e)
{
    uint8_t *at;

    e->slab_bytes =
        (size_t) (e->buffers + VERBS_TX) * VERBS_BYTES + (size_t) 2 * VERBS_UD * VERBS_UD_BYTES;
    at = mmap(NULL, e->slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        dnet_error("no memory for a port: %zu bytes needed", e->slab_bytes);
        return false;
    }
    (void) madvise(at, e->slab_bytes, MADV_DONTFORK);
    e->slab = e->rx = at;
    e->tx_slots = e->rx + (size_t) e->buffers * VERBS_BYTES;
    e->ud_rx = e->tx_slots + (size_t) VERBS_TX * VERBS_BYTES;
    e->ud_tx = e->ud_rx + (size_t) VERBS_UD * VERBS_UD_BYTES;
    return true;
}

static bool register_slab(dnet_emu_plug_end_t *e)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    int error;

    e->mr = e->lib.reg_mr(e->pd, e->slab, e->slab_bytes, IBV_ACCESS_LOCAL_WRITE);
    if (e->mr)
        return true;
    error = errno;
    (void) getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && limit.rlim_cur != RLIM_INFINITY)
        dnet_error(
            "verbs: %zu KB of memory cannot be locked: the limit is %zu KB; raise it (ulimit "
            "-l unlimited)",
            e->slab_bytes / 1024, (size_t) limit.rlim_cur / 1024);
    else
        dnet_error("verbs: %s: ibv_reg_mr of %zu KB: %s", e->port.text, e->slab_bytes / 1024,
                   strerror(error));
    return false;
}

/* Offer receive buffers.  @return 0, or an error number */
static int offer(dnet_emu_plug_end_t *e, const uint32_t *buffer, uint32_t count)
{
    struct ibv_sge sge[VERBS_EVENTS];
    struct ibv_recv_wr wr[VERBS_EVENTS], *bad;

    for (uint32_t i = 0; i < count; i++) {
        sge[i] = (struct ibv_sge){.addr = (uintptr_t) (e->rx + (size_t) buffer[i] * VERBS_BYTES),
                                  .length = VERBS_BYTES,
                                  .lkey = e->mr->lkey};
        wr[i] = (struct ibv_recv_wr){.wr_id = dnet_emu_verbs_wr(VERBS_WR_RX, buffer[i]),
                                     .next = i + 1 < count ? &wr[i + 1] : NULL,
                                     .sg_list = &sge[i],
                                     .num_sge = 1};
    }
    return count ? ibv_post_srq_recv(e->srq, wr, &bad) : 0;
}

static int offer_again(dnet_emu_plug_end_t *e)
{
    uint32_t count = e->again_count;

    e->again_count = 0;
    return offer(e, e->again, count);
}

static bool watch(const dnet_emu_plug_end_t *e, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 &&
           epoll_ctl(e->wait_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* @return NULL, or the call that failed; its error in errno */
static const char *make_queues(dnet_emu_plug_end_t *e)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = e->buffers, .max_sge = 1}};
    const char *what;
    uint32_t i = 0;

    e->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    e->channel = e->lib.create_comp_channel(e->port.context);
    if (!e->channel)
        return "ibv_create_comp_channel";
    if (e->wait_fd < 0 || !watch(e, e->channel->fd) || !watch(e, e->port.context->async_fd))
        return "epoll";
    e->cq =
        e->lib.create_cq(e->port.context, (int) (e->buffers + OTHER_EVENTS), NULL, e->channel, 0);
    if (!e->cq)
        return "ibv_create_cq";
    e->srq = e->lib.create_srq(e->pd, &srq);
    if (!e->srq)
        return "ibv_create_srq";
    for (errno = 0; i < e->buffers && errno == 0; i++)
        errno = offer(e, &i, 1);
    if (errno != 0)
        return "ibv_post_srq_recv";
    errno = dnet_emu_verbs_ud_open(e, &what);
    return errno == 0 ? NULL : what;
}

static dnet_status_t open_all(dnet_emu_plug_end_t *e, const dnet_emu_port_config_t *config)
{
    struct ibv_device_attr device;
    const char *what;
    int error = e->lib.query_device(e->port.context, &device);

    if (error) {
        dnet_error("verbs: %s: ibv_query_device: %s", e->port.text, strerror(error));
        return DNET_ERR_SYSTEM;
    }
    e->buffers = buffers_for(e, config, &device);
    e->again_most = e->buffers >= BURST ? VERBS_EVENTS - 1 : 0;
    e->rnr_before = dnet_emu_verbs_rnr(&e->port);
    e->reads = reads_for(device.max_qp_init_rd_atom);
    e->at.reads = reads_for(device.max_qp_rd_atom);
    if (!make_slab(e))
        return DNET_ERR_NO_MEMORY;
    e->pd = e->lib.alloc_pd(e->port.context);
    if (!e->pd) {
        dnet_error("verbs: %s: ibv_alloc_pd: %s", e->port.text, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    if (!register_slab(e))
        return DNET_ERR_SYSTEM;
    what = make_queues(e);
    if (what) {
        dnet_error("verbs: %s: %s: %s", e->port.text, what, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    return DNET_OK;
}

static dnet_status_t verbs_open(const dnet_emu_port_config_t *config, dnet_emu_port_address_t *at,
                                dnet_emu_plug_end_t **end_p)
{
    dnet_emu_plug_end_t *e = calloc(1, sizeof *e);
    dnet_status_t status = DNET_NOT_FOUND;

    if (!e) {
        dnet_error("no memory for a port: %zu bytes needed", sizeof *e);
        return DNET_ERR_NO_MEMORY;
    }
    e->wait_fd = -1;
    e->key = at->key;
    e->first = e->rails[0] = e;
    e->rails_count = 1;
    e->wait_ns = config->wait_s * UINT64_C(1000000000);
    e->inline_bytes = VERBS_INLINE;
    for (uint32_t i = 0; i < VERBS_TX; i++)
        e->tx[i].next = i + 1;
    if (!dnet_emu_verbs_load(&e->lib))
        dnet_error("ranks are on several hosts, and %s is not there or too old: %s", VERBS_LIBRARY,
                   dlerror());
    else
        status = dnet_emu_verbs_choose(&e->lib, config, &e->port);
    if (status == DNET_OK) {
        (void) e->lib.fork_init();
        status = open_all(e, config);
    }
    if (status != DNET_OK) {
        verbs_close(e);
        return status;
    }
    e->at.qpn = e->ud->qp_num;
    e->at.lid = e->port.attr.lid;
    e->at.pkey = e->port.pkey;
    e->at.mtu = e->port.mtu;
    e->at.roce = e->port.roce;
    memcpy(e->at.gid, e->port.gid, sizeof e->at.gid);
    memcpy(at->at, &e->at, sizeof e->at);
    at->bytes = sizeof e->at;
    *end_p = e;
    return DNET_OK;
}

static bool verbs_reach(dnet_emu_plug_end_t *e, const dnet_emu_port_address_t *at, uint64_t *peer_p)
{
    dnet_emu_verbs_at_t there;
    dnet_emu_verbs_peer_t *p;

    memcpy(&there, at->at, sizeof there);
    if (there.roce != e->at.roce) {
        dnet_error("verbs: %s here, and %s there", e->at.roce ? "RoCE" : "InfiniBand",
                   there.roce ? "RoCE" : "InfiniBand");
        return false;
    }
    if (((there.pkey ^ e->at.pkey) & 0x7fff) || !((there.pkey | e->at.pkey) & 0x8000)) {
        dnet_error("verbs: PKEY %#x here and %#x there are no members of one partition that may "
                   "talk to each other",
                   e->at.pkey, there.pkey);
        return false;
    }
    p = dnet_emu_verbs_peer(e, &there, at->key);
    *peer_p = (uintptr_t) p;
    return p;
}

/* The queue pair goes when nothing is under way; the address stays. */
static void verbs_part(dnet_emu_plug_end_t *e, uint64_t peer)
{
    dnet_emu_verbs_disconnect(e, (dnet_emu_verbs_peer_t *) (uintptr_t) peer);
}

/* The IPv4 or global IPv6 address that a RoCE GID is. */
static socklen_t verbs_ip(const dnet_emu_port_address_t *at, struct sockaddr_storage *ip)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    dnet_emu_verbs_at_t there;

    memcpy(&there, at->at, sizeof there);
    if (!there.roce || (there.gid[0] == 0xfe && (there.gid[1] & 0xc0) == 0x80))
        return 0;
    if (dnet_emu_verbs_is_v4(there.gid)) {
        memcpy(&v4.sin_addr, there.gid + 12, sizeof v4.sin_addr);
        memcpy(ip, &v4, sizeof v4);
        return sizeof v4;
    }
    memcpy(&v6.sin6_addr, there.gid, sizeof v6.sin6_addr);
    memcpy(ip, &v6, sizeof v6);
    return sizeof v6;
}

/* ---- messages ---- */

/* Hand a work request to the adapter.  One that it refuses ends the connection: of several rails
 * that is for whoever has the others to know. */
static dnet_status_t post(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p, struct ibv_send_wr *wr,
                          dnet_emu_plug_op_t *op)
{
    uint32_t i = e->tx_free;
    struct ibv_send_wr *bad;
    int error = ibv_post_send(p->qp, wr, &bad);

    if (error) {
        char why[80];

        snprintf(why, sizeof why, "ibv_post_send: %s", strerror(error));
        e->tx[i].tail = NULL;
        dnet_emu_verbs_failed(e, p, why);
        return e->is_rail ? DNET_ERR_DEVICE : DNET_STOPPED;
    }
    e->tx_free = e->tx[i].next;
    e->tx[i].op = op;
    e->tx[i].peer = p;
    p->under_way++;
    return DNET_IN_PROGRESS;
}

static bool may_post(const dnet_emu_plug_end_t *e, const dnet_emu_verbs_peer_t *p)
{
    return p->state == VERBS_READY && e->tx_free != VERBS_TX && p->under_way != VERBS_DEPTH;
}

/* May a request be posted now?  The first one has the peer connected. */
static dnet_status_t get_ready(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p)
{
    if (e->fatal || p->state == VERBS_DEAD)
        return DNET_ERR_DEVICE;
    if (p->state == VERBS_IDLE)
        dnet_emu_verbs_connect(e, p);
    return may_post(e, p) ? DNET_OK : DNET_STOPPED;
}

static dnet_status_t verbs_send(dnet_emu_plug_end_t *e, uint64_t peer, const void *data,
                                uint32_t bytes, dnet_emu_plug_op_t *op)
{
    dnet_emu_verbs_peer_t *p = (dnet_emu_verbs_peer_t *) (uintptr_t) peer;
    uint32_t i = e->tx_free;
    struct ibv_sge sge = {.addr = (uintptr_t) data, .length = bytes, .lkey = e->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = dnet_emu_verbs_wr(VERBS_WR_TX, i),
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
    dnet_status_t status = get_ready(e, p);

    if (status != DNET_OK)
        return status;
    if (bytes <= e->inline_bytes) {
        wr.send_flags |= IBV_SEND_INLINE;
    } else {
        uint8_t *slot = e->tx_slots + (size_t) i * VERBS_BYTES;

        memcpy(slot, data, bytes);
        sge.addr = (uintptr_t) slot;
    }
    return post(e, p, &wr, op);
}

/* A write of no bytes: the peer's adapter answers, whatever its process does. */
static bool verbs_ask(dnet_emu_plug_end_t *e, uint64_t peer)
{
    dnet_emu_verbs_peer_t *p = (dnet_emu_verbs_peer_t *) (uintptr_t) peer;
    struct ibv_send_wr wr = {.wr_id = dnet_emu_verbs_wr(VERBS_WR_TX, e->tx_free),
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    bool answered = p->answered || !p->was_ready;

    p->answered = false;
    if (p->state == VERBS_IDLE)
        dnet_emu_verbs_connect(e, p);
    if (!e->fatal && !p->asking && may_post(e, p))
        p->asking = post(e, p, &wr, NULL) == DNET_IN_PROGRESS;
    return answered;
}

/*
 * A device puts the data of a read in from the first byte to the last, so that a mark at the end
 * tells when it has not put them all in.  The Soft-RoCE driver of Linux 6.1 reports reads as done
 * of which nothing has come, when the other side's interface was down for a second.
 */
static void put_mark(dnet_emu_plug_end_t *e, uint8_t *to, uint64_t bytes)
{
    dnet_emu_verbs_tx_t *tx = &e->tx[e->tx_free];

    if (bytes < sizeof tx->mark)
        return;
    /* The next of a sequence that jumps (Knuth's MMIX): data rarely end with it. */
    e->last_mark = e->last_mark * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    tx->mark = e->last_mark;
    tx->tail = to + bytes - sizeof tx->mark;
    memcpy(tx->tail, &tx->mark, sizeof tx->mark);
}

static bool is_marked(const dnet_emu_verbs_tx_t *tx)
{
    return tx->tail && memcmp(tx->tail, &tx->mark, sizeof tx->mark) == 0;
}

static dnet_status_t verbs_read(dnet_emu_plug_end_t *e, uint64_t peer,
                                const dnet_remote_memory_t *from, void *to, void *held,
                                uint64_t *bytes_p, dnet_emu_plug_op_t *op)
{
    dnet_emu_verbs_peer_t *p = (dnet_emu_verbs_peer_t *) (uintptr_t) peer;
    struct ibv_sge sge = {.addr = (uintptr_t) to, .lkey = dnet_emu_verbs_key(held, e->rail)};
    struct ibv_send_wr wr = {
        .wr_id = dnet_emu_verbs_wr(VERBS_WR_TX, e->tx_free),
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_READ,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = from->address,
                    .rkey = (uint32_t) (from->key[e->rail / 2] >> (e->rail % 2 * 32))}};
    dnet_status_t status = get_ready(e, p);

    if (status != DNET_OK)
        return status;
    if (*bytes_p > READ_BYTES)
        *bytes_p = READ_BYTES;
    if (*bytes_p > e->port.attr.max_msg_sz)
        *bytes_p = e->port.attr.max_msg_sz;
    sge.length = (uint32_t) *bytes_p;
    put_mark(e, to, *bytes_p);
    return post(e, p, &wr, op);
}

/* A message has left, or cannot. */
static void tx_done(dnet_emu_plug_end_t *e, uint32_t i, const char *why,
                    const dnet_emu_plug_events_t *events, void *arg)
{
    dnet_emu_plug_op_t *op = e->tx[i].op;

    e->tx[i].peer->under_way--;
    if (!op)
        e->tx[i].peer->asking = false;
    e->tx[i].op = NULL;
    e->tx[i].peer = NULL;
    e->tx[i].tail = NULL;
    e->tx[i].next = e->tx_free;
    e->tx_free = i;
    if (op)
        events->sent(arg, op, why);
}

static void tx_completed(dnet_emu_plug_end_t *e, uint32_t i, const struct ibv_wc *wc,
                         const dnet_emu_plug_events_t *events, void *arg)
{
    dnet_emu_verbs_peer_t *p = e->tx[i].peer;
    const char *why = wc->status != IBV_WC_SUCCESS ? e->lib.wc_status_str(wc->status)
                      : is_marked(&e->tx[i]) ? "a read has been reported as done without its data"
                                             : NULL;

    if (why) {
        dnet_emu_verbs_failed(e, p, wc->status == IBV_WC_WR_FLUSH_ERR ? NULL : why);
    } else {
        p->failing_ns = 0;
        p->completed++;
    }
    p->answered = p->answered || !why;
    tx_done(e, i, why, events, arg);
}

/* ---- what happens to the device ---- */

/* Everything is gone: nothing completes any more. */
static void device_failed(dnet_emu_plug_end_t *e, const char *why,
                          const dnet_emu_plug_events_t *events, void *arg)
{
    if (e->fatal)
        return;
    dnet_error("verbs: device %s has failed: %s", e->port.name, why);
    e->fatal = true;
    for (uint32_t i = 0; i < VERBS_TX; i++)
        if (e->tx[i].peer)
            tx_done(e, i, "the device has failed", events, arg);
}

/* Why nothing goes on after an event of the device; NULL: it does. */
static const char *end_of(enum ibv_event_type event)
{
    switch (event) {
        case IBV_EVENT_DEVICE_FATAL:
            return "its driver has reported a fatal error";
        case IBV_EVENT_CQ_ERR:
            return "its completion queue is broken";
        case IBV_EVENT_SRQ_ERR:
            return "its shared receive queue is broken";
        default:
            return NULL;
    }
}

static void take_events(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events, void *arg)
{
    struct ibv_async_event event;

    while (e->lib.get_async_event(e->port.context, &event) == 0) {
        const char *why = end_of(event.event_type);
        bool of_port =
            event.event_type == IBV_EVENT_PORT_ERR || event.event_type == IBV_EVENT_PORT_ACTIVE;

        if (of_port && event.element.port_num == e->port.port) {
            DNET_LOG_AT(e->is_rail ? DNET_LOG_INFO : DNET_LOG_WARN, "verbs: %s: %s", e->port.text,
                        e->lib.event_type_str(event.event_type));
            e->is_down = event.event_type == IBV_EVENT_PORT_ERR;
        }
        if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
            dnet_emu_verbs_has_ended(e, event.element.qp);
        e->lib.ack_async_event(&event);
        if (why)
            device_failed(e, why, events, arg);
    }
}

static void take_notices(dnet_emu_plug_end_t *e)
{
    struct ibv_cq *cq;
    void *context;

    while (e->lib.get_cq_event(e->channel, &cq, &context) == 0)
        e->lib.ack_cq_events(cq, 1);
    e->armed = false;
}

/* ---- polling ---- */

/* What has completed, one after the other, until no more is wanted.  @return how many messages have
 * arrived */
static unsigned take(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events, void *arg,
                     bool *go_on_p)
{
    const struct ibv_wc *wc = e->kept;
    unsigned arrived = 0;
    int error = 0;

    while (*go_on_p && e->kept_at < e->kept_count) {
        int k = e->kept_at++;
        uint32_t i = (uint32_t) wc[k].wr_id;
        bool good = wc[k].status == IBV_WC_SUCCESS;

        switch (wc[k].wr_id >> 32) {
            case VERBS_WR_RX:
                if (good) {
                    *go_on_p =
                        events->arrived(arg, e->rx + (size_t) i * VERBS_BYTES, wc[k].byte_len);
                    arrived++;
                }
                e->again[e->again_count++] = i;
                if (e->again_count > e->again_most)
                    error |= offer_again(e);
                break;
            case VERBS_WR_TX:
                if (e->tx[i].peer)
                    tx_completed(e, i, &wc[k], events, arg);
                break;
            case VERBS_WR_UD_RX:
                if (dnet_emu_verbs_ud_received(e, i, &wc[k]) != 0)
                    device_failed(e, "it takes no receive buffer", events, arg);
                break;
            case VERBS_WR_UD_TX:
                dnet_emu_verbs_ud_sent(e, i, &wc[k]);
                break;
        }
    }
    if (error)
        device_failed(e, "it takes no receive buffer", events, arg);
    return arrived;
}

/* Completions, when all before are done with.  @return whether there may be more */
static bool look(dnet_emu_plug_end_t *e)
{
    int n = e->fatal ? 0 : ibv_poll_cq(e->cq, VERBS_EVENTS, e->kept);

    e->kept_at = 0;
    e->kept_count = n;
    return n == VERBS_EVENTS;
}

static unsigned verbs_poll(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events, void *arg)
{
    unsigned arrived;
    bool go_on = true, more = true;

    if (e->armed || e->polls++ % EVENTS_EVERY == 0) {
        take_events(e, events, arg);
        dnet_emu_verbs_look_at_stuck(e);
    }
    if (e->armed)
        take_notices(e);
    arrived = e->kept_at < e->kept_count ? take(e, events, arg, &go_on) : 0;
    while (go_on && more) {
        more = look(e);
        if (e->kept_count > 0)
            arrived += take(e, events, arg, &go_on);
        else if (e->again_count && offer_again(e) != 0)
            device_failed(e, "it takes no receive buffer", events, arg);
    }
    if (e->kept_count < 0)
        device_failed(e, "its completion queue cannot be read", events, arg);
    if ((e->unsettled || e->ud_why) && dnet_emu_verbs_settle(e, go_on))
        take_events(e, events, arg);
    return arrived;
}

static int verbs_wait_fd(const dnet_emu_plug_end_t *e)
{
    return e->wait_fd;
}

static bool verbs_may_wait(dnet_emu_plug_end_t *e)
{
    if (e->fatal && e->is_rail)
        return true;
    if (e->unsettled || e->ud_why || e->kept_at < e->kept_count || e->again_count || e->fatal)
        return false;
    e->armed = ibv_req_notify_cq(e->cq, 0) == 0;
    /* What came before the notice was asked for gives none. */
    (void) look(e);
    return e->armed && e->kept_count == 0;
}

static void verbs_count(const dnet_emu_plug_end_t *e, dnet_emu_hosts_stats_t *stats)
{
    stats->registered = e->registered;
    stats->reused = e->reused;
    stats->rnr = e->rnr_before < 0 ? -1 : dnet_emu_verbs_rnr(&e->port) - e->rnr_before;
}

static uint32_t verbs_buffers(const dnet_emu_plug_end_t *e)
{
    return e->buffers - e->again_most;
}

static const char *verbs_network(const dnet_emu_plug_end_t *e)
{
    return e->port.text;
}

static const char *verbs_why(const dnet_emu_plug_end_t *e, uint64_t peer)
{
    const dnet_emu_verbs_peer_t *p = (const dnet_emu_verbs_peer_t *) (uintptr_t) peer;

    if (e->fatal)
        return "cannot be reached: this host's device has failed";
    return p->state == VERBS_DEAD ? p->why : NULL;
}

/* ---- one of several rails ---- */

static void verbs_join(dnet_emu_plug_end_t *e, dnet_emu_plug_end_t *first, unsigned rail,
                       dnet_emu_rail_facts_t *facts_p)
{
    e->is_rail = true;
    e->rail = (uint8_t) rail;
    e->first = first;
    e->wait_ns = UINT64_MAX; /* whoever has the other rails says when a peer is lost */
    first->rails[rail] = e;
    first->rails_count = rail + 1;
    *facts_p =
        (dnet_emu_rail_facts_t){.mbits_per_s = e->port.mbits_per_s, .distance = e->port.distance};
}

/* A connection to one peer may have failed by a question, of which nobody else is told. */
static const char *verbs_ill(dnet_emu_plug_end_t *e, uint64_t peer)
{
    const dnet_emu_verbs_peer_t *p = (const dnet_emu_verbs_peer_t *) (uintptr_t) peer;

    if (p)
        return p->failing_ns && p->state != VERBS_READY ? "its connection has failed" : NULL;
    return e->fatal ? "its device has failed" : e->is_down ? "its port is down" : NULL;
}

static bool verbs_ready(dnet_emu_plug_end_t *e, uint64_t peer, bool begin)
{
    dnet_emu_verbs_peer_t *p = (dnet_emu_verbs_peer_t *) (uintptr_t) peer;

    if (begin && p->state == VERBS_IDLE)
        dnet_emu_verbs_connect(e, p);
    return p->state == VERBS_READY && !e->fatal;
}

static void verbs_drop(dnet_emu_plug_end_t *e, uint64_t peer)
{
    dnet_emu_verbs_disconnect(e, (dnet_emu_verbs_peer_t *) (uintptr_t) peer);
}

const dnet_emu_plug_ops_t dnet_emu_plug_verbs = {
    .name = "verbs",
    .message_bytes = VERBS_BYTES,
    .eager_bytes = EAGER_BYTES,
    .found = dnet_emu_verbs_found,
    .open = verbs_open,
    .reach = verbs_reach,
    .part = verbs_part,
    .ip = verbs_ip,
    .send = verbs_send,
    .hold = dnet_emu_verbs_hold,
    .let_go = dnet_emu_verbs_let_go,
    .forget = dnet_emu_verbs_forget,
    .read = verbs_read,
    .count = verbs_count,
    .poll = verbs_poll,
    .why = verbs_why,
    .ask = verbs_ask,
    .wait_fd = verbs_wait_fd,
    .may_wait = verbs_may_wait,
    .buffers = verbs_buffers,
    .network = verbs_network,
    .close = verbs_close,
    .choose = dnet_emu_verbs_choose_rails,
    .join = verbs_join,
    .ill = verbs_ill,
    .ready = verbs_ready,
    .drop = verbs_drop,
};

#else

static bool verbs_found(char *text, size_t bytes)
{
    snprintf(text, bytes, "not built: libibverbs' headers were missing (Debian: libibverbs-dev)");
    return false;
}

const dnet_emu_plug_ops_t dnet_emu_plug_verbs = {.name = "verbs", .found = verbs_found};

#endif
