/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For mismatch.sh: programs whose collectives do not fit together, each in the way its argument
 * says, and right ones: one that uses every kind of call, one (spawn) that starts others.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* The same 4 ints, and those of a part of a matrix, with counts of both sizes; then nothing. */
static void large_counts(void)
{
    MPI_Datatype type;
    int four[16] = {0};
    const MPI_Count large[3][2] = {{4, 4}, {2, 2}, {1, 1}};
    const int small[3][2] = {{4, 4}, {2, 2}, {1, 1}};
    if (rank == 0)
        MPI_Type_contiguous(4, MPI_INT, &type);
    else
        MPI_Type_contiguous_c(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(four, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    if (rank == 0)
        MPI_Type_create_subarray(2, small[0], small[1], small[2], MPI_ORDER_C, MPI_INT, &type);
    else
        MPI_Type_create_subarray_c(2, large[0], large[1], large[2], MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(four, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(four, rank == 0 ? 1 : 2, type, 0, MPI_COMM_WORLD);
    MPI_Bcast(four, rank == 0 ? 1 : 0, rank == 0 ? type : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

/* A pair is its two elements, however they are written. */
static void pairs(void)
{
    struct {
        float value;
        int place;
    } one = {0};
    MPI_Datatype type;
    int two[2] = {rank, rank};
    MPI_Bcast(two, rank == 0 ? 1 : 2, rank == 0 ? MPI_2INT : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, sizeof(float)},
                           (MPI_Datatype[]){MPI_FLOAT, MPI_INT}, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(&one, 1, rank == 0 ? MPI_FLOAT_INT : type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

static int copied, deleted;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void) comm, (void) key, (void) extra;
    copied++;
    memcpy(out, &in, sizeof(in));
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm, (void) key, (void) value, (void) extra;
    deleted++;
    return MPI_SUCCESS;
}

/* A program's attributes are on its own communicators only. */
static void attributes(void)
{
    MPI_Comm first, second;
    int key;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_set_attr(first, key, NULL);
    MPI_Comm_dup(first, &second);
    CHECK(copied == 1, "%d copies of an attribute", copied);
    MPI_Comm_free(&second);
    CHECK(deleted == 1, "%d are deleted", deleted);
    MPI_Comm_free(&first);
    MPI_Comm_free_keyval(&key);
}

/* Rank 1 frees a communicator before what it receives on it is sent, and each rank others in an
 * order of its own. */
static void frees(void)
{
    MPI_Comm comm[3];
    MPI_Request request;
    int word = 0;
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    if (rank == 1) {
        MPI_Irecv(&word, 1, MPI_INT, 0, 3, comm[0], &request);
        MPI_Comm_free(&comm[0]);
        MPI_Send(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (rank == 0) {
            MPI_Recv(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&word, 1, MPI_INT, 1, 3, comm[0]);
        }
        MPI_Comm_free(&comm[0]);
    }
    MPI_Comm_free(&comm[1 + rank % 2]);
    MPI_Sendrecv(NULL, 0, MPI_INT, (rank + 1) % size, 5, NULL, 0, MPI_INT, (rank + size - 1) % size,
                 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm[2 - rank % 2]);
}

/* What ranks beside the root give on an intercommunicator need not be anything. */
static void between(void)
{
    MPI_Comm half, inter;
    int *all = check_alloc((size_t) size * sizeof(int));
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    const MPI_Datatype none = (MPI_Datatype) 0x1234;
    if (rank % 2 == 1)
        MPI_Gather(&rank, 1, MPI_INT, NULL, 1, none, 0, inter);
    else if (rank == 0)
        MPI_Gather(NULL, 1, none, all, 1, MPI_INT, MPI_ROOT, inter);
    else
        MPI_Gather(NULL, 1, none, NULL, 1, none, MPI_PROC_NULL, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    free(all);
}

static void all_right(void)
{
    MPI_Comm pair, copy, cart;
    MPI_Request request[2];
    MPI_Datatype column;
    int grid[2] = {0, 0}, around[2] = {1, 1}, one = rank, four[4] = {rank, 1, 2, 3}, sum;
    int *many = check_alloc((size_t) size * 4 * sizeof(int));
    int *counts = check_alloc((size_t) size * sizeof(int));
    int *places = check_alloc((size_t) size * sizeof(int));

    /* one signature, written in two ways */
    MPI_Type_vector(4, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    int wide[8] = {0, 9, 0, 9, 0, 9, 0, 9};
    if (rank == 0)
        MPI_Bcast(four, 4, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(wide, 1, column, 0, MPI_COMM_WORLD);
    CHECK(rank == 0 || (wide[2] == 1 && wide[3] == 9), "the column has %d", wide[2]);
    MPI_Type_free(&column);

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &pair);
    if (rank % 2 == 0) /* of these ranks only */
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair);
    MPI_Comm_dup(pair, &copy);
    MPI_Comm_free(&pair);
    MPI_Dims_create(size, 2, grid);
    MPI_Cart_create(MPI_COMM_WORLD, 2, grid, around, 0, &cart);
    MPI_Ibarrier(cart, &request[0]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++)
        counts[i] = i % 3, places[i] = i * 4;
    MPI_Gatherv(four, counts[rank], MPI_INT, many, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(four, 4, MPI_INT, many, 4, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Scatter(many, 4, MPI_INT, rank == 0 ? MPI_IN_PLACE : (void *) four, 4, MPI_INT, 0,
                MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, 4, MPI_INT, MPI_COMM_WORLD);
    large_counts();
    pairs();
    attributes();
    frees();
    between();
    MPI_Comm_free(&copy);
    MPI_Comm_free(&cart);
    free(many);
    free(counts);
    free(places);
}

/* Two more, which run without the checker, and all in one communicator. */
static void with_others(MPI_Comm parent, char *program)
{
    MPI_Comm between = parent, all, copy;
    int one = 1, sum, expected;
    char *arguments[] = {"spawn", NULL};
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_dup(all, &copy);
    MPI_Comm_size(all, &expected);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK(sum == expected, "%d of %d", sum, expected);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "right";
    int four[4] = {0}, sum[4];
    double real[4] = {0};
    MPI_Request request;
    MPI_Comm parent, copy;

    check_begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    bool odd = rank == size - 1;
    if (!strcmp(way, "right")) {
        all_right();
    } else if (!strcmp(way, "spawn")) {
        with_others(parent, argv[0]);
    } else if (!strcmp(way, "call")) {
        if (odd)
            MPI_Bcast(four, 4, MPI_INT, 0, MPI_COMM_WORLD);
        else
            MPI_Allreduce(four, sum, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(way, "root")) {
        MPI_Bcast(four, 4, MPI_INT, odd ? 1 : 0, MPI_COMM_WORLD);
    } else if (!strcmp(way, "count")) {
        MPI_Allreduce(four, sum, odd ? 3 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(way, "type")) {
        if (odd)
            MPI_Bcast(real, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(four, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    } else if (!strcmp(way, "operation")) {
        MPI_Allreduce(four, sum, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(way, "disconnect")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        if (odd)
            MPI_Barrier(copy);
        MPI_Comm_disconnect(&copy);
    } else if (!strcmp(way, "free")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_name(copy, "copy");
        if (odd)
            MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    } else if (!strcmp(way, "later")) {
        if (odd)
            MPI_Ibcast(four, 4, MPI_INT, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Iallreduce(four, sum, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "tested")) {
        /* none has heard of a difference when it begins to test */
        int done;
        usleep(rank == 0 ? 0 : odd ? 200000 : 400000);
        if (odd)
            MPI_Ibcast(four, 4, MPI_INT, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Iallreduce(four, sum, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        while (true)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "absent")) {
        if (odd)
            MPI_Recv(four, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    return check_end();
}
