/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wire-up of a verbs port: a reliable connection for each peer, made when the first message goes
 * there and again when it has failed.
 *
 * Both sides say CONNECT by unreliable datagrams, over and over until they are READY: the number of
 * their own queue pair, and of the peer's that it is joined to.  A queue pair is joined once; when
 * the peer has a new one, so must this side.  No message means anything but the state that its
 * sender is in, so it does not matter which are lost, late or doubled, or who began.
 */
#include "config.h"

#ifdef HAVE_STRUCT_IBV_GID_ENTRY

#include "emulator/swif/hosts/verbs_end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/log.h"

#define MAGIC 0x43564e44u /* "DNVC" */
#define GRH_BYTES 40u
_Static_assert(VERBS_UD_BYTES >= GRH_BYTES + sizeof(dnet_emu_verbs_connect_t), "a UD buffer");

/* About 0.25 to 2 s until a queue pair gives up: 4.096 us << 14, 7 times, of which devices may take
 * up to four times as long.  A receiver without a buffer is waited for without end. */
#define ACK_TIMEOUT 14
#define RETRIES 7
#define RNR_FOR_EVER 7
#define RNR_TIMER 12 /* 0.64 ms */

/* Longer than any device tries.  Soft-RoCE has been seen to forget a request whose packet was lost
 * (Linux 6.1, an interface taken down and up).  A peer without a receive buffer may take longer
 * still, so that each time in a row doubles it. */
#define STUCK_NS UINT64_C(4000000000)
#define STUCK_MOST_NS UINT64_C(64000000000)

/* The event of the last receive request of a queue pair in error is waited for so long: not every
 * driver of a device in software has it. */
#define LAST_NS 100000000u

#define UD_AGAIN_NS 100000000u /* datagrams that cannot leave are tried again after so long */

/* A Q_Key that no privilege is needed for. */
static uint32_t qkey_of(uint32_t key)
{
    return key & 0x7fffffff;
}

