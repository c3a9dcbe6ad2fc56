/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types with gaps between buffers of MPI_Alloc_mem and of malloc, in all four combinations: every
 * byte arrives where the types say and nothing else changes.  Between two buffers of MPI_Alloc_mem
 * the NIC fetches the blocks itself; a counter tells.
 */
#include "counter.h"

enum { ROWS = 512, ROW_BYTES = 1024, AREA = ROWS * ROW_BYTES + 4096, START = 1024, TYPES = 13 };

typedef struct {
    const char *name;
    MPI_Datatype type;
    int count;
    int *order; /* displacements of the data bytes, in the order of the message */
    int bytes;
} shape_t;

static shape_t shapes[TYPES];

/* What a type means, by MPICH's own packing of the displacements of all bytes. */
static void explore(shape_t *s)
{
    int size, position = 0;
    MPI_Type_size(s->type, &size);
    s->bytes = size * s->count;
    s->order = check_alloc(s->bytes * sizeof(int));
    uint8_t *plane = check_alloc(AREA), *packed = check_alloc(s->bytes);
    memset(s->order, 0, s->bytes * sizeof(int));
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < AREA; i++)
            plane[i] = (uint8_t) (i >> (8 * part));
        position = 0;
        MPI_Pack(plane + START, s->count, s->type, packed, s->bytes, &position, MPI_COMM_SELF);
        for (int i = 0; i < s->bytes; i++)
            s->order[i] |= packed[i] << (8 * part);
    }
    free(plane);
    free(packed);
}

static shape_t *shape(const char *name, MPI_Datatype type, int count)
{
    static int n;
    MPI_Type_commit(&type);
    shapes[n] = (shape_t){.name = name, .type = type, .count = count};
    explore(&shapes[n]);
    return &shapes[n++];
}

/* All of 131072 bytes. */
static void make_shapes(void)
{
    MPI_Datatype t, u;
    int lengths[ROWS], starts[ROWS];
    MPI_Type_vector(ROWS, 64, 256, MPI_INT, &t);
    shape("vector", t, 1);
    MPI_Type_create_hvector(ROWS, 32, 1000, MPI_DOUBLE, &t);
    shape("hvector", t, 1);
    MPI_Type_vector(ROWS * 8, 8, 24, MPI_INT, &t);
    shape("narrow vector", t, 1);
    MPI_Type_contiguous(1 << 17, MPI_BYTE, &t);
    shape("contiguous", t, 1);
    for (int i = 0; i < ROWS; i++)
        starts[i] = (i * 37 % ROWS) * (ROW_BYTES / 4);
    MPI_Type_create_indexed_block(ROWS, 64, starts, MPI_INT, &t);
    shape("indexed block", t, 1);
    for (int i = 0; i < ROWS; i++) {
        lengths[i] = i % 2 ? 96 : 32;
        starts[i] = i * 256 + (i % 7) * 8;
    }
    MPI_Type_indexed(ROWS, lengths, starts, MPI_INT, &t);
    shape("indexed", t, 1);
    int sizes[2] = {ROWS, ROW_BYTES}, part[2] = {ROWS, 256}, from[2] = {0, 128};
    MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_BYTE, &t);
    shape("columns of a subarray", t, 1);
    int sizes3[3] = {8, 64, 1024}, part3[3] = {8, 32, 512}, from3[3] = {0, 16, 64};
    MPI_Type_create_subarray(3, sizes3, part3, from3, MPI_ORDER_C, MPI_BYTE, &t);
    shape("three-dimensional subarray", t, 1);
    MPI_Type_contiguous(256, MPI_BYTE, &u);
    MPI_Type_create_resized(u, 0, ROW_BYTES, &t);
    MPI_Type_free(&u);
    shape("resized, many", t, ROWS);
    MPI_Type_vector(4, 64, 128, MPI_BYTE, &u);
    MPI_Type_create_resized(u, 0, 1000, &t);
    MPI_Type_free(&u);
    shape("resized vector, many", t, ROWS);
    MPI_Type_create_hvector(ROWS, 256, -1000, MPI_BYTE, &u);
    MPI_Aint at = 1000 * (ROWS - 1);
    int one = 1;
    MPI_Type_create_hindexed(1, &one, &at, u, &t);
    MPI_Type_free(&u);
    shape("backwards", t, 1);
    MPI_Type_vector(ROWS, 3, 5, MPI_SHORT, &t);
    shape("blocks of 6 bytes", t, 42);
    MPI_Type_vector(1 << 14, 1, 4, MPI_DOUBLE, &t);
    shape("blocks of 8 bytes", t, 1);
}

