/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posting and polling.  All under the fabric's lock.
 */
#include "fake.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { GRH = 40 };

static fake_shared_qp_t *find(uint32_t qpn)
{
    fake_shared_qp_t *t = qpn < FAKE_QPN ? NULL : &fake_fabric->qp[(qpn - FAKE_QPN) % FAKE_QPS];
    return t && t->pid && t->qpn == qpn ? t : NULL;
}

static bool is_local(uint32_t key, uint64_t at, uint64_t bytes)
{
    const fake_shared_mr_t *m = &fake_fabric->mr[(key & 0xffff) % FAKE_MRS];
    return m->pid == getpid() && m->salt == key >> 16 && at >= m->at &&
           at + bytes <= m->at + m->bytes;
}

/* ---- completions ---- */

void fake_announce(fake_shared_cq_t *cq)
{
    static int from = -1;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    uint32_t index = (uint32_t) (cq - fake_fabric->cq);
    if (!cq->armed)
        return;
    cq->armed = false;
    if (from < 0)
        from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(a.sun_path + 1, cq->channel, sizeof(cq->channel));
    (void) sendto(from, &index, sizeof(index), MSG_DONTWAIT, (struct sockaddr *) &a,
                  sizeof(a.sun_family) + 1 + sizeof(cq->channel));
}

static void complete(struct ibv_cq *v, const struct ibv_wc *wc)
{
    fake_cq_t *cq = (fake_cq_t *) v;
    if (cq->tail - cq->head == cq->size)
        abort(); /* an overrun is a defect of the caller */
    cq->ring[cq->tail++ % cq->size] = *wc;
    fake_announce(cq->shared);
}

static void send_done(fake_qp_t *q, fake_send_t *s, enum ibv_wc_status status)
{
    struct ibv_wc wc = {.wr_id = s->wr.wr_id,
                        .status = status,
                        .opcode = s->wr.opcode == IBV_WR_RDMA_READ    ? IBV_WC_RDMA_READ
                                  : s->wr.opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE
                                                                      : IBV_WC_SEND,
                        .byte_len = s->bytes,
                        .qp_num = q->v.qp_num};
    free(s->inlined);
    q->head++;
    if (status != IBV_WC_SUCCESS || q->signal_all || (s->wr.send_flags & IBV_SEND_SIGNALED))
        complete(q->v.send_cq, &wc);
}

static void flush(fake_qp_t *q)
{
    while (q->head != q->tail)
        send_done(q, &q->sends[q->head % q->size], IBV_WC_WR_FLUSH_ERR);
    for (; !q->v.srq && q->recvs.head != q->recvs.tail; q->recvs.head++) {
        struct ibv_wc wc = {.wr_id = q->recvs.ring[q->recvs.head % q->recvs.size].wr.wr_id,
                            .status = IBV_WC_WR_FLUSH_ERR,
                            .opcode = IBV_WC_RECV,
                            .qp_num = q->v.qp_num};
        complete(q->v.recv_cq, &wc);
    }
    q->shared->credit = 0;
}

/* A receive buffer of that queue pair is taken.  @return false: there is none */
static bool take_credit(fake_shared_qp_t *t)
{
    uint32_t *credit = t->srq >= 0 ? &fake_fabric->srq[t->srq].credit : &t->credit;
    if (*credit == 0)
        return false;
    --*credit;
    return true;
}

static void give_credit(fake_shared_qp_t *t)
{
    ++*(t->srq >= 0 ? &fake_fabric->srq[t->srq].credit : &t->credit);
}

/* What has been acknowledged has arrived before.  One that was connected has a last request. */
void fake_to_error(fake_qp_t *q)
{
    fake_recvs_t *r = q->v.srq ? &((fake_srq_t *) q->v.srq)->recvs : NULL;
    bool ends = r && q->shared->dest && q->v.state != IBV_QPS_ERR;
    fake_arrive(fake_context_of(q->v.context));
    q->v.state = IBV_QPS_ERR;
    q->shared->state = IBV_QPS_ERR;
    flush(q);
    if (!ends)
        return;
    q->ends = FAKE_ENDS;
    if (fake_fault("taken") && take_credit(q->shared)) {
        q->has_taken = true;
        q->taken = r->ring[r->head++ % r->size].wr.wr_id;
    }
}