static int to_init(dnet_emu_plug_end_t *e, struct ibv_qp *qp, bool ud)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .pkey_index = e->port.pkey_index,
                            .port_num = e->port.port,
                            .qkey = qkey_of(e->key),
                            .qp_access_flags =
                                IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE}; /* of no bytes */

    return e->lib.modify_qp(qp, &a,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static struct ibv_ah_attr way_to(const dnet_emu_plug_end_t *e, const dnet_emu_verbs_at_t *at)
{
    struct ibv_ah_attr a = {.dlid = at->lid, .port_num = e->port.port};

    /* Beyond the own subnet, and always with RoCE, a global route header says where; also on a
     * virtual port that has its LID in common with others. */
    if (e->port.roce || e->port.attr.flags & IBV_QPF_GRH_REQUIRED ||
        memcmp(at->gid, e->at.gid, 8) != 0) {
        a.is_global = 1;
        a.grh.sgid_index = (uint8_t) e->port.gid_index;
        a.grh.hop_limit = 64;
        memcpy(a.grh.dgid.raw, at->gid, sizeof at->gid);
    }
    return a;
}

/* ---- datagrams ---- */

static int ud_post(dnet_emu_plug_end_t *e, uint32_t i)
{
    struct ibv_sge sge = {.addr = (uintptr_t) (e->ud_rx + (size_t) i * VERBS_UD_BYTES),
                          .length = VERBS_UD_BYTES,
                          .lkey = e->mr->lkey};
    struct ibv_recv_wr wr = {
        .wr_id = dnet_emu_verbs_wr(VERBS_WR_UD_RX, i), .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    int error = ibv_post_recv(e->ud, &wr, &bad);

    if (!error)
        e->ud_rx_posted |= UINT64_C(1) << i;
    return error;
}

/* From RESET on.  @return 0, or an error number with the call in *what_p */
static int ud_start(dnet_emu_plug_end_t *e, const char **what_p)
{
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR}, rts = {.qp_state = IBV_QPS_RTS};
    int error = to_init(e, e->ud, true);

    *what_p = "ibv_modify_qp (UD)";
    if (!error)
        error = e->lib.modify_qp(e->ud, &rtr, IBV_QP_STATE);
    if (!error)
        error = e->lib.modify_qp(e->ud, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
    for (uint32_t i = 0; i < VERBS_UD && !error; i++) {
        *what_p = "ibv_post_recv (UD)";
        error = ud_post(e, i);
    }
    e->ud_tx_free = UINT64_MAX;
    return error;
}

int dnet_emu_verbs_ud_open(dnet_emu_plug_end_t *e, const char **what_p)
{
    struct ibv_qp_init_attr init = {.send_cq = e->cq,
                                    .recv_cq = e->cq,
                                    .cap = {.max_send_wr = VERBS_UD,
                                            .max_recv_wr = VERBS_UD,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD};

    *what_p = "ibv_create_qp (UD)";
    e->ud = e->lib.create_qp(e->pd, &init);
    return e->ud ? ud_start(e, what_p) : errno;
}

/* What the peer must know.  One that cannot leave now is said again. */
static void say(dnet_emu_plug_end_t *e, const dnet_emu_verbs_peer_t *peer)
{
    dnet_emu_verbs_connect_t m = {.magic = MAGIC,
                                  .to_key = peer->key,
                                  .from_key = e->key,
                                  .qpn = peer->qp->qp_num,
                                  .psn = peer->psn,
                                  .number = peer->number,
                                  .seen = peer->peer_number,
                                  .wants = peer->state != VERBS_READY,
                                  .from = e->at};
    uint32_t i = (uint32_t) __builtin_ctzll(e->ud_tx_free);
    struct ibv_sge sge = {.length = sizeof m, .lkey = e->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = dnet_emu_verbs_wr(VERBS_WR_UD_TX, i),
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = {.ah = peer->ah, .remote_qpn = peer->at.qpn, .remote_qkey = qkey_of(peer->key)}};
    struct ibv_send_wr *bad;

    if (e->ud_tx_free == 0 || e->ud_why)
        return;
    sge.addr = (uintptr_t) (e->ud_tx + (size_t) i * VERBS_UD_BYTES);
    memcpy(e->ud_tx + (size_t) i * VERBS_UD_BYTES, &m, sizeof m);
    if (ibv_post_send(e->ud, &wr, &bad) == 0)
        e->ud_tx_free &= ~(UINT64_C(1) << i);
}

/* ---- peers ---- */

dnet_emu_verbs_peer_t *dnet_emu_verbs_peer(dnet_emu_plug_end_t *e, const dnet_emu_verbs_at_t *at,
                                           uint32_t key)
{
    dnet_emu_verbs_peer_t *p = e->peers;

    while (p && (p->key != key || memcmp(&p->at, at, sizeof *at) != 0))
        p = p->next;
    if (p)
        return p;
    p = calloc(1, sizeof *p);
    if (!p) {
        dnet_error("no memory for a connection: %zu bytes needed", sizeof *p);
        return NULL;
    }
    p->at = *at;
    p->key = key;
    p->patience_ns = STUCK_NS;
    p->next = e->peers;
    e->peers = p;
    return p;
}

/* This host can make no way to the peer, now or later. */
static void give_up(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p, const char *what, int error)
{
    dnet_error("verbs: no connection by %s: %s: %s", e->port.text, what, strerror(error));
    if (p->qp)
        e->lib.destroy_qp(p->qp);
    p->qp = NULL;
    if (p->state == VERBS_RESOLVING)
        e->unsettled--;
    p->state = VERBS_DEAD;
    snprintf(p->why, sizeof p->why, "cannot be reached: %s: %s", what, strerror(error));
}

/* The way of datagrams to the peer.  With RoCE the network is asked for the address there, so that
 * there may be none now and one later.  @return false: not now */
static bool make_way(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p)
{
    struct ibv_ah_attr way = way_to(e, &p->at);
    uint64_t now;
    char why[80];

    if (p->ah)
        return true;
    now = dnet_clock_ns();
    if (now < p->next_ns)
        return false;
    p->ah = e->lib.create_ah(e->pd, &way);
    if (p->ah) {
        p->failing_ns = 0; /* nothing else can have failed before */
        return true;
    }
    p->next_ns = now + UD_AGAIN_NS;
    snprintf(why, sizeof why, "ibv_create_ah: %s", strerror(errno));
    dnet_emu_verbs_failed(e, p, why);
    if (p->why[0])
        p->state = VERBS_DEAD;
    return false;
}

void dnet_emu_verbs_connect(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p)
{
    struct ibv_qp_init_attr init = {
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .srq = e->srq,
        .cap = {.max_send_wr = VERBS_DEPTH, .max_send_sge = 1, .max_inline_data = e->inline_bytes},
        .qp_type = IBV_QPT_RC};
    int error;

    if (p->state != VERBS_IDLE || e->fatal || !make_way(e, p))
        return;
    p->qp = e->lib.create_qp(e->pd, &init);
    if (!p->qp && e->inline_bytes) {
        init.cap.max_inline_data = e->inline_bytes = 0;
        p->qp = e->lib.create_qp(e->pd, &init);
    }
    if (!p->qp) {
        give_up(e, p, "ibv_create_qp", errno);
        return;
    }
    error = to_init(e, p->qp, false);
    if (error || getrandom(&p->psn, sizeof p->psn, 0) != sizeof p->psn) {
        give_up(e, p, "ibv_modify_qp to INIT", error ? error : errno);
        return;
    }
    p->psn &= 0xffffff;
    p->number++;
    p->peer_number = 0;
    p->has_ended = false;
    p->then_ns = 0; /* what was under way was so on the one before */
    p->state = VERBS_RESOLVING;
    p->wait_ns = VERBS_CONNECT_NS;
    p->next_ns = dnet_clock_ns() + p->wait_ns;
    e->unsettled++;
    say(e, p);
}

/* The peer's queue pair is known.  With RoCE the network is asked for the address there, which may
 * fail now and not later.  @return false: it has */
static bool join(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p,
                 const dnet_emu_verbs_connect_t *m)
{
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                              .path_mtu = p->at.mtu < e->port.mtu ? p->at.mtu : e->port.mtu,
                              .dest_qp_num = m->qpn,
                              .rq_psn = m->psn,
                              .max_dest_rd_atomic = e->at.reads,
                              .min_rnr_timer = RNR_TIMER,
                              .ah_attr = way_to(e, &p->at)};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                              .timeout = ACK_TIMEOUT,
                              .retry_cnt = RETRIES,
                              .rnr_retry = RNR_FOR_EVER,
                              .sq_psn = p->psn,
                              .max_rd_atomic = e->reads < p->at.reads ? e->reads : p->at.reads};
    int error =
        e->lib.modify_qp(p->qp, &rtr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

    if (!error)
        error = e->lib.modify_qp(p->qp, &rts,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error) {
        char why[80];

        snprintf(why, sizeof why, "ibv_modify_qp: %s", strerror(error));
        dnet_emu_verbs_failed(e, p, why);
        return false;
    }
    p->peer_number = m->number;
    return true;
}

/* The queue pair goes, and what of it has not been read from the completion queue. */
static void end_closing(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p)
{
    if (e->lib.destroy_qp(p->qp) != 0)
        dnet_debug("verbs: ibv_destroy_qp: %s", strerror(errno));
    p->qp = NULL;
    p->state = p->why[0] ? VERBS_DEAD : VERBS_IDLE;
    e->unsettled--;
}

/* Has all come back?  A buffer that the queue pair has taken from the shared queue comes by the
 * completion queue: when it goes before, the buffer is lost, or a message that has arrived. */
static bool has_closed(const dnet_emu_plug_end_t *e, const dnet_emu_verbs_peer_t *p, uint64_t now)
{
    return p->under_way == 0 && (p->has_ended || e->fatal || now - p->closing_ns >= LAST_NS);
}

void dnet_emu_verbs_has_ended(dnet_emu_plug_end_t *e, const struct ibv_qp *qp)
{
    for (dnet_emu_verbs_peer_t *p = e->peers; p; p = p->next)
        if (p->qp == qp)
            p->has_ended = true;
}

void dnet_emu_verbs_disconnect(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

    if (p->state != VERBS_RESOLVING && p->state != VERBS_READY)
        return;
    if (p->state == VERBS_READY)
        e->unsettled++;
    p->state = VERBS_CLOSING;
    p->closing_ns = dnet_clock_ns();
    (void) e->lib.modify_qp(p->qp, &a, IBV_QP_STATE);
    if (!p->peer_number) /* nothing has gone by it */
        end_closing(e, p);
}

void dnet_emu_verbs_failed(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *p, const char *why)
{
    uint64_t now = dnet_clock_ns();

    if (why && !p->failing_ns) {
        DNET_LOG_AT(e->is_rail ? DNET_LOG_INFO : DNET_LOG_WARN,
                    "verbs: a connection by %s has failed: %s; it is made anew", e->port.text, why);
        p->failing_ns = now;
    } else if (why && now - p->failing_ns >= e->wait_ns) {
        snprintf(p->why, sizeof p->why, "cannot be reached: %s", why);
    }
    dnet_emu_verbs_disconnect(e, p);
}

static void ud_arrived(dnet_emu_plug_end_t *e, const uint8_t *data, uint32_t bytes)
{
    dnet_emu_verbs_connect_t m;
    dnet_emu_verbs_peer_t *p;

    if (bytes < GRH_BYTES + sizeof m)
        return;
    memcpy(&m, data + GRH_BYTES, sizeof m);
    if (m.magic != MAGIC || m.to_key != e->key || m.number == 0)
        return; /* of somebody else */
    p = dnet_emu_verbs_peer(e, &m.from, m.from_key);
    if (!p || p->state == VERBS_DEAD || (int32_t) (m.number - p->last_number) < 0)
        return;
    p->last_number = m.number;
    p->answered = true;
    if (p->peer_number && p->peer_number != m.number)
        dnet_emu_verbs_disconnect(e, p);
    if (p->state == VERBS_CLOSING)
        return; /* it will be said again */
    dnet_emu_verbs_connect(e, p);
    /* One that is joined to an earlier queue pair of this side must make a new one. */
    if (p->state == VERBS_RESOLVING && !p->peer_number && (!m.seen || m.seen == p->number) &&
        !join(e, p, &m))
        return;
    if (p->state == VERBS_RESOLVING && p->peer_number && m.seen == p->number) {
        p->state = VERBS_READY;
        p->was_ready = true;
        e->unsettled--;
    }
    if (p->qp && (m.wants || m.seen != p->number))
        say(e, p);
}

/* A driver that cannot send a datagram, for its network is down or no way leads there, stops the
 * queue pair. */
static void ud_failed(dnet_emu_plug_end_t *e, enum ibv_wc_status status)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    uint64_t now = dnet_clock_ns();

    /* Who connects says so more often: nobody did, and the last failure says nothing of now. */
    if (e->ud_failing_ns && now >= e->ud_again_ns + 2 * VERBS_CONNECT_MAX_NS)
        e->ud_failing_ns = 0;
    e->ud_why = e->lib.wc_status_str(status);
    e->ud_again_ns = now + UD_AGAIN_NS;
    if (!e->ud_failing_ns) {
        DNET_LOG_AT(e->is_rail ? DNET_LOG_INFO : DNET_LOG_WARN,
                    "verbs: a datagram by %s, GID %u, cannot leave: %s; it is tried again",
                    e->port.text, e->port.gid_index, e->ud_why);
        e->ud_failing_ns = now;
    }
    (void) e->lib.modify_qp(e->ud, &a, IBV_QP_STATE);
}

int dnet_emu_verbs_ud_received(dnet_emu_plug_end_t *e, uint32_t i, const struct ibv_wc *wc)
{
    e->ud_rx_posted &= ~(UINT64_C(1) << i);
    if (wc->status == IBV_WC_SUCCESS)
        ud_arrived(e, e->ud_rx + (size_t) i * VERBS_UD_BYTES, wc->byte_len);
    else if (!e->ud_why)
        ud_failed(e, wc->status);
    return e->ud_why ? 0 : ud_post(e, i);
}

void dnet_emu_verbs_ud_sent(dnet_emu_plug_end_t *e, uint32_t i, const struct ibv_wc *wc)
{
    e->ud_tx_free |= UINT64_C(1) << i;
    if (wc->status == IBV_WC_SUCCESS)
        e->ud_failing_ns = 0;
    else if (!e->ud_why)
        ud_failed(e, wc->status);
}

/* Nobody can be connected to as long as that lasts. */
static void lose_unconnected(dnet_emu_plug_end_t *e)
{
    for (dnet_emu_verbs_peer_t *p = e->peers; p; p = p->next)
        if (p->state == VERBS_RESOLVING) {
            snprintf(p->why, sizeof p->why,
                     "cannot be reached: a datagram by GID %u cannot leave: %s", e->port.gid_index,
                     e->ud_why);
            dnet_emu_verbs_disconnect(e, p);
        }
}

/* The queue pair of datagrams is opened anew, when all that it had has come back. */
static void ud_reopen(dnet_emu_plug_end_t *e, uint64_t now)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    const char *what;

    if (now - e->ud_failing_ns >= e->wait_ns)
        lose_unconnected(e);
    if (now < e->ud_again_ns || e->ud_rx_posted || e->ud_tx_free != UINT64_MAX)
        return;
    e->ud_again_ns = now + UD_AGAIN_NS;
    if (e->lib.modify_qp(e->ud, &reset, IBV_QP_STATE) == 0 && ud_start(e, &what) == 0)
        e->ud_why = NULL;
    else
        e->ud_rx_posted = 0; /* the next reset drops what has been posted */
}

