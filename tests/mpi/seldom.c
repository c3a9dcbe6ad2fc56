/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives with types that are seldom used in them: extents that differ between ranks, or are
 * negative, types of several sizes, and of a program's own operation that does not commute.
 */
#include "check.h"

/* Long blocks, which are cut into pieces; each rank receives them in its own way: as elements of so
 * many ints, which lie so many apart. */
static void allgatherv(int ints, int extent, int blocking)
{
    enum { SHORT = 9000, LONG = 30000 };
    int total = LONG + (size - 1) * SHORT, step = abs(extent), own = rank ? SHORT : LONG;
    int *counts = check_alloc(2 * (size_t) size * sizeof(int)), *displs = counts + size;
    int *sent = check_alloc(LONG * sizeof(int));
    int *all = check_alloc((size_t) (total / ints * step) * sizeof(int));
    int *first = extent < 0 ? all + (total / ints - 1) * step : all;
    MPI_Datatype element, type;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm; /* a new one: its first calls do not go by a board */
    MPI_Type_contiguous(ints, MPI_INT, &element);
    MPI_Type_create_resized(element, 0, extent * (MPI_Aint) sizeof(int), &type);
    MPI_Type_commit(&type);
    for (int r = 0; r < size; r++) {
        counts[r] = (r ? SHORT : LONG) / ints;
        displs[r] = (r ? LONG + (r - 1) * SHORT : 0) / ints;
    }
    for (int i = 0; i < own; i++)
        sent[i] = displs[rank] * ints + i;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (blocking)
        MPI_Allgatherv(sent, own, MPI_INT, first, counts, displs, type, comm);
    else
        MPI_Iallgatherv(sent, own, MPI_INT, first, counts, displs, type, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int at = 0;
    while (at < total && first[at / ints * extent + at % ints] == at)
        at++;
    CHECK(at == total, "allgatherv of %d ints, %d apart: int %d is wrong", ints, extent, at);
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
    MPI_Type_free(&element);
    free(all);
    free(sent);
    free(counts);
}

/* In place, with an element of another size for each rank. */
static void alltoallw_in_place(void)
{
    enum { LONGEST = 64 };
    int *counts = check_alloc(2 * (size_t) size * sizeof(int)), *places = counts + size;
    MPI_Datatype *types = check_alloc((size_t) size * sizeof(*types));
    uint8_t *data = check_alloc((size_t) size * LONGEST);
    MPI_Request request;
    for (int r = 0; r < size; r++) {
        counts[r] = 1;
        places[r] = r * LONGEST;
        MPI_Type_contiguous(1 + (r + rank) * 5 % LONGEST, MPI_BYTE, &types[r]);
        MPI_Type_commit(&types[r]);
        pattern_fill(data + places[r], LONGEST, (uint32_t) (rank * size + r));
    }
    MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, counts, places, types, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) {
        CHECK_PATTERN(data + places[r], 1 + (size_t) (r + rank) * 5 % LONGEST,
                      (uint32_t) (r * size + rank));
        MPI_Type_free(&types[r]);
    }
    free(data);
    free(types);
    free(counts);
}

/* x -> a x + b, modulo 2^32, with a gap behind; one after the other does not commute. */
typedef struct {
    uint32_t a, b, gap[3];
} line_t;

static line_t line_of(int r, int i)
{
    return (line_t){(uint32_t) (2 * (r * 7 + i) + 3), (uint32_t) (r * 1000 + i), {9, 9, 9}};
}

static void follow(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const line_t *first = in;
    line_t *then = inout;
    (void) type;
    for (int i = 0; i < *n; i++) {
        then[i].b += then[i].a * first[i].b;
        then[i].a *= first[i].a;
    }
}

static void reduce_scatter(void)
{
    enum { EACH = 5 };
    int total = EACH * size, *counts = check_alloc((size_t) size * sizeof(int));
    line_t *sent = check_alloc((size_t) total * sizeof(*sent)), got[EACH], expected[EACH];
    MPI_Datatype pair, type;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_UINT32_T, &pair);
    MPI_Type_create_resized(pair, 0, sizeof(line_t), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(follow, 0, &op);
    for (int r = 0; r < size; r++)
        counts[r] = EACH;
    for (int i = 0; i < total; i++)
        sent[i] = line_of(rank, i);
    for (int i = 0; i < EACH; i++) {
        expected[i] = line_of(0, rank * EACH + i);
        for (int r = 1, one = 1; r < size; r++) {
            line_t next = line_of(r, rank * EACH + i);
            follow(&expected[i], &next, &one, &type);
            expected[i] = next;
        }
    }
    for (int call = 0; call < 4; call++) {
        MPI_Request request = MPI_REQUEST_NULL;
        memset(got, 0, sizeof(got));
        if (call == 0)
            MPI_Reduce_scatter(sent, got, counts, type, op, MPI_COMM_WORLD);
        else if (call == 1)
            MPI_Reduce_scatter_block(sent, got, EACH, type, op, MPI_COMM_WORLD);
        else if (call == 2)
            MPI_Ireduce_scatter(sent, got, counts, type, op, MPI_COMM_WORLD, &request);
        else
            MPI_Ireduce_scatter_block(sent, got, EACH, type, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < EACH; i++)
            CHECK(got[i].a == expected[i].a && got[i].b == expected[i].b && got[i].gap[0] == 0,
                  "call %d: element %d of the reduction is wrong", call, i);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
    free(sent);
    free(counts);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    reduce_scatter();
    alltoallw_in_place();
    for (int blocking = 0; blocking < 2; blocking++) {
        allgatherv(1, 1 + rank % 2, blocking);
        allgatherv(1, rank % 2 ? 3 : -2, blocking);
        allgatherv(rank % 2 ? 3 : 1, rank % 2 ? 3 : 1, blocking);
        allgatherv(rank % 2 ? 3 : 1, rank % 2 ? 5 : 1, blocking);
    }
    return check_end();
}