/* Its last receive request. */
static void end(fake_qp_t *q)
{
    struct ibv_wc wc = {.wr_id = q->taken,
                        .status = IBV_WC_WR_FLUSH_ERR,
                        .opcode = IBV_WC_RECV,
                        .qp_num = q->v.qp_num};
    if (q->has_taken)
        complete(q->v.recv_cq, &wc);
    q->has_taken = false;
    if (!fake_fault("last_wqe"))
        fake_event(fake_context_of(q->v.context), IBV_EVENT_QP_LAST_WQE_REACHED, q);
}

void fake_forget(struct ibv_cq *v, uint32_t qpn)
{
    fake_cq_t *cq = (fake_cq_t *) v;
    uint32_t to = cq->head;
    for (uint32_t from = cq->head; from != cq->tail; from++)
        if (cq->ring[from % cq->size].qp_num != qpn)
            cq->ring[to++ % cq->size] = cq->ring[from % cq->size];
    cq->tail = to;
}

static void fail(fake_qp_t *q, fake_send_t *s, enum ibv_wc_status status)
{
    send_done(q, s, status);
    fake_to_error(q);
}

void fake_event(fake_context_t *c, enum ibv_event_type type, fake_qp_t *q)
{
    fake_event_t e = {.v.event_type = type, .v.element.port_num = 1};
    if (q) {
        e.v.element.qp = &q->v;
        e.qpn = q->v.qp_num;
    }
    (void) send(c->events, &e, sizeof(e), MSG_DONTWAIT);
}

/* ---- sending ---- */

static bool gather(const fake_send_t *s, uint8_t *to)
{
    if (s->inlined) {
        memcpy(to, s->inlined, s->bytes);
        return true;
    }
    for (int i = 0; i < s->wr.num_sge; i++) {
        if (!is_local(s->sge[i].lkey, s->sge[i].addr, s->sge[i].length))
            return false;
        memcpy(to, (void *) (uintptr_t) s->sge[i].addr, s->sge[i].length);
        to += s->sge[i].length;
    }
    return true;
}

static bool is_gone(uint32_t key)
{
    return fake_fabric->mr[(key & 0xffff) % FAKE_MRS].gone;
}

/* Read or write memory of the peer's process. */
static enum ibv_wc_status one_sided(const fake_send_t *s, pid_t pid)
{
    uint32_t key = s->wr.wr.rdma.rkey;
    const fake_shared_mr_t *m = &fake_fabric->mr[(key & 0xffff) % FAKE_MRS];
    bool reads = s->wr.opcode == IBV_WR_RDMA_READ;
    uint32_t right = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    uint64_t at = s->wr.wr.rdma.remote_addr;
    struct iovec local[4], remote = {(void *) (uintptr_t) at, s->bytes};
    ssize_t n;
    if (s->bytes == 0)
        return IBV_WC_SUCCESS;
    if (m->pid != pid || m->salt != key >> 16 || !(m->access & right) || at < m->at ||
        at + s->bytes > m->at + m->bytes)
        return IBV_WC_REM_ACCESS_ERR;
    for (int i = 0; i < s->wr.num_sge; i++) {
        local[i] = (struct iovec){(void *) (uintptr_t) s->sge[i].addr, s->sge[i].length};
        if (!s->inlined && !is_local(s->sge[i].lkey, s->sge[i].addr, s->sge[i].length))
            return IBV_WC_LOC_PROT_ERR;
    }
    if (reads && (m->gone || is_gone(s->sge[0].lkey))) {
        if (!is_gone(s->sge[0].lkey))
            memset(local[0].iov_base, 0xdd, local[0].iov_len);
        return IBV_WC_SUCCESS;
    }
    if (s->inlined)
        local[0] = (struct iovec){s->inlined, s->bytes};
    n = reads ? process_vm_readv(pid, local, (unsigned long) s->wr.num_sge, &remote, 1, 0)
              : process_vm_writev(pid, local, s->inlined ? 1 : (unsigned long) s->wr.num_sge,
                                  &remote, 1, 0);
    return n == (ssize_t) s->bytes ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
}

