/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's functions, all but the posting and polling of transport.c.
 */
#include "fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The header's macros of these names call them with more arguments. */
#undef ibv_reg_mr
#undef ibv_query_port
#undef ibv_get_device_list

fake_fabric_t *fake_fabric;

uint64_t fake_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* ---- the file ---- */

void fake_lock(void)
{
    if (pthread_mutex_lock(&fake_fabric->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&fake_fabric->lock);
}

void fake_unlock(void)
{
    pthread_mutex_unlock(&fake_fabric->lock);
}

static void make_lock(void)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&fake_fabric->lock, &a);
    pthread_mutexattr_destroy(&a);
    fake_fabric->ready = 1;
}

bool fake_map(void)
{
    char usual[64];
    const char *path = getenv("DNET_FAKE_VERBS");
    if (fake_fabric)
        return true;
    if (!path) {
        snprintf(usual, sizeof(usual), "/tmp/dnet-fake-verbs-%u", getuid());
        path = usual;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    flock(fd, LOCK_EX);
    if (ftruncate(fd, sizeof(fake_fabric_t)) == 0)
        fake_fabric = mmap(NULL, sizeof(fake_fabric_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fake_fabric == MAP_FAILED)
        fake_fabric = NULL;
    else if (!fake_fabric->ready)
        make_lock();
    flock(fd, LOCK_UN);
    close(fd);
    return fake_fabric;
}

static bool is_free(pid_t pid)
{
    return pid == 0 || (kill(pid, 0) != 0 && errno == ESRCH);
}

/* Take the first entry of a table whose owner is gone; -1: none.  Each begins with its pid. */
#define TAKE(table) \
    __extension__({ \
        int found = -1; \
        for (unsigned n_ = 0; n_ < sizeof(table) / sizeof((table)[0]) && found < 0; n_++) \
            if (is_free((table)[n_].pid)) \
                found = (int) n_; \
        if (found >= 0) \
            (table)[found].pid = getpid(); \
        found; \
    })

static const char *kind(void)
{
    const char *k = getenv("DNET_FAKE_VERBS_KIND");
    return k ? k : "roce";
}

static bool is_kind(const char *k)
{
    return strcmp(kind(), k) == 0;
}

static bool is_ib(void)
{
    return is_kind("ib") || is_kind("ibgrh");
}

/* ---- devices ---- */

static struct ibv_device device[FAKE_DEVICES];

static unsigned devices(void)
{
    const char *n = getenv("DNET_FAKE_VERBS_DEVICES"), *sysfs = getenv("DNET_FAKE_VERBS_SYSFS");
    unsigned count = is_kind("none") ? 0 : n ? (unsigned) atoi(n) : 1;
    for (unsigned i = 0; i < count; i++) {
        device[i] = (struct ibv_device){
            .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .dev_path = "/nowhere"};
        snprintf(device[i].name, sizeof(device[i].name), "fake%u", i);
        snprintf(device[i].dev_name, sizeof(device[i].dev_name), "uverbs%u", i);
        snprintf(device[i].ibdev_path, sizeof(device[i].ibdev_path), "%s/fake%u",
                 sysfs ? sysfs : "/nowhere", i);
    }
    return count;
}

static unsigned number_of(const struct ibv_context *c)
{
    return (unsigned) (c->device - device);
}

/* A name that faults and counts have: as it is of the first device, with its number of another. */
const char *fake_of_device(const char *what, unsigned number)
{
    static char name[24];
    snprintf(name, sizeof(name), number ? "%s%u" : "%s", what, number);
    return name;
}

struct ibv_device **ibv_get_device_list(int *count)
{
    int error = fake_fault("get_device_list");
    unsigned n = devices();
    struct ibv_device **list = calloc(FAKE_DEVICES + 1, sizeof(*list));
    if (error || !list || !fake_map()) {
        free(list);
        errno = error ? error : ENOSYS;
        return NULL;
    }
    for (unsigned i = 0; i < n; i++)
        list[i] = &device[i];
    if (count)
        *count = (int) n;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
    return d->name;
}

__be64 ibv_get_device_guid(struct ibv_device *d)
{
    (void) d;
    return htobe64(0x0200000000000001);
}

static int query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t bytes)
{
    struct ibv_port_attr a = {.state = is_kind("down") ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
                              .max_mtu = IBV_MTU_4096,
                              .active_mtu = IBV_MTU_1024,
                              .gid_tbl_len = 4,
                              .max_msg_sz = FAKE_MESSAGE,
                              .pkey_tbl_len = FAKE_PKEYS,
                              .lid = is_ib() ? (uint16_t) (7 + number_of(c)) : 0,
                              .active_width = 2,
                              .active_speed = 32,
                              .link_layer =
                                  is_ib() ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET,
                              .flags = is_kind("ibgrh") ? IBV_QPF_GRH_REQUIRED : 0};
    int error = fake_fault("query_port");
    if (error || port != 1)
        return error ? error : EINVAL;
    memcpy(attr, &a, bytes < sizeof(a) ? bytes : sizeof(a));
    return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return query_port(c, port, (struct ibv_port_attr *) attr,
                      offsetof(struct ibv_port_attr, flags));
}

/* Link-local and IPv4 address of the loopback, of both types. */
int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
    static const uint8_t gid[2][16] = {{0xfe, 0x80, [15] = 1},
                                       {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
    struct ibv_gid_entry e = {.gid_index = index, .port_num = port, .ndev_ifindex = 1};
    (void) flags;
    if (port != 1 || index >= 4 || is_kind("nogid") || (is_ib() && index > 0))
        return ENODATA;
    memcpy(e.gid.raw, gid[index / 2], sizeof(e.gid.raw));
    e.gid.raw[15] += (uint8_t) number_of(c);
    e.gid_type = is_ib()          ? IBV_GID_TYPE_IB
                 : index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1
                                  : IBV_GID_TYPE_ROCE_V2;
    memcpy(entry, &e, bytes < sizeof(e) ? bytes : sizeof(e));
    return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
    struct ibv_gid_entry e = {.gid_index = 0};
    int error = _ibv_query_gid_ex(c, port, (uint32_t) index, &e, 0, sizeof(e));
    *gid = e.gid;
    return error ? -1 : 0;
}

int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type);
int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type)
{
    struct ibv_gid_entry e = {.gid_index = 0};
    int error = _ibv_query_gid_ex(c, port, index, &e, 0, sizeof(e));
    *type = e.gid_type == IBV_GID_TYPE_ROCE_V2;
    return error ? -1 : 0;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
    static const uint16_t all[FAKE_PKEYS] = {0x7fff, 0xffff, 0x8001};
    (void) c;
    if (port != 1 || index < 0 || index >= FAKE_PKEYS)
        return -1;
    *pkey = htons(all[index]);
    return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
    (void) c;
    *a = (struct ibv_device_attr){.fw_ver = "fake",
                                  .max_qp = FAKE_QPS,
                                  .max_qp_wr = 4096,
                                  .max_qp_rd_atom = 16,
                                  .max_qp_init_rd_atom = 16,
                                  .max_sge = 4,
                                  .max_cq = FAKE_CQS,
                                  .max_cqe = FAKE_CQES,
                                  .max_mr = FAKE_MRS,
                                  .max_mr_size = UINT64_MAX,
                                  .max_srq = FAKE_SRQS,
                                  .max_srq_wr = 4096,
                                  .max_srq_sge = 4,
                                  .max_pkeys = FAKE_PKEYS,
                                  .phys_port_cnt = 1};
    return fake_fault("query_device");
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    (void) dir;
    (void) file;
    (void) buf;
    (void) size;
    return -1;
}