static void *buffer(int of_mpi)
{
    void *p;
    if (!of_mpi)
        return check_alloc(AREA);
    MPI_Alloc_mem(AREA, MPI_INFO_NULL, &p);
    return p;
}

static void buffer_free(int of_mpi, void *p)
{
    if (of_mpi)
        MPI_Free_mem(p);
    else
        free(p);
}

/* Rank 0 sends `from`, rank 1 receives `to`; the shorter one counts. */
static void transfer(const shape_t *from, const shape_t *to, uint8_t *out, uint8_t *in, int late,
                     int fetched)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int bytes = from->bytes < to->bytes ? from->bytes : to->bytes, count, bad = 0;
    if (from->bytes > to->bytes)
        return;
    if (rank == 0) {
        for (int i = 0; i < AREA; i++)
            out[i] = (uint8_t) (i * 5 + i / 251);
        if (!late)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE);
        MPI_Send(out + START, from->count, from->type, 1, 0, comm);
        return;
    }
    MPI_Request request;
    MPI_Status status;
    unsigned long long before = counter("strided");
    memset(in, 0xee, AREA);
    if (late)
        MPI_Probe(0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Irecv(in + START, to->count, to->type, 0, 0, comm, &request);
    if (!late)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, comm);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes, "%s to %s: %d bytes of %d", from->name, to->name, count, bytes);
    for (int i = 0; i < bytes; i++) {
        int x = from->order[i];
        bad += in[to->order[i]] != (uint8_t) (x * 5 + x / 251);
        in[to->order[i]] = 0xee;
    }
    CHECK(bad == 0, "%s to %s: %d bytes of %d differ", from->name, to->name, bad, bytes);
    for (int i = bad = 0; i < AREA; i++)
        bad += in[i] != 0xee;
    CHECK(bad == 0, "%s to %s: %d bytes beside the data changed", from->name, to->name, bad);
    if (fetched >= 0)
        CHECK(counter("strided") - before == (unsigned long long) fetched,
              "%s to %s: fetched by the NIC %llu times, expected %d", from->name, to->name,
              counter("strided") - before, fetched);
}

/* May the NIC fetch it?  -1: depends on how the blocks meet. */
static int expected(const shape_t *from, const shape_t *to, int out_of_mpi, int in_of_mpi)
{
    if (!out_of_mpi || !in_of_mpi || strcmp(from->name, "blocks of 6 bytes") == 0 ||
        strcmp(to->name, "blocks of 6 bytes") == 0)
        return 0;
    int from_one = strcmp(from->name, "contiguous") == 0,
        to_one = strcmp(to->name, "contiguous") == 0;
    if (from_one || to_one)
        return !(from_one && to_one);
    return strcmp(from->name, to->name) == 0 ? 1 : -1;
}

static void all_combinations(void)
{
    for (int mode = 0; mode < 4; mode++) {
        int out_of_mpi = mode & 1, in_of_mpi = mode >> 1;
        uint8_t *out = buffer(out_of_mpi), *in = buffer(in_of_mpi);
        for (int k = 0; k < TYPES * TYPES; k++) {
            const shape_t *from = &shapes[k / TYPES], *to = &shapes[k % TYPES];
            transfer(from, to, out, in, k % 3 == 0, expected(from, to, out_of_mpi, in_of_mpi));
        }
        buffer_free(out_of_mpi, out);
        buffer_free(in_of_mpi, in);
    }
}