/* Has the process ended, though its parent may not have looked yet? */
static bool has_ended(pid_t pid)
{
    char path[32], text[256] = "";
    const char *after;
    FILE *stat;
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    stat = fopen(path, "r");
    if (stat) {
        text[fread(text, 1, sizeof(text) - 1, stat)] = '\0';
        fclose(stat);
    }
    after = strrchr(text, ')');
    return !after || after[2] == 'Z' || after[2] == 'X';
}

/* One that empties its inbox is not asked after. */
static bool is_there(const fake_send_t *s, const fake_shared_qp_t *t)
{
    const fake_inbox_t *box = &fake_fabric->inbox[t->context];
    bool to_inbox = s->wr.opcode == IBV_WR_SEND || s->wr.opcode == IBV_WR_SEND_WITH_IMM;
    return (to_inbox && box->head == box->tail) || !has_ended(t->pid);
}

/* How long an adapter tries. */
static uint64_t patience_ns(const fake_qp_t *q)
{
    return (UINT64_C(4096) << q->attr.timeout) * q->attr.retry_cnt;
}

/* The peer does not answer.  @return false: it will be tried again */
static bool no_answer(fake_qp_t *q, fake_send_t *s)
{
    uint64_t now = fake_now_ns();
    if (!s->since_ns)
        s->since_ns = now;
    if (now - s->since_ns < patience_ns(q))
        return false;
    fail(q, s, IBV_WC_RETRY_EXC_ERR);
    return true;
}

/* @return false: not now */
static bool put(fake_qp_t *q, fake_send_t *s, uint32_t to, fake_shared_qp_t *t)
{
    fake_inbox_t *box = &fake_fabric->inbox[t->context];
    fake_message_t *m = &box->slot[box->tail % FAKE_SLOTS];
    if (box->tail - box->head == FAKE_SLOTS)
        return false;
    if (!take_credit(t)) {
        fake_note("rnr");
        return false;
    }
    if (s->bytes > FAKE_MESSAGE || !gather(s, m->data)) {
        give_credit(t);
        fail(q, s, s->bytes > FAKE_MESSAGE ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_PROT_ERR);
        return true;
    }
    m->to = to;
    m->from = q->v.qp_num;
    m->bytes = s->bytes;
    m->imm = s->wr.imm_data;
    m->has_imm = s->wr.opcode == IBV_WR_SEND_WITH_IMM;
    box->tail++;
    fake_announce(&fake_fabric->cq[t->recv_cq]);
    return true;
}

/* Is there a link all the way? */
static bool is_linked(const fake_context_t *c, const fake_shared_qp_t *t)
{
    return !fake_fabric->inbox[c->index].link_down && !fake_fabric->inbox[t->context].link_down;
}

/* Datagrams are lost where they are not taken. */
static void deliver_ud(fake_qp_t *q, fake_send_t *s, const fake_context_t *c)
{
    uint32_t to = s->wr.wr.ud.remote_qpn;
    fake_shared_qp_t *t = find(to);
    int status = fake_fault("ud_wc");
    if (status) {
        fail(q, s, (enum ibv_wc_status) status);
        return;
    }
    if (t && t->type == IBV_QPT_UD && t->state >= IBV_QPS_RTR && t->state <= IBV_QPS_RTS &&
        t->qkey == s->wr.wr.ud.remote_qkey && is_linked(c, t) &&
        !fake_fault(fake_of_device("ud", c->device)))
        (void) put(q, s, to, t);
    send_done(q, s, IBV_WC_SUCCESS);
}

