/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each collective in its six ways: blocking, nonblocking and persistent, with counts of 32 bits and
 * with large ones; types and operations are given back at once.  And the neighborhood
 * collectives, in a graph in which few processes receive from as many as they send to.
 */
#include "check.h"

enum { STARTS = 3, MOST = 16, ELEMENTS = 37, PAIRS = MOST * (ELEMENTS + 3) };

typedef enum { BLOCKING, NONBLOCKING, PERSISTENT, WAYS } way_t;

typedef struct {
    way_t way;
    int large;
} how_t;

static MPI_Request request;
static MPI_Comm comm;

/* NAME and LOWER: MPI_NAME and MPI_ILOWER; ARGUMENTS and LARGE, in parentheses, end before comm. */
#define LIST(...) __VA_ARGS__
#define CALL(NAME, LOWER, ARGUMENTS, LARGE) \
    do { \
        if (how.way == BLOCKING && !how.large) \
            MPI_##NAME(LIST ARGUMENTS, comm); \
        else if (how.way == BLOCKING) \
            MPI_##NAME##_c(LIST LARGE, comm); \
        else if (how.way == NONBLOCKING && !how.large) \
            MPI_I##LOWER(LIST ARGUMENTS, comm, &request); \
        else if (how.way == NONBLOCKING) \
            MPI_I##LOWER##_c(LIST LARGE, comm, &request); \
        else if (!how.large) \
            MPI_##NAME##_init(LIST ARGUMENTS, comm, MPI_INFO_NULL, &request); \
        else \
            MPI_##NAME##_init_c(LIST LARGE, comm, MPI_INFO_NULL, &request); \
    } while (0)

/* Blocks that differ, one behind the other with a gap of one element. */
typedef struct {
    int count[MOST], place[MOST], byte[MOST], many;
    MPI_Count large_count[MOST];
    MPI_Aint large_place[MOST], large_byte[MOST];
    MPI_Datatype type[MOST];
} blocks_t;

static void add_block(blocks_t *b, int count, int element_bytes, MPI_Datatype type)
{
    int i = b->many++, end = i ? b->place[i - 1] + b->count[i - 1] + 1 : 0;
    b->count[i] = count;
    b->large_count[i] = count;
    b->place[i] = end;
    b->large_place[i] = end;
    b->byte[i] = end * element_bytes;
    b->large_byte[i] = b->byte[i];
    b->type[i] = type;
}

