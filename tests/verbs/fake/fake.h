/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libibverbs without a device: processes of one machine are joined by memory of a file that they
 * share.  A send goes to the receiving process's inbox, which its ibv_poll_cq() empties; who is
 * dead, has no queue pair or no receive buffer is treated as an adapter would.
 *
 *   DNET_FAKE_VERBS         the file; made if need be
 *   DNET_FAKE_VERBS_KIND    roce (default), ib, ibgrh (wants global routes), down (its port),
 * nogid, none (no device)
 *   DNET_FAKE_VERBS_DEVICES how many, up to 4: fake0 ...; 1 where it is left out.  The IPv4 address
 * of fakeI is 127.0.0.(1 + I)
 *   DNET_FAKE_VERBS_SYSFS   the folder with their folders, as /sys/class/infiniband
 *   DNET_FAKE_VERBS_FAULTS  CALL@N=VALUE,...: the Nth call (*: each) fails with that error number
 * or name (of fakeI: post_sendI, create_ahI); of wc (a send on a connection) VALUE is its
 * ibv_wc_status; at the Nth poll happens event 100 + ibv_event_type, the link goes down or up (of
 * fakeI: pollI, downI, upI); the Nth ud (datagram; of fakeI: udI) is lost; of ud_wc as of wc; the
 * Nth forget (a send on a connection) never completes, the Nth empty (a read) completes without its
 * data; the Nth connection in error has taken a buffer of the shared queue (taken), or never tells
 * of its last_wqe
 */
#ifndef DNET_FAKE_VERBS_H
#define DNET_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    FAKE_CONTEXTS = 64,
    FAKE_QPS = 1024,
    FAKE_SRQS = 128,
    FAKE_MRS = 1024,
    FAKE_CQS = 256,
    FAKE_CQES = 4000, /* fewer than requests of a shared receive queue */
    FAKE_SLOTS = 64,  /* of an inbox */
    FAKE_MESSAGE = 32768,
    FAKE_QPN = 0x40, /* number of the first queue pair */
    FAKE_WAITS = 64, /* faults */
    FAKE_DEVICES = 4,
    FAKE_PKEYS = 3,
    FAKE_ENDS = 4, /* polls from error to the last receive request */
};

/* ---- the file ---- */

typedef struct {
    uint32_t to, from, bytes, imm;
    bool has_imm;
    uint8_t data[FAKE_MESSAGE];
} fake_message_t;

typedef struct {
    pid_t pid;
    bool link_down;
    uint32_t head, tail;
    fake_message_t slot[FAKE_SLOTS];
} fake_inbox_t;

typedef struct {
    pid_t pid; /* 0: free */
    uint32_t qpn, context, type, state, dest, qkey, recv_cq;
    int32_t srq;     /* -1: none */
    uint32_t credit; /* receive requests of its own queue that no message has taken */
} fake_shared_qp_t;

typedef struct {
    pid_t pid;
    uint32_t credit;
} fake_shared_srq_t;

typedef struct {
    pid_t pid;
    bool armed;
    char channel[32]; /* abstract address that is told */
} fake_shared_cq_t;

typedef struct {
    pid_t pid;
    uint64_t at, bytes;
    uint32_t access, salt;
    bool gone; /* its pages are not the process's memory any more */
} fake_shared_mr_t;

typedef struct {
    uint32_t ready;
    uint32_t salt;
    pthread_mutex_t lock;
    fake_shared_qp_t qp[FAKE_QPS];
    fake_shared_srq_t srq[FAKE_SRQS];
    fake_shared_cq_t cq[FAKE_CQS];
    fake_shared_mr_t mr[FAKE_MRS];
    fake_inbox_t inbox[FAKE_CONTEXTS];
} fake_fabric_t;

/* ---- handles of this process ---- */

/* What happens to a device, or to a queue pair of it. */
typedef struct {
    struct ibv_async_event v;
    uint32_t qpn; /* 0: to the device */
} fake_event_t;

typedef struct {
    struct ibv_recv_wr wr;
    struct ibv_sge sge[4];
} fake_recv_t;

typedef struct {
    fake_recv_t *ring;
    uint32_t size, head, tail;
} fake_recvs_t;

typedef struct {
    struct ibv_send_wr wr;
    struct ibv_sge sge[4];
    uint8_t *inlined;
    uint32_t bytes;
    uint64_t since_ns; /* it cannot be delivered; 0: not tried */
    bool forgotten;    /* by the device: it stays until its queue pair is in error */
} fake_send_t;

typedef struct fake_qp {
    struct ibv_qp v; /* first */
    struct fake_qp *next;
    fake_shared_qp_t *shared;
    fake_recvs_t recvs;
    fake_send_t *sends;
    uint32_t size, head, tail;
    struct ibv_qp_attr attr;
    bool signal_all;
    /* In error, and of a shared receive queue: polls until the event of the last request; and the
     * request of that queue that it has taken, which completes before.  Destroyed before that, its
     * buffer is lost. */
    unsigned ends;
    bool has_taken;
    uint64_t taken;
    unsigned events; /* of it that have been got, and not acknowledged */
} fake_qp_t;

typedef struct {
    struct ibv_srq v;
    fake_shared_srq_t *shared;
    fake_recvs_t recvs;
} fake_srq_t;

typedef struct {
    struct ibv_cq v;
    fake_shared_cq_t *shared;
    struct ibv_wc *ring;
    uint32_t size, head, tail;
} fake_cq_t;

typedef struct {
    struct ibv_ah v;
    struct ibv_ah_attr attr;
} fake_ah_t;

typedef struct {
    struct ibv_comp_channel v;
    char name[32];
} fake_channel_t;

typedef struct {
    struct verbs_context v; /* v.context is the handle; the last member of v */
    uint32_t index;
    int events; /* the end that async events are written to */
    fake_qp_t *qps;
    fake_channel_t *channels;
    uint32_t polls;
    unsigned device;
} fake_context_t;

/* fake.c */
extern fake_fabric_t *fake_fabric;
bool fake_map(void);
void fake_lock(void);
void fake_unlock(void);
uint64_t fake_now_ns(void);

/* faults.c: the value of a fault that is due; 0: none */
int fake_fault(const char *call);

/* Take other faults from now on. */
__attribute__((visibility("default"))) void fake_verbs_faults(const char *text);

/* How often something has happened in this process: "rnr" (a send waits for a receive buffer),
 * "sent" or "read" on a connection (of fakeI: sentI, readI), or a call's name. */
__attribute__((visibility("default"))) unsigned fake_verbs_count(const char *what);

/* Pages that were registered have been unmapped: a device goes on with them, not with what is
 * mapped there now.  Of the calling process; what is read from them is 0xdd. */
__attribute__((visibility("default"))) void fake_verbs_unmapped(const void *at, size_t bytes);

/* Count something that is no call. */
void fake_note(const char *what);

/* transport.c */
fake_context_t *fake_context_of(struct ibv_context *c);
const char *fake_of_device(const char *what, unsigned device);
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void fake_arrive(fake_context_t *c);
void fake_to_error(fake_qp_t *qp);
void fake_forget(struct ibv_cq *cq, uint32_t qpn);
void fake_event(fake_context_t *c, enum ibv_event_type type, fake_qp_t *qp);
void fake_announce(fake_shared_cq_t *cq);

#endif