/* @return false: not now */
static bool deliver_rc(fake_qp_t *q, fake_send_t *s, const fake_context_t *c)
{
    uint32_t to = q->shared->dest;
    fake_shared_qp_t *t = find(to);
    int status;
    if (!t || !is_linked(c, t) || (t->state != IBV_QPS_RTR && t->state != IBV_QPS_RTS) ||
        t->dest != q->v.qp_num || !is_there(s, t))
        return no_answer(q, s);
    s->forgotten = s->forgotten || fake_fault("forget");
    if (s->forgotten)
        return false;
    status = fake_fault("wc");
    if (status) {
        fail(q, s, (enum ibv_wc_status) status);
        return true;
    }
    if (s->wr.opcode == IBV_WR_RDMA_WRITE || s->wr.opcode == IBV_WR_RDMA_READ) {
        bool empty = s->wr.opcode == IBV_WR_RDMA_READ && fake_fault("empty");
        enum ibv_wc_status result = empty ? IBV_WC_SUCCESS : one_sided(s, t->pid);
        if (result == IBV_WC_SUCCESS && s->wr.opcode == IBV_WR_RDMA_READ)
            fake_note(fake_of_device("read", c->device));
        if (result == IBV_WC_SUCCESS)
            send_done(q, s, result);
        else
            fail(q, s, result);
        return true;
    }
    if (!put(q, s, to, t))
        return false;
    fake_note(fake_of_device("sent", c->device));
    if (q->v.state == IBV_QPS_RTS)
        send_done(q, s, IBV_WC_SUCCESS);
    return true;
}

static void push(fake_qp_t *q, const fake_context_t *c)
{
    while (q->head != q->tail && q->v.state == IBV_QPS_RTS) {
        fake_send_t *s = &q->sends[q->head % q->size];
        if (q->v.qp_type == IBV_QPT_UD)
            deliver_ud(q, s, c);
        else if (!deliver_rc(q, s, c))
            return;
    }
}

static bool keep(fake_qp_t *q, const struct ibv_send_wr *wr)
{
    fake_send_t *s = &q->sends[q->tail % q->size];
    if (q->tail - q->head == q->size || wr->num_sge > 4)
        return false;
    *s = (fake_send_t){.wr = *wr};
    for (int i = 0; i < wr->num_sge; i++) {
        s->sge[i] = wr->sg_list[i];
        s->bytes += wr->sg_list[i].length;
    }
    if (wr->send_flags & IBV_SEND_INLINE) {
        if (s->bytes > q->attr.cap.max_inline_data)
            return false;
        s->inlined = malloc(s->bytes + 1);
        for (uint32_t i = 0, at = 0; i < (uint32_t) wr->num_sge; at += s->sge[i++].length)
            memcpy(s->inlined + at, (void *) (uintptr_t) s->sge[i].addr, s->sge[i].length);
    }
    q->tail++;
    return true;
}

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    fake_qp_t *q = (fake_qp_t *) qp;
    unsigned device = fake_context_of(qp->context)->device;
    const char *call = qp->qp_type == IBV_QPT_UD ? "post_ud" : fake_of_device("post_send", device);
    int error = fake_fault(call);
    fake_lock();
    for (; wr && !error; wr = wr->next) {
        *bad = wr;
        if (qp->state < IBV_QPS_RTS)
            error = EINVAL;
        else if (!keep(q, wr))
            error = ENOMEM;
        else if (qp->state == IBV_QPS_ERR)
            flush(q);
    }
    push(q, fake_context_of(qp->context));
    fake_unlock();
    return error;
}

/* ---- receiving ---- */

static int offer(fake_recvs_t *r, uint32_t *credit, struct ibv_recv_wr *wr,
                 struct ibv_recv_wr **bad)
{
    for (; wr; wr = wr->next) {
        fake_recv_t *at = &r->ring[r->tail % r->size];
        *bad = wr;
        if (r->tail - r->head == r->size || wr->num_sge > 4)
            return ENOMEM;
        at->wr = *wr;
        memcpy(at->sge, wr->sg_list, (size_t) wr->num_sge * sizeof(*wr->sg_list));
        r->tail++;
        ++*credit;
    }
    return 0;
}

int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    fake_qp_t *q = (fake_qp_t *) qp;
    int error = fake_fault("post_recv");
    fake_lock();
    if (!error)
        error = offer(&q->recvs, &q->shared->credit, wr, bad);
    fake_unlock();
    return error;
}

