/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations, blocking or not, on communicators and intercommunicators; exchanges by
 * MPI_Sendrecv; partitioned messages.
 */
#include "random.h"

/* COLLECTIVE(name, may have an intercommunicator) */
#define COLLECTIVES(X) \
    X(BARRIER, true) \
    X(BCAST, true) \
    X(ALLGATHER, true) \
    X(ALLREDUCE, true) \
    X(ALLTOALL, true) \
    X(GATHER, false) \
    X(SCATTER, false) \
    X(REDUCE, false) \
    X(ALLGATHERV, false) \
    X(ALLTOALLV, false) \
    X(SCAN, false) \
    X(EXSCAN, false) \
    X(REDUCE_SCATTER, false)

#define KIND(name, inter) KIND_##name,
typedef enum { COLLECTIVES(KIND) KINDS } collective_kind_t;
#undef KIND
#define TITLE(name, inter) #name,
static const char *const titles[] = {COLLECTIVES(TITLE)};
#define INTER(name, inter) inter,
static const bool for_inter[] = {COLLECTIVES(INTER)};

struct collective {
    const comm_t *comm;
    collective_kind_t kind;
    int root;         /* member */
    size_t n;         /* bytes from each member to each; sums: words */
    uint64_t id;      /* of the operation */
    uint8_t *to_send; /* by member that gets it, or words */
    uint8_t *got;     /* by member that it came from, or words */
    int send_counts[RANKS_MAX], send_at[RANKS_MAX];
    int got_counts[RANKS_MAX], got_at[RANKS_MAX];
    MPI_Request request;
};

static uint64_t pair_id(const collective_t *op, int from, int to)
{
    return mix(op->id + (uint64_t) from * 64 + (uint64_t) to + 1);
}

/* Bytes from one member to another, where they may differ. */
static int pair_bytes(const collective_t *op, int from, int to)
{
    return (int) (pair_id(op, from, to) % (op->n + 1));
}

static uint64_t word_of(const collective_t *op, int member, size_t i)
{
    return mix(op->id + (uint64_t) member * 977 + i);
}

static bool other_side(const collective_t *op, int member)
{
    const comm_t *c = op->comm;
    return !c->inter || c->side[member] != c->side[c->me];
}

/* Members whose data this one gets, in order of their ranks; numbers of an intercommunicator's
 * sides are in that order too. */
static int sources(const collective_t *op, int *members)
{
    int n = 0;
    for (int i = 0; i < op->comm->members; i++)
        if (other_side(op, i))
            members[n++] = i;
    return n;
}

static bool is_sum(collective_kind_t kind)
{
    return kind == KIND_ALLREDUCE || kind == KIND_REDUCE || kind == KIND_SCAN ||
           kind == KIND_EXSCAN || kind == KIND_REDUCE_SCATTER;
}

static void lay_out(collective_t *op)
{
    int peers[RANKS_MAX], n = sources(op, peers), send_at = 0, got_at = 0, me = op->comm->me;
    for (int k = 0; k < n; k++) {
        op->send_counts[k] = op->got_counts[k] = (int) op->n;
        if (op->kind == KIND_ALLTOALLV) {
            op->send_counts[k] = pair_bytes(op, me, peers[k]);
            op->got_counts[k] = pair_bytes(op, peers[k], me);
        } else if (op->kind == KIND_ALLGATHERV) {
            op->send_counts[k] = pair_bytes(op, me, me);
            op->got_counts[k] = pair_bytes(op, peers[k], peers[k]);
        }
        op->send_at[k] = send_at;
        op->got_at[k] = got_at;
        send_at += op->send_counts[k];
        got_at += op->got_counts[k];
    }
}

static bool to_each(collective_kind_t kind)
{
    return kind == KIND_ALLTOALL || kind == KIND_ALLTOALLV || kind == KIND_SCATTER;
}