fake_context_t *fake_context_of(struct ibv_context *c)
{
    return (fake_context_t *) verbs_get_ctx(c);
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
    int error = fake_fault("open_device"), pair[2];
    fake_context_t *c = error ? NULL : calloc(1, sizeof(*c));
    if (!c || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) {
        free(c);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    fake_lock();
    int index = TAKE(fake_fabric->inbox);
    if (index >= 0) {
        fake_fabric->inbox[index].head = fake_fabric->inbox[index].tail = 0;
        fake_fabric->inbox[index].link_down = false;
    }
    fake_unlock();
    if (index < 0) {
        close(pair[0]);
        close(pair[1]);
        free(c);
        errno = ENOMEM;
        return NULL;
    }
    c->index = (uint32_t) index;
    c->events = pair[1];
    c->device = (unsigned) (d - device);
    c->v.sz = sizeof(c->v);
    c->v.query_port = query_port;
    c->v.context = (struct ibv_context){.device = d,
                                        .cmd_fd = -1,
                                        .async_fd = pair[0],
                                        .num_comp_vectors = 1,
                                        .abi_compat = __VERBS_ABI_IS_EXTENDED,
                                        .ops = {.poll_cq = fake_poll_cq,
                                                .req_notify_cq = fake_req_notify_cq,
                                                .post_srq_recv = fake_post_srq_recv,
                                                .post_send = fake_post_send,
                                                .post_recv = fake_post_recv}};
    return &c->v.context;
}

int ibv_close_device(struct ibv_context *context)
{
    fake_context_t *c = fake_context_of(context);
    fake_lock();
    fake_fabric->inbox[c->index].pid = 0;
    fake_unlock();
    close(context->async_fd);
    close(c->events);
    free(c);
    return 0;
}

/* ---- memory ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    int error = fake_fault("alloc_pd");
    struct ibv_pd *pd = error ? NULL : calloc(1, sizeof(*pd));
    errno = error ? error : errno;
    if (pd)
        pd->context = c;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    int error = fake_fault("reg_mr");
    struct ibv_mr *mr = error ? NULL : calloc(1, sizeof(*mr));
    if (!mr) {
        errno = error ? error : ENOMEM;
        return NULL;
    }
    fake_lock();
    int index = TAKE(fake_fabric->mr);
    uint32_t salt = ++fake_fabric->salt & 0xffff;
    if (index >= 0)
        fake_fabric->mr[index] = (fake_shared_mr_t){.pid = getpid(),
                                                    .at = (uintptr_t) addr,
                                                    .bytes = length,
                                                    .access = (uint32_t) access,
                                                    .salt = salt};
    fake_unlock();
    if (index < 0) {
        free(mr);
        errno = ENOMEM;
        return NULL;
    }
    *mr = (struct ibv_mr){.context = pd->context,
                          .pd = pd,
                          .addr = addr,
                          .length = length,
                          .handle = (uint32_t) index,
                          .lkey = salt << 16 | (uint32_t) index,
                          .rkey = salt << 16 | (uint32_t) index};
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    (void) iova;
    return ibv_reg_mr(pd, addr, length, (int) access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    fake_lock();
    fake_fabric->mr[mr->handle].pid = 0;
    fake_unlock();
    free(mr);
    return 0;
}

void fake_verbs_unmapped(const void *at, size_t bytes)
{
    fake_lock();
    for (unsigned i = 0; i < FAKE_MRS; i++) {
        fake_shared_mr_t *m = &fake_fabric->mr[i];
        if (m->pid == getpid() && m->at < (uintptr_t) at + bytes &&
            (uintptr_t) at < m->at + m->bytes)
            m->gone = true;
    }
    fake_unlock();
}

int ibv_fork_init(void)
{
    return 0;
}

/* ---- completion ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    static unsigned made;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int error = fake_fault("create_comp_channel");
    fake_channel_t *c = error ? NULL : calloc(1, sizeof(*c));
    if (!c) {
        errno = error ? error : ENOMEM;
        return NULL;
    }
    c->v.context = context;
    c->v.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(c->name, sizeof(c->name), "dnet-fake-%d-%u", getpid(), made++);
    memcpy(a.sun_path + 1, c->name, sizeof(c->name));
    if (bind(c->v.fd, (struct sockaddr *) &a, sizeof(a.sun_family) + 1 + sizeof(c->name)) != 0) {
        close(c->v.fd);
        free(c);
        return NULL;
    }
    return &c->v;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    free(channel);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    int error = cqe > FAKE_CQES ? EINVAL : fake_fault("create_cq");
    fake_cq_t *cq = error ? NULL : calloc(1, sizeof(*cq));
    (void) vector;
    if (cq)
        cq->ring = calloc((size_t) cqe, sizeof(*cq->ring));
    if (!cq || !cq->ring) {
        free(cq);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    fake_lock();
    int index = TAKE(fake_fabric->cq);
    fake_unlock();
    if (index < 0) {
        free(cq->ring);
        free(cq);
        errno = ENOMEM;
        return NULL;
    }
    cq->size = (uint32_t) cqe;
    cq->shared = &fake_fabric->cq[index];
    cq->shared->armed = false;
    memset(cq->shared->channel, 0, sizeof(cq->shared->channel));
    if (channel)
        memcpy(cq->shared->channel, ((fake_channel_t *) channel)->name,
               sizeof(cq->shared->channel));
    cq->v.context = context;
    cq->v.channel = channel;
    cq->v.cq_context = cq_context;
    cq->v.handle = (uint32_t) index;
    cq->v.cqe = cqe;
    return &cq->v;
}

int ibv_destroy_cq(struct ibv_cq *v)
{
    fake_cq_t *cq = (fake_cq_t *) v;
    cq->shared->pid = 0;
    free(cq->ring);
    free(cq);
    return 0;
}

/* The handle itself comes by the channel. */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    struct ibv_cq *of = NULL;
    uint32_t index;
    if (recv(channel->fd, &index, sizeof(index), 0) != sizeof(index))
        return -1;
    for (fake_qp_t *q = fake_context_of(channel->context)->qps; q && !of; q = q->next)
        of = q->v.recv_cq->handle == index   ? q->v.recv_cq
             : q->v.send_cq->handle == index ? q->v.send_cq
                                             : NULL;
    *cq = of;
    *cq_context = of ? of->cq_context : NULL;
    return of ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
    cq->comp_events_completed += n;
}