/* Of each four ints the first and the third. */
static MPI_Datatype with_gaps(void)
{
    MPI_Datatype vector, type;
    MPI_Type_vector_c(2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized_c(vector, 0, 4 * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

/* Begins what CALL has made.  Another type is in the place of one that was given back, in half of
 * the cases; and none is given back twice, or two that are made then are the same. */
static void complete(how_t how)
{
    MPI_Datatype types[3];
    for (int i = 0; i < 3; i++) {
        if (i == how.large && how.way == PERSISTENT)
            MPI_Start(&request);
        if (i == how.large && how.way != BLOCKING)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        types[i] = with_gaps();
    }
    CHECK(types[0] != types[1] && types[1] != types[2] && types[2] != types[0],
          "two types are one");
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
}

/* ---- collectives ---- */

enum {
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};

/* Does not commute: two ints a and b are x -> a x + b. */
static void compose(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    const unsigned *f = in;
    unsigned *g = inout;
    (void) type;
    for (MPI_Count i = 0; i < *len; i++, f += 4, g += 4) {
        g[2] += g[0] * f[2];
        g[0] *= f[0];
    }
}

static void call(how_t how, int kind, const void *in, void *out, int root)
{
    const int n = ELEMENTS;
    blocks_t b = {.many = 0};
    MPI_Datatype t = with_gaps();
    MPI_Op op;
    for (int i = 0; i < size; i++)
        add_block(&b, n + i % 2, 4 * sizeof(int), t);
    MPI_Op_create_c(compose, 0, &op);
    switch (kind) {
        case BCAST:
            CALL(Bcast, bcast, (out, n, t, root), (out, n, t, root));
            break;
        case GATHER:
            CALL(Gather, gather, (in, n, t, out, n, t, root), (in, n, t, out, n, t, root));
            break;
        case GATHERV:
            CALL(Gatherv, gatherv, (in, b.count[rank], t, out, b.count, b.place, t, root),
                 (in, b.count[rank], t, out, b.large_count, b.large_place, t, root));
            break;
        case SCATTER:
            CALL(Scatter, scatter, (in, n, t, out, n, t, root), (in, n, t, out, n, t, root));
            break;
        case SCATTERV:
            CALL(Scatterv, scatterv, (in, b.count, b.place, t, out, b.count[rank], t, root),
                 (in, b.large_count, b.large_place, t, out, b.count[rank], t, root));
            break;
        case ALLGATHER:
            CALL(Allgather, allgather, (in, n, t, out, n, t), (in, n, t, out, n, t));
            break;
        case ALLGATHERV:
            CALL(Allgatherv, allgatherv, (in, b.count[rank], t, out, b.count, b.place, t),
                 (in, b.count[rank], t, out, b.large_count, b.large_place, t));
            break;
        case ALLTOALL:
            CALL(Alltoall, alltoall, (in, n, t, out, n, t), (in, n, t, out, n, t));
            break;
        case ALLTOALLV:
        case ALLTOALLW:
            for (int i = 0; i < size; i++) /* the same for both of a pair */
                b.large_count[i] = b.count[i] = n + (i + rank) % 2;
            if (kind == ALLTOALLV)
                CALL(Alltoallv, alltoallv, (in, b.count, b.place, t, out, b.count, b.place, t),
                     (in, b.large_count, b.large_place, t, out, b.large_count, b.large_place, t));
            else
                CALL(Alltoallw, alltoallw,
                     (in, b.count, b.byte, b.type, out, b.count, b.byte, b.type),
                     (in, b.large_count, b.large_byte, b.type, out, b.large_count, b.large_byte,
                      b.type));
            break;
        case REDUCE:
            CALL(Reduce, reduce, (in, out, n, t, op, root), (in, out, n, t, op, root));
            break;
        case ALLREDUCE:
            CALL(Allreduce, allreduce, (in, out, n, t, op), (in, out, n, t, op));
            break;
        case REDUCE_SCATTER:
            CALL(Reduce_scatter, reduce_scatter, (in, out, b.count, t, op),
                 (in, out, b.large_count, t, op));
            break;
        case REDUCE_SCATTER_BLOCK:
            CALL(Reduce_scatter_block, reduce_scatter_block, (in, out, n, t, op),
                 (in, out, n, t, op));
            break;
        case SCAN:
            CALL(Scan, scan, (in, out, n, t, op), (in, out, n, t, op));
            break;
        case EXSCAN:
            CALL(Exscan, exscan, (in, out, n, t, op), (in, out, n, t, op));
            break;
    }
    MPI_Type_free(&t);
    MPI_Op_free(&op);
}

static int in_place(int kind)
{
    return kind >= ALLGATHER && kind != REDUCE;
}

static void fill(int *buf, int seed)
{
    for (int i = 0; i < 4 * PAIRS; i++)
        buf[i] = seed + rank * 1000 + i;
}

/* The result is that of the blocking call, with data of each start. */
static void collective(how_t how, int kind, int root, int inside)
{
    static int in[4 * PAIRS], out[4 * PAIRS], due[4 * PAIRS];
    const void *from = inside ? MPI_IN_PLACE : in;
    if (how.way == PERSISTENT)
        call(how, kind, from, out, root);
    for (int k = 0; k < (how.way == PERSISTENT ? STARTS : 1); k++) {
        int i = 0;
        fill(in, k);
        fill(out, k + 7);
        fill(due, k + 7);
        if (how.way != PERSISTENT)
            call(how, kind, from, out, root);
        complete(how);
        call((how_t){BLOCKING, 0}, kind, from, due, root);
        while (i < 4 * PAIRS && out[i] == due[i])
            i++;
        CHECK(i == 4 * PAIRS, "kind %d, way %d, large %d, root %d, in place %d, start %d: int %d",
              kind, how.way, how.large, root, inside, k, i);
    }
    if (how.way == PERSISTENT)
        MPI_Request_free(&request);
}

/* ---- neighborhoods ---- */

enum { N_ALLGATHER, N_ALLGATHERV, N_ALLTOALL, N_ALLTOALLV, N_ALLTOALLW, N_KINDS };

/* This process in the graph: which of a source's edges each of its own is. */
static int sources, source[MOST], edge[MOST], destinations;

/* Each sends to the next process; even ones, too, to themselves and to rank 0 twice. */
static int edges_of(int r, int to[4])
{
    const int all[4] = {(r + 1) % size, r, 0, 0};
    int n = r % 2 ? 1 : 4;
    memcpy(to, all, (size_t) n * sizeof(int));
    return n;
}

static void make_graph(void)
{
    int to[4], from[MOST], again[4];
    for (int r = 0; r < size; r++)
        for (int k = 0, n = edges_of(r, to); k < n; k++)
            if (to[k] == rank) {
                source[sources] = r;
                edge[sources++] = k;
            }
    destinations = edges_of(rank, to);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, source, MPI_UNWEIGHTED, destinations,
                                   to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    for (int i = 0; i < MOST; i++)
        from[i] = -1;
    MPI_Dist_graph_neighbors(comm, MOST, from, MPI_UNWEIGHTED, 4, again, MPI_UNWEIGHTED);
    CHECK(!memcmp(from, source, (size_t) sources * sizeof(int)) && from[sources] == -1 &&
              !memcmp(again, to, (size_t) destinations * sizeof(int)),
          "other neighbors, or %d behind them", from[sources]);
}

static int length(int kind, int k)
{
    return ELEMENTS + (kind == N_ALLTOALLV || kind == N_ALLTOALLW ? k % 3 : 0);
}

static void call_neighbors(how_t how, int kind, const int *in, int *out)
{
    const int n = ELEMENTS;
    blocks_t s = {.many = 0}, r = {.many = 0};
    MPI_Datatype two, gaps = with_gaps();
    MPI_Type_contiguous_c(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    for (int k = 0; k < destinations; k++)
        add_block(&s, length(kind, k), 2 * sizeof(int), two);
    for (int k = 0; k < sources; k++)
        add_block(&r, length(kind, edge[k]), 4 * sizeof(int), gaps);
    switch (kind) {
        case N_ALLGATHER:
            CALL(Neighbor_allgather, neighbor_allgather, (in, n, two, out, n, gaps),
                 (in, n, two, out, n, gaps));
            break;
        case N_ALLGATHERV:
            CALL(Neighbor_allgatherv, neighbor_allgatherv,
                 (in, n, two, out, r.count, r.place, gaps),
                 (in, n, two, out, r.large_count, r.large_place, gaps));
            break;
        case N_ALLTOALL:
            CALL(Neighbor_alltoall, neighbor_alltoall, (in, n, two, out, n, gaps),
                 (in, n, two, out, n, gaps));
            break;
        case N_ALLTOALLV:
            CALL(Neighbor_alltoallv, neighbor_alltoallv,
                 (in, s.count, s.place, two, out, r.count, r.place, gaps),
                 (in, s.large_count, s.large_place, two, out, r.large_count, r.large_place, gaps));
            break;
        case N_ALLTOALLW:
            CALL(Neighbor_alltoallw, neighbor_alltoallw,
                 (in, s.count, s.large_byte, s.type, out, r.count, r.large_byte, r.type),
                 (in, s.large_count, s.large_byte, s.type, out, r.large_count, r.large_byte,
                  r.type));
            break;
    }
    MPI_Type_free(&two);
    MPI_Type_free(&gaps);
}

static int value(int start, int from, int k, int i)
{
    return ((start * MOST + from) * 4 + k) * 1000 + i;
}

static void neighbors(how_t how, int kind)
{
    static int in[4 * PAIRS], out[4 * PAIRS], due[4 * PAIRS];
    const int gathers = kind == N_ALLGATHER || kind == N_ALLGATHERV;
    const int dense = kind == N_ALLGATHER || kind == N_ALLTOALL; /* no gaps between blocks */
    if (how.way == PERSISTENT)
        call_neighbors(how, kind, in, out);
    for (int start = 0; start < (how.way == PERSISTENT ? STARTS : 1); start++) {
        int at = 0, i = 0;
        for (int k = 0; k < destinations; k++) {
            for (int j = 0; j < 2 * length(kind, k); j++)
                in[2 * at + j] = value(start, rank, gathers ? 0 : k, j);
            at += gathers ? 0 : length(kind, k) + !dense;
        }
        memset(out, 0x55, sizeof(out));
        memset(due, 0x55, sizeof(due));
        at = 0;
        for (int k = 0; k < sources; k++) {
            for (int j = 0; j < 2 * length(kind, edge[k]); j++)
                due[4 * at + 2 * j] = value(start, source[k], gathers ? 0 : edge[k], j);
            at += length(kind, edge[k]) + !dense;
        }
        if (how.way != PERSISTENT)
            call_neighbors(how, kind, in, out);
        complete(how);
        while (i < 4 * PAIRS && out[i] == due[i])
            i++;
        CHECK(i == 4 * PAIRS, "neighbors: kind %d, way %d, large %d, start %d: int %d", kind,
              how.way, how.large, start, i);
    }
    if (how.way == PERSISTENT)
        MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int way = 0; way < WAYS; way++)
        for (int large = 0; large < 2; large++) {
            const how_t how = {(way_t) way, large};
            comm = MPI_COMM_WORLD;
            for (int kind = 0; kind < KINDS; kind++)
                for (int inside = 0; inside <= in_place(kind); inside++)
                    collective(how, kind, size - 1, inside);
        }
    make_graph();
    for (int way = 0; way < WAYS; way++)
        for (int large = 0; large < 2; large++)
            for (int kind = 0; kind < N_KINDS; kind++)
                neighbors((how_t){(way_t) way, large}, kind);
    MPI_Comm_free(&comm);
    return check_end();
}