/* A receive for half of the message, on either kind of memory. */
static void truncated(void)
{
    MPI_Comm comm;
    MPI_Datatype half;
    uint8_t *area = buffer(1);
    const shape_t *whole = &shapes[0];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_vector(ROWS / 2, 64, 256, MPI_INT, &half);
    MPI_Type_commit(&half);
    for (int i = 0; i < AREA; i++)
        area[i] = rank ? 0xee : (uint8_t) (i * 5 + i / 251);
    if (rank == 0) {
        CHECK(MPI_Send(area + START, 1, whole->type, 1, 0, comm) == MPI_SUCCESS, "sender's error");
    } else {
        MPI_Status status;
        int class, count, bad = 0;
        MPI_Error_class(MPI_Recv(area + START, 1, half, 0, 0, comm, &status), &class);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(class == MPI_ERR_TRUNCATE && count == whole->bytes / 2, "class %d, %d bytes", class,
              count);
        for (int i = 0; i < whole->bytes; i++) {
            int x = whole->order[i];
            bad += area[x] != (i < whole->bytes / 2 ? (uint8_t) (x * 5 + x / 251) : 0xee);
        }
        CHECK(bad == 0, "%d bytes of a truncated receive differ", bad);
    }
    MPI_Type_free(&half);
    MPI_Comm_free(&comm);
    buffer_free(1, area);
}

/* Both ways at once and to oneself; the types are freed while the messages are under way.  A list
 * of a type's blocks is made when the type has been used some times. */
static void at_once(void)
{
    uint8_t *out = buffer(1), *in = buffer(1);
    for (int peer = 0; peer < size; peer++)
        for (int list = 0; list < 2; list++) {
            int other = peer ? 1 - rank : rank, bad = 0, starts[ROWS];
            MPI_Datatype type;
            MPI_Request request[2];
            MPI_Status statuses[2];
            for (int i = 0; i < ROWS; i++)
                starts[i] = (list ? i * 37 % ROWS : i) * (ROW_BYTES / 4);
            MPI_Type_create_indexed_block(ROWS, 64, starts, MPI_INT, &type);
            MPI_Type_commit(&type);
            memset(in, 0xee, AREA);
            pattern_fill(out, AREA, rank);
            for (int i = 0; i < 4; i++)
                MPI_Sendrecv(out, 1, type, other, 3, in, 1, type, other, 3, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            unsigned long long before = counter("strided");
            MPI_Isend(out, 1, type, other, 3, MPI_COMM_WORLD, &request[0]);
            MPI_Irecv(in, 1, type, other, 3, MPI_COMM_WORLD, &request[1]);
            MPI_Type_free(&type);
            MPI_Waitall(2, request, statuses);
            for (int i = 0; i < ROWS * ROW_BYTES; i++)
                bad += in[i] != (i % ROW_BYTES < 256 ? pattern_byte(other, i) : 0xee);
            CHECK(bad == 0, "%d bytes from rank %d differ", bad, other);
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(counter("strided") == before + 1, "not fetched by the NIC from rank %d", other);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    buffer_free(1, out);
    buffer_free(1, in);
}

/* What MPI_Alloc_mem cannot have is an error, and what it has can be used up and had again. */
static void memory(void)
{
    void *p, *all[64];
    int class, n = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Alloc_mem((MPI_Aint) 1 << 50, MPI_INFO_NULL, &p), &class);
    CHECK(class == MPI_ERR_NO_MEM, "a petabyte: error class %d", class);
    for (int round = 0; round < 2; round++) {
        for (n = 0; n < 16; n++) {
            MPI_Error_class(MPI_Alloc_mem(24 << 20, MPI_INFO_NULL, &all[n]), &class);
            CHECK(class == MPI_SUCCESS, "block %d: error class %d", n, class);
            memset(all[n], n, 4096); /* more than SO-DIMM: the last ones are ordinary memory */
        }
        while (n--)
            CHECK(*(char *) all[n] == n && MPI_Free_mem(all[n]) == MPI_SUCCESS, "block %d", n);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    make_shapes();
    all_combinations();
    truncated();
    at_once();
    memory();
    for (int i = 0; i < TYPES; i++) {
        MPI_Type_free(&shapes[i].type);
        free(shapes[i].order);
    }
    counters_end();
    return check_end();
}