/* Those of a queue pair end with it. */
int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
    fake_event_t e;
    while (recv(c->async_fd, &e, sizeof(e), 0) == sizeof(e)) {
        fake_qp_t *q = fake_context_of(c)->qps;
        while (q && e.qpn && q->v.qp_num != e.qpn)
            q = q->next;
        if (e.qpn && !q)
            continue;
        if (e.qpn)
            q->events++;
        *event = e.v;
        return 0;
    }
    return -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    if (event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
        ((fake_qp_t *) event->element.qp)->events--;
}

/* ---- queues ---- */

static bool make_recvs(fake_recvs_t *r, uint32_t size)
{
    r->size = size ? size : 1;
    r->ring = calloc(r->size, sizeof(*r->ring));
    return r->ring;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    int error = fake_fault("create_srq");
    fake_srq_t *s = error ? NULL : calloc(1, sizeof(*s));
    if (!s || !make_recvs(&s->recvs, init->attr.max_wr)) {
        free(s);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    fake_lock();
    int index = TAKE(fake_fabric->srq);
    fake_unlock();
    if (index < 0) {
        free(s->recvs.ring);
        free(s);
        errno = ENOMEM;
        return NULL;
    }
    s->shared = &fake_fabric->srq[index];
    s->shared->credit = 0;
    s->v.context = pd->context;
    s->v.pd = pd;
    s->v.handle = (uint32_t) index;
    return &s->v;
}

int ibv_destroy_srq(struct ibv_srq *v)
{
    fake_srq_t *s = (fake_srq_t *) v;
    s->shared->pid = 0;
    free(s->recvs.ring);
    free(s);
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    int error = fake_fault(init->qp_type == IBV_QPT_UD ? "create_ud" : "create_qp");
    fake_context_t *c = fake_context_of(pd->context);
    fake_qp_t *q;
    if (!error && init->cap.max_inline_data > 256)
        error = EINVAL;
    q = error ? NULL : calloc(1, sizeof(*q));
    if (q)
        q->sends = calloc(init->cap.max_send_wr, sizeof(*q->sends));
    if (!q || !q->sends || !make_recvs(&q->recvs, init->cap.max_recv_wr)) {
        free(q ? q->sends : NULL);
        free(q);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    q->size = init->cap.max_send_wr;
    q->signal_all = init->sq_sig_all;
    fake_lock();
    int index = TAKE(fake_fabric->qp);
    if (index >= 0) {
        q->shared = &fake_fabric->qp[index];
        *q->shared = (fake_shared_qp_t){.pid = getpid(),
                                        .qpn = FAKE_QPN + (uint32_t) index +
                                               (++fake_fabric->salt % 1024) * FAKE_QPS,
                                        .context = c->index,
                                        .type = init->qp_type,
                                        .state = IBV_QPS_RESET,
                                        .recv_cq = init->recv_cq->handle,
                                        .srq = init->srq ? (int32_t) init->srq->handle : -1};
        q->next = c->qps;
        c->qps = q;
    }
    fake_unlock();
    if (index < 0) {
        free(q->recvs.ring);
        free(q->sends);
        free(q);
        errno = ENOMEM;
        return NULL;
    }
    q->v.context = pd->context;
    q->v.pd = pd;
    q->v.send_cq = init->send_cq;
    q->v.recv_cq = init->recv_cq;
    q->v.srq = init->srq;
    q->v.qp_context = init->qp_context;
    q->v.qp_num = q->shared->qpn;
    q->v.handle = (uint32_t) index;
    q->v.qp_type = init->qp_type;
    q->attr.cap = init->cap;
    return &q->v;
}

/* Nothing of it completes any more, also what has completed and not been polled. */
int ibv_destroy_qp(struct ibv_qp *v)
{
    fake_qp_t *q = (fake_qp_t *) v;
    fake_qp_t **link = &fake_context_of(v->context)->qps;
    if (q->events)
        abort(); /* the real one waits for ever */
    fake_lock();
    fake_arrive(fake_context_of(v->context));
    fake_forget(v->send_cq, v->qp_num);
    fake_forget(v->recv_cq, v->qp_num);
    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    q->shared->pid = 0;
    fake_unlock();
    for (; q->head != q->tail; q->head++)
        free(q->sends[q->head % q->size].inlined);
    free(q->sends);
    free(q->recvs.ring);
    free(q);
    return 0;
}

/* RoCE needs a global route, as some ports of InfiniBand do, from a GID of type RoCE v2: others
 * leave by another protocol. */
static bool is_way(struct ibv_context *c, const struct ibv_ah_attr *a)
{
    struct ibv_gid_entry e = {.gid_index = 0};
    return is_kind("ib") ||
           (a->is_global && _ibv_query_gid_ex(c, 1, a->grh.sgid_index, &e, 0, sizeof(e)) == 0 &&
            e.gid_type == (is_ib() ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2));
}

int ibv_modify_qp(struct ibv_qp *v, struct ibv_qp_attr *attr, int mask)
{
    static const char *const call[] = {"to_reset", "to_init", "to_rtr", "to_rts",
                                       "to_sqd",   "to_sqe",  "to_err"};
    static const int rc[] = {
        [IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        [IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                        IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        [IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC};
    fake_qp_t *q = (fake_qp_t *) v;
    enum ibv_qp_state to = attr->qp_state;
    int error = fake_fault(call[to]);
    if (error)
        return error;
    if (to >= IBV_QPS_INIT && to <= IBV_QPS_RTS &&
        (q->v.state != to - 1 || (v->qp_type == IBV_QPT_RC && (mask & rc[to]) != rc[to])))
        return EINVAL;
    if (to == IBV_QPS_RTR && (mask & IBV_QP_AV) && !is_way(v->context, &attr->ah_attr))
        return EINVAL;
    fake_lock();
    if (to == IBV_QPS_INIT)
        q->shared->qkey = attr->qkey;
    if (to == IBV_QPS_RTR)
        q->shared->dest = attr->dest_qp_num;
    if (to == IBV_QPS_RTS) {
        q->attr.timeout = attr->timeout;
        q->attr.retry_cnt = attr->retry_cnt;
        q->attr.rnr_retry = attr->rnr_retry;
    }
    if (to == IBV_QPS_ERR)
        fake_to_error(q);
    q->v.state = to;
    q->shared->state = to;
    fake_unlock();
    return 0;
}

int ibv_query_qp(struct ibv_qp *v, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    fake_qp_t *q = (fake_qp_t *) v;
    (void) mask;
    *attr = q->attr;
    attr->qp_state = v->state;
    memset(init, 0, sizeof(*init));
    init->cap = q->attr.cap;
    return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    (void) qp;
    return NULL;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    unsigned device = fake_context_of(pd->context)->device;
    int error = fake_fault(fake_of_device("create_ah", device));
    if (!error && !is_way(pd->context, attr))
        error = EINVAL;
    fake_ah_t *a = error ? NULL : calloc(1, sizeof(*a));
    if (!a) {
        errno = error ? error : ENOMEM;
        return NULL;
    }
    a->v.context = pd->context;
    a->v.pd = pd;
    a->attr = *attr;
    return &a->v;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

/* ---- names ---- */

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_SUCCESS             ? "success"
           : status == IBV_WC_RETRY_EXC_ERR     ? "transport retry counter exceeded"
           : status == IBV_WC_RNR_RETRY_EXC_ERR ? "RNR retry counter exceeded"
           : status == IBV_WC_WR_FLUSH_ERR      ? "Work Request Flushed Error"
                                                : "error";
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
    return event == IBV_EVENT_PORT_ERR      ? "port error"
           : event == IBV_EVENT_PORT_ACTIVE ? "port active"
                                            : "event";
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
    return state == IBV_PORT_ACTIVE ? "PORT_ACTIVE" : state == IBV_PORT_DOWN ? "PORT_DOWN" : "?";
}
