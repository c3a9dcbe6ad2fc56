/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every persistent collective, started several times with other data each time: the results are
 * those of the blocking one.
 */
#include "check.h"

enum { STARTS = 4, MOST = 5000 };

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

static const char *const names[KINDS] = {
    "bcast",          "gather",
    "gatherv",        "scatter",
    "scatterv",       "allgather",
    "allgatherv",     "alltoall",
    "alltoallv",      "alltoallw",
    "reduce",         "allreduce",
    "reduce_scatter", "reduce_scatter_block",
    "scan",           "exscan",
};

static int *counts, *places, *bytes; /* by rank, of the collectives that take them */
static MPI_Datatype *types;

/* Does not commute: the composition of x -> a x + b, of which an element is (a, b) in 32 bits. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const uint32_t *f = in;
    uint32_t *g = inout;
    (void) type;
    for (int i = 0; i < *len; i++) {
        uint32_t a = f[i] >> 16, b = f[i] & 0xffff, c = g[i] >> 16, d = g[i] & 0xffff;
        g[i] = (a * c & 0xffff) << 16 | ((c * b + d) & 0xffff);
    }
}

static void blocking(int kind, const int *in, int *out, int n, int root, MPI_Op op)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
        case BCAST:
            memcpy(out, in, (size_t) n * sizeof(int));
            MPI_Bcast(out, n, MPI_INT, root, comm);
            break;
        case GATHER:
            MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm);
            break;
        case GATHERV:
            MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, root, comm);
            break;
        case SCATTER:
            MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm);
            break;
        case SCATTERV:
            MPI_Scatterv(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, root, comm);
            break;
        case ALLGATHER:
            MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
            break;
        case ALLGATHERV:
            MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
            break;
        case ALLTOALL:
            MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
            break;
        case ALLTOALLV:
        case ALLTOALLW:
            MPI_Alltoall(in, n + 1, MPI_INT, out, n + 1, MPI_INT, comm);
            break;
        case REDUCE:
            MPI_Reduce(in, out, n, MPI_INT, op, root, comm);
            break;
        case ALLREDUCE:
            MPI_Allreduce(in, out, n, MPI_INT, op, comm);
            break;
        case REDUCE_SCATTER:
            MPI_Reduce_scatter(in, out, counts, MPI_INT, op, comm);
            break;
        case REDUCE_SCATTER_BLOCK:
            MPI_Reduce_scatter_block(in, out, n, MPI_INT, op, comm);
            break;
        case SCAN:
            MPI_Scan(in, out, n, MPI_INT, op, comm);
            break;
        case EXSCAN:
            MPI_Exscan(in, out, n, MPI_INT, op, comm);
            break;
    }
}

/* The same, to be started. */
static void init(int kind, const int *in, int *out, int n, int root, MPI_Op op, MPI_Request *r)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    switch (kind) {
        case BCAST:
            MPI_Bcast_init(out, n, MPI_INT, root, comm, info, r);
            break;
        case GATHER:
            MPI_Gather_init(in, n, MPI_INT, out, n, MPI_INT, root, comm, info, r);
            break;
        case GATHERV:
            MPI_Gatherv_init(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, root, comm,
                             info, r);
            break;
        case SCATTER:
            MPI_Scatter_init(in, n, MPI_INT, out, n, MPI_INT, root, comm, info, r);
            break;
        case SCATTERV:
            MPI_Scatterv_init(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, root, comm,
                              info, r);
            break;
        case ALLGATHER:
            MPI_Allgather_init(in, n, MPI_INT, out, n, MPI_INT, comm, info, r);
            break;
        case ALLGATHERV:
            MPI_Allgatherv_init(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm, info,
                                r);
            break;
        case ALLTOALL:
            MPI_Alltoall_init(in, n, MPI_INT, out, n, MPI_INT, comm, info, r);
            break;
        case ALLTOALLV:
            MPI_Alltoallv_init(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm,
                               info, r);
            break;
        case ALLTOALLW:
            MPI_Alltoallw_init(in, counts, bytes, types, out, counts, bytes, types, comm, info, r);
            break;
        case REDUCE:
            MPI_Reduce_init(in, out, n, MPI_INT, op, root, comm, info, r);
            break;
        case ALLREDUCE:
            MPI_Allreduce_init(in, out, n, MPI_INT, op, comm, info, r);
            break;
        case REDUCE_SCATTER:
            MPI_Reduce_scatter_init(in, out, counts, MPI_INT, op, comm, info, r);
            break;
        case REDUCE_SCATTER_BLOCK:
            MPI_Reduce_scatter_block_init(in, out, n, MPI_INT, op, comm, info, r);
            break;
        case SCAN:
            MPI_Scan_init(in, out, n, MPI_INT, op, comm, info, r);
            break;
        case EXSCAN:
            MPI_Exscan_init(in, out, n, MPI_INT, op, comm, info, r);
            break;
    }
}

/* Blocks of n elements; of n + 1, one behind the other, where each rank's has its own count. */
static void repeat(int kind, int n, int root, MPI_Op op)
{
    const size_t all = (size_t) (n + 1) * (size_t) size;
    int *in = check_alloc(all * sizeof(int)), *out = check_alloc(all * sizeof(int));
    int *due = check_alloc(all * sizeof(int));
    MPI_Request request;
    for (int i = 0; i < size; i++) {
        counts[i] = n + 1;
        places[i] = i * (n + 1);
        bytes[i] = places[i] * (int) sizeof(int);
        types[i] = MPI_INT;
    }
    memset(in, 0x55, all * sizeof(int)); /* nothing that may be taken already */
    memset(out, 0x55, all * sizeof(int));
    init(kind, in, out, n, root, op, &request);
    for (int k = 0; k < STARTS; k++) {
        for (size_t i = 0; i < all; i++) {
            in[i] = (int) ((uint32_t) (k * 7919 + rank * 104729) + (uint32_t) i * 31u);
            out[i] = due[i] = -1 - k;
        }
        if (kind == BCAST)
            memcpy(out, in, (size_t) n * sizeof(int));
        blocking(kind, in, due, n, root, op);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        size_t i = 0;
        while (i < all && out[i] == due[i])
            i++;
        CHECK(i == all, "start %d of %s of %d elements, root %d: element %zu is %d, not %d", k,
              names[kind], n, root, i, out[i], due[i]);
    }
    MPI_Request_free(&request);
    free(in);
    free(out);
    free(due);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 200, MOST};
    MPI_Op op;
    check_begin(&argc, &argv);
    counts = check_alloc((size_t) size * sizeof(int));
    places = check_alloc((size_t) size * sizeof(int));
    bytes = check_alloc((size_t) size * sizeof(int));
    types = check_alloc((size_t) size * sizeof(MPI_Datatype));
    MPI_Op_create(compose, 0, &op);
    for (int kind = 0; kind < KINDS; kind++)
        for (unsigned l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int root = 0; root<size; root += size> 1 ? size - 1 : 1) {
                repeat(kind, lengths[l], root, MPI_SUM);
                if (kind >= REDUCE)
                    repeat(kind, lengths[l], root, op);
            }
    MPI_Op_free(&op);
    free(counts);
    free(places);
    free(bytes);
    free(types);
    return check_end();
}