/* The id of the bytes that `from` has for `to`. */
static uint64_t bytes_id(const collective_t *op, int from, int to)
{
    return to_each(op->kind) ? pair_id(op, from, to) : pair_id(op, from, from);
}

static void prepare(collective_t *op)
{
    int me = op->comm->me, peers[RANKS_MAX], n = sources(op, peers);
    size_t bytes = (op->n + 1) * RANKS_MAX * 8;
    op->to_send = malloc(bytes);
    op->got = malloc(bytes);
    if (!op->to_send || !op->got)
        abort();
    memset(op->got, 0xc3, bytes);
    lay_out(op);
    if (is_sum(op->kind)) {
        for (size_t i = 0; i < op->n * RANKS_MAX; i++)
            ((uint64_t *) (void *) op->to_send)[i] = word_of(op, me, i);
        return;
    }
    for (int k = 0; k < n; k++) {
        pattern_fill(op->to_send + op->send_at[k], (size_t) op->send_counts[k],
                     bytes_id(op, me, peers[k]));
        if (!to_each(op->kind))
            break;
    }
    if (op->kind == KIND_BCAST && op->root == me)
        memcpy(op->got, op->to_send, op->n);
}

/* Its argument of MPI_Bcast where an intercommunicator has two sides. */
static int root_rank(const collective_t *op)
{
    const comm_t *c = op->comm;
    if (!c->inter || c->side[op->root] != c->side[c->me])
        return c->rank[op->root];
    return op->root == c->me ? MPI_ROOT : MPI_PROC_NULL;
}