/* Has none of what is under way completed for long? */
static bool is_stuck(dnet_emu_verbs_peer_t *p, uint64_t now)
{
    bool moves = p->completed != p->completed_then;

    p->completed_then = p->completed;
    if (moves)
        p->patience_ns = STUCK_NS;
    if (!moves && p->under_way && p->then_ns)
        return now - p->then_ns >= p->patience_ns;
    p->then_ns = p->under_way ? now : 0;
    return false;
}

void dnet_emu_verbs_look_at_stuck(dnet_emu_plug_end_t *e)
{
    uint64_t now = dnet_clock_ns();

    for (dnet_emu_verbs_peer_t *p = e->peers; p; p = p->next) {
        if (p->state != VERBS_READY || !is_stuck(p, now))
            continue;
        DNET_LOG_AT(e->is_rail ? DNET_LOG_INFO : DNET_LOG_WARN,
                    "verbs: %u requests by %s have not completed for %u s; their connection is "
                    "made anew",
                    p->under_way, e->port.text, (unsigned) (p->patience_ns / 1000000000));
        p->patience_ns = p->patience_ns * 2 < STUCK_MOST_NS ? p->patience_ns * 2 : STUCK_MOST_NS;
        p->then_ns = 0;
        dnet_emu_verbs_disconnect(e, p);
    }
}

bool dnet_emu_verbs_settle(dnet_emu_plug_end_t *e, bool emptied)
{
    uint64_t now = dnet_clock_ns();
    bool closing = false;

    if (e->ud_why)
        ud_reopen(e, now);
    for (dnet_emu_verbs_peer_t *p = e->peers; p; p = p->next) {
        if (p->state == VERBS_CLOSING && emptied && has_closed(e, p, now))
            end_closing(e, p);
        closing = closing || p->state == VERBS_CLOSING;
        if (p->state != VERBS_RESOLVING || p->next_ns > now)
            continue;
        say(e, p);
        p->wait_ns = p->wait_ns * 2 < VERBS_CONNECT_MAX_NS ? p->wait_ns * 2 : VERBS_CONNECT_MAX_NS;
        p->next_ns = now + p->wait_ns;
    }
    return closing;
}

#endif
