/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time from the start of a message with gaps to its receiver having it, microseconds, for one MPI
 * type and one length; the content is checked.
 *
 *   strided BLOCK BYTES ROUNDS vector|indexed kept|fresh
 *
 * Blocks of BLOCK bytes, twice as far apart, in MPI_Alloc_mem buffers on both sides; `indexed` has
 * the same blocks in another order, `fresh` makes the type anew for every message.  The two ranks
 * take turns; half of the time of a turn and its answer counts, and of all rounds the median.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static MPI_Datatype make_type(int block, int blocks, int indexed)
{
    MPI_Datatype type;
    if (indexed) {
        MPI_Aint *at = malloc(blocks * sizeof(*at));
        for (int i = 0; i < blocks; i++) /* neighbours are swapped */
            at[i] = (MPI_Aint) (i ^ 1) * 2 * block;
        MPI_Type_create_hindexed_block(blocks, block, at, MPI_BYTE, &type);
        free(at);
    } else {
        MPI_Type_create_hvector(blocks, block, 2 * block, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

typedef struct {
    int block, blocks, indexed, fresh;
    MPI_Datatype type;
} shape_t;

static double turn(int rank, void *out, void *in, const shape_t *shape)
{
    MPI_Datatype type = shape->type;
    double start = MPI_Wtime();
    if (shape->fresh)
        type = make_type(shape->block, shape->blocks, shape->indexed);
    if (rank == 0)
        MPI_Send(out, 1, type, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, 1, type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(out, 1, type, 0, 0, MPI_COMM_WORLD);
    if (shape->fresh)
        MPI_Type_free(&type);
    return (MPI_Wtime() - start) / 2 * 1e6;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int block = argc > 5 ? atoi(argv[1]) : 0, bytes = argc > 5 ? atoi(argv[2]) : 0;
    int rounds = argc > 5 ? atoi(argv[3]) : 0, bad = 0;
    if (size != 2 || block < 1 || bytes < 2 * block || bytes % (2 * block) || rounds < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -n 2 %s BLOCK BYTES ROUNDS vector|indexed kept|fresh\n",
                    argv[0]);
        MPI_Finalize();
        return 2;
    }
    unsigned char *out, *in;
    double *us = malloc(rounds * sizeof(*us));
    MPI_Alloc_mem(2 * bytes, MPI_INFO_NULL, &out);
    MPI_Alloc_mem(2 * bytes, MPI_INFO_NULL, &in);
    for (int i = 0; i < 2 * bytes; i++)
        out[i] = (unsigned char) (i * 7 + i / 253 + rank);
    memset(in, 0, 2 * bytes);
    shape_t shape = {.block = block,
                     .blocks = bytes / block,
                     .indexed = !strcmp(argv[4], "indexed"),
                     .fresh = !strcmp(argv[5], "fresh")};
    shape.type = make_type(shape.block, shape.blocks, shape.indexed);
    for (int i = 0; i < 3; i++)
        turn(rank, out, in, &shape);
    for (int i = 0; i < rounds; i++)
        us[i] = turn(rank, out, in, &shape);
    for (int i = 0; i < 2 * bytes; i++)
        bad += in[i] != (i / block % 2 ? 0 : (unsigned char) (i * 7 + i / 253 + 1 - rank));
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    qsort(us, rounds, sizeof(*us), by_size);
    if (rank == 0)
        printf("%s%.2f\n", bad ? "wrong data " : "", us[rounds / 2]);
    MPI_Type_free(&shape.type);
    MPI_Free_mem(out);
    MPI_Free_mem(in);
    free(us);
    MPI_Finalize();
    return bad != 0;
}