#define CALL(name, ...) \
    (blocking ? MPI_##name(__VA_ARGS__) : MPI_I##name##_(__VA_ARGS__, &op->request))
#define MPI_IBarrier_ MPI_Ibarrier
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IGather_ MPI_Igather
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IAllgatherv_ MPI_Iallgatherv
#define MPI_IAlltoallv_ MPI_Ialltoallv
#define MPI_IScan_ MPI_Iscan
#define MPI_IExscan_ MPI_Iexscan
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block

static int call(collective_t *op, bool blocking)
{
    MPI_Comm comm = op->comm->comm;
    int n = (int) op->n, root = root_rank(op);
    void *from = op->to_send, *to = op->got;
    switch (op->kind) {
        case KIND_BARRIER:
            return CALL(Barrier, comm);
        case KIND_BCAST:
            return CALL(Bcast, to, n, MPI_BYTE, root, comm);
        case KIND_ALLGATHER:
            return CALL(Allgather, from, n, MPI_BYTE, to, n, MPI_BYTE, comm);
        case KIND_ALLREDUCE:
            return CALL(Allreduce, from, to, n, MPI_UINT64_T, MPI_SUM, comm);
        case KIND_ALLTOALL:
            return CALL(Alltoall, from, n, MPI_BYTE, to, n, MPI_BYTE, comm);
        case KIND_GATHER:
            return CALL(Gather, from, n, MPI_BYTE, to, n, MPI_BYTE, root, comm);
        case KIND_SCATTER:
            return CALL(Scatter, from, n, MPI_BYTE, to, n, MPI_BYTE, root, comm);
        case KIND_REDUCE:
            return CALL(Reduce, from, to, n, MPI_UINT64_T, MPI_BXOR, root, comm);
        case KIND_ALLGATHERV:
            return CALL(Allgatherv, from, op->send_counts[0], MPI_BYTE, to, op->got_counts,
                        op->got_at, MPI_BYTE, comm);
        case KIND_ALLTOALLV:
            return CALL(Alltoallv, from, op->send_counts, op->send_at, MPI_BYTE, to, op->got_counts,
                        op->got_at, MPI_BYTE, comm);
        case KIND_SCAN:
            return CALL(Scan, from, to, n, MPI_UINT64_T, MPI_SUM, comm);
        case KIND_EXSCAN:
            return CALL(Exscan, from, to, n, MPI_UINT64_T, MPI_SUM, comm);
        case KIND_REDUCE_SCATTER:
            return CALL(Reduce_scatter_block, from, to, n, MPI_UINT64_T, MPI_SUM, comm);
        case KINDS:
            break;
    }
    return MPI_ERR_ARG;
}

collective_t *collective_start(player_t *p, const comm_t *c, bool blocking)
{
    collective_t *op = calloc(1, sizeof(*op));
    if (!op)
        abort();
    op->comm = c;
    do
        op->kind = (collective_kind_t) below(&p->plan, KINDS);
    while (c->inter && !for_inter[op->kind]);
    op->root = (int) below(&p->plan, (uint32_t) c->members);
    /* MPICH 4.0.2's MPI_Ibcast takes the root's rank for that of a receiver
     * (ibcast_inter_sched_flat.c)
     */
    while (c->inter && c->rank[op->root] != 0)
        op->root--;
    op->n = any_size(&p->plan, p->size_max / 16);
    if (is_sum(op->kind))
        op->n /= 8;
    op->id = rng_next(&p->plan);
    op->request = MPI_REQUEST_NULL;
    prepare(op);
    at(p, titles[op->kind], (int) op->n, op->root);
    expect_ok(p, call(op, blocking), titles[op->kind]);
    return op;
}

static void compare_sum(player_t *p, const collective_t *op)
{
    const comm_t *c = op->comm;
    int me = c->me, first = 0, last = c->members - 1;
    size_t from = 0;
    if (op->kind == KIND_SCAN)
        last = me;
    if (op->kind == KIND_EXSCAN)
        last = me - 1;
    if (op->kind == KIND_REDUCE_SCATTER)
        from = op->n * (size_t) me;
    if ((op->kind == KIND_REDUCE && op->root != me) || last < 0)
        return;
    for (size_t i = 0; i < op->n; i++) {
        uint64_t want = 0, got = ((const uint64_t *) (const void *) op->got)[i];
        for (int k = first; k <= last; k++) {
            if (!other_side(op, k))
                continue;
            uint64_t word = word_of(op, k, from + i);
            want = op->kind == KIND_REDUCE ? want ^ word : want + word;
        }
        if (got != want)
            differs(p, "%s: word %zu of %zu is 0x%llx instead of 0x%llx", titles[op->kind], i,
                    op->n, (unsigned long long) got, (unsigned long long) want);
    }
}

static void compare_bytes(player_t *p, const collective_t *op, const uint8_t *got, size_t len,
                          int from)
{
    size_t good = pattern_differs(got, len, bytes_id(op, from, op->comm->me));
    if (good != len)
        differs(p, "%s: byte %zu of %zu from %d is 0x%x", titles[op->kind], good, len, from,
                got[good]);
}

void collective_finish(player_t *p, collective_t *op)
{
    int peers[RANKS_MAX], n = sources(op, peers);
    MPI_Status status;
    at(p, titles[op->kind], (int) op->n, op->root);
    if (op->request != MPI_REQUEST_NULL)
        expect_ok(p, request_finish(p, &op->request, &status), titles[op->kind]);
    if (is_sum(op->kind))
        compare_sum(p, op);
    else if (op->kind == KIND_SCATTER || (op->kind == KIND_BCAST && other_side(op, op->root)))
        compare_bytes(p, op, op->got, op->n, op->root);
    else if (op->kind != KIND_BARRIER && op->kind != KIND_BCAST &&
             !(op->kind == KIND_GATHER && op->root != op->comm->me))
        for (int k = 0; k < n; k++)
            compare_bytes(p, op, op->got + op->got_at[k], (size_t) op->got_counts[k], peers[k]);
    free(op->to_send);
    free(op->got);
    free(op);
    progressed(p);
}

void step_collectives(player_t *p)
{
    collective_t *ops[8];
    const comm_t *c = &p->comms[below(&p->plan, (uint32_t) p->comms_count)];
    int started = 0, n = 1 + (int) below(&p->plan, 8);
    if (c->me < 0)
        return;
    for (int i = 0; i < n; i++) {
        bool blocking = chance(&p->plan, 50);
        ops[started++] = collective_start(p, c, blocking);
        if (blocking && chance(&p->plan, 30))
            collective_finish(p, ops[--started]);
    }
    while (started)
        collective_finish(p, ops[--started]);
}

/* ---- exchanges ---- */

/* Each member sends to the one `distance` behind it. */
void step_exchange(player_t *p)
{
    const comm_t *c = &p->comms[below(&p->plan, (uint32_t) p->comms_count)];
    int rounds = 1 + (int) below(&p->plan, 20), tag = p->step % 1000 * 1024 + 1023;
    if (c->me < 0 || c->inter)
        return;
    for (int i = 0; i < rounds; i++) {
        int distance = (int) below(&p->plan, (uint32_t) c->members);
        int to = (c->me + distance) % c->members;
        int from = (c->me + c->members - distance) % c->members;
        size_t len = any_size(&p->plan, p->size_max / 4);
        uint64_t id = rng_next(&p->plan);
        bool replace = chance(&p->plan, 40);
        buffer_t out, in;
        MPI_Status status;
        char why[160];
        buffer_make(&out, &p->own, len, false);
        buffer_make(&in, &p->own, len, false);
        buffer_fill(&out, id + (uint64_t) c->me);
        at(p, replace ? "MPI_Sendrecv_replace" : "MPI_Sendrecv", i, from);
        int code = replace ? MPI_Sendrecv_replace(out.base, out.count, out.type, to, tag, from, tag,
                                                  c->comm, &status)
                           : MPI_Sendrecv(out.base, out.count, out.type, to, tag, in.base, in.count,
                                          in.type, from, tag, c->comm, &status);
        expect_ok(p, code, "MPI_Sendrecv");
        if (!buffer_holds(replace ? &out : &in, len, id + (uint64_t) from, why, sizeof(why)))
            differs(p, "%zu bytes: %s", len, why);
        buffer_free(&out);
        buffer_free(&in);
        progressed(p);
    }
}

/* Partitioned messages to the next member, several times. */
void step_partitioned(player_t *p)
{
    const comm_t *c = &p->comms[below(&p->plan, (uint32_t) p->comms_count)];
    int parts = 1 + (int) below(&p->plan, 8), rounds = 1 + (int) below(&p->plan, 3);
    int n = (int) any_size(&p->plan, p->size_max / 16) / parts;
    int tag = p->step % 1000 * 1024 + 1022;
    uint64_t id = rng_next(&p->plan);
    if (c->me < 0 || c->inter)
        return;
    size_t bytes = (size_t) (n * parts);
    uint8_t *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    int to = (c->me + 1) % c->members, from = (c->me + c->members - 1) % c->members;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (!out || !in)
        abort();
    at(p, "partitioned", n, from);
    expect_ok(
        p, MPI_Precv_init(in, parts, n, MPI_BYTE, from, tag, c->comm, MPI_INFO_NULL, &requests[0]),
        "MPI_Precv_init");
    expect_ok(
        p, MPI_Psend_init(out, parts, n, MPI_BYTE, to, tag, c->comm, MPI_INFO_NULL, &requests[1]),
        "MPI_Psend_init");
    for (int round = 0; round < rounds; round++) {
        int first = (int) below(&p->own, (uint32_t) parts);
        pattern_fill(out, bytes, id + (uint64_t) (c->me * 16 + round));
        expect_ok(p, MPI_Startall(2, requests), "MPI_Startall");
        for (int i = 0; i < parts; i++)
            expect_ok(p, MPI_Pready((first + i) % parts, requests[1]), "MPI_Pready");
        expect_ok(p, MPI_Waitall(2, requests, statuses), "MPI_Waitall");
        if (pattern_differs(in, bytes, id + (uint64_t) (from * 16 + round)) != bytes)
            differs(p, "%d parts of %d bytes are wrong in round %d", parts, n, round);
        progressed(p);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(out);
    free(in);
}