int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    fake_srq_t *s = (fake_srq_t *) srq;
    int error = fake_fault("post_srq_recv");
    fake_lock();
    if (!error)
        error = offer(&s->recvs, &s->shared->credit, wr, bad);
    fake_unlock();
    return error;
}

static enum ibv_wc_status scatter(const fake_recv_t *r, uint32_t skip, const uint8_t *data,
                                  uint32_t bytes)
{
    for (int i = 0; i < r->wr.num_sge && bytes; i++) {
        uint32_t n = r->sge[i].length - skip < bytes ? r->sge[i].length - skip : bytes;
        if (!is_local(r->sge[i].lkey, r->sge[i].addr, r->sge[i].length))
            return IBV_WC_LOC_PROT_ERR;
        memcpy((uint8_t *) (uintptr_t) r->sge[i].addr + skip, data, n);
        data += n;
        bytes -= n;
        skip = 0;
    }
    return bytes ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

static void receive(const fake_context_t *c, const fake_message_t *m)
{
    fake_qp_t *q = c->qps;
    while (q && q->v.qp_num != m->to)
        q = q->next;
    if (!q || q->v.state < IBV_QPS_RTR || q->v.state > IBV_QPS_RTS)
        return; /* a datagram whose queue pair has failed */
    fake_recvs_t *r = q->v.srq ? &((fake_srq_t *) q->v.srq)->recvs : &q->recvs;
    fake_recv_t *at = &r->ring[r->head++ % r->size];
    uint32_t skip = q->v.qp_type == IBV_QPT_UD ? GRH : 0;
    struct ibv_wc wc = {.wr_id = at->wr.wr_id,
                        .status = scatter(at, skip, m->data, m->bytes),
                        .opcode = IBV_WC_RECV,
                        .byte_len = m->bytes + skip,
                        .imm_data = m->imm,
                        .wc_flags = (m->has_imm ? IBV_WC_WITH_IMM : 0) | (skip ? IBV_WC_GRH : 0),
                        .qp_num = q->v.qp_num,
                        .src_qp = m->from};
    complete(q->v.recv_cq, &wc);
}

void fake_arrive(fake_context_t *c)
{
    fake_inbox_t *box = &fake_fabric->inbox[c->index];
    while (box->head != box->tail) {
        receive(c, &box->slot[box->head % FAKE_SLOTS]);
        box->head++;
    }
}

static void progress(fake_context_t *c)
{
    fake_inbox_t *box = &fake_fabric->inbox[c->index];
    int event = fake_fault(fake_of_device("poll", c->device));
    int link = fake_fault(fake_of_device("down", c->device)) ? 1
               : fake_fault(fake_of_device("up", c->device)) ? 2
                                                             : 0;
    if (event)
        fake_event(c, (enum ibv_event_type)(event - 100), NULL);
    if (link) {
        box->link_down = link == 1;
        fake_event(c, link == 1 ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE, NULL);
    }
    fake_arrive(c);
    for (fake_qp_t *q = c->qps; q; q = q->next) {
        push(q, c);
        if (q->ends && --q->ends == 0)
            end(q);
    }
}

int fake_poll_cq(struct ibv_cq *v, int n, struct ibv_wc *wc)
{
    fake_cq_t *cq = (fake_cq_t *) v;
    int error = fake_fault("poll_cq"), taken = 0;
    if (error)
        return -1;
    fake_lock();
    progress(fake_context_of(v->context));
    while (taken < n && cq->head != cq->tail)
        wc[taken++] = cq->ring[cq->head++ % cq->size];
    fake_unlock();
    return taken;
}

int fake_req_notify_cq(struct ibv_cq *v, int solicited_only)
{
    fake_shared_cq_t *shared = ((fake_cq_t *) v)->shared;
    int error = fake_fault("req_notify_cq");
    (void) solicited_only;
    fake_lock();
    shared->armed = !error;
    /* Nobody but this process's polls carries on with what could not be delivered. */
    for (fake_qp_t *q = fake_context_of(v->context)->qps; q; q = q->next)
        if (q->head != q->tail)
            fake_announce(shared);
    fake_unlock();
    return error;
}
