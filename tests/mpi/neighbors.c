/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Neighbor_alltoall and its kin where two neighbors are the same process: in a grid what is
 * sent in one direction comes from the other one, in a graph the first message from a process is
 * for its first edge.
 */
#include "check.h"

#define EDGES 6

/* One element to each neighbor; `call`: which of the functions. */
static void exchange(MPI_Comm comm, int call, const int *sent, int *got)
{
    static const int counts[EDGES] = {1, 1, 1, 1, 1, 1}, displs[EDGES] = {0, 1, 2, 3, 4, 5};
    MPI_Aint places[EDGES];
    MPI_Datatype types[EDGES];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < EDGES; i++) {
        places[i] = i * (MPI_Aint) sizeof(int);
        types[i] = MPI_INT;
    }
    if (call == 0)
        MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
    else if (call == 1)
        MPI_Neighbor_alltoallv(sent, counts, displs, MPI_INT, got, counts, displs, MPI_INT, comm);
    else if (call == 2)
        MPI_Neighbor_alltoallw(sent, counts, places, types, got, counts, places, types, comm);
    else if (call == 3)
        MPI_Ineighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, &request);
    else if (call == 4)
        MPI_Ineighbor_alltoallv(sent, counts, displs, MPI_INT, got, counts, displs, MPI_INT, comm,
                                &request);
    else
        MPI_Ineighbor_alltoallw(sent, counts, places, types, got, counts, places, types, comm,
                                &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The ranks are along one dimension; the others have one process each. */
static void grid(int dimensions, int along, int periodic)
{
    int dims[3] = {1, 1, 1}, periods[3] = {1, 1, 1}, sources[EDGES], sent[EDGES], got[EDGES];
    MPI_Comm comm;
    dims[along] = size;
    periods[along] = periodic;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
    for (int i = 0; i < EDGES; i++)
        sent[i] = rank * 10 + i;
    for (int call = 0; call < 6; call++) {
        memset(got, -1, sizeof(got));
        exchange(comm, call, sent, got);
        for (int i = 0; i < 2 * dimensions; i++) {
            int expected = sources[i] == MPI_PROC_NULL ? -1 : sources[i] * 10 + (i ^ 1);
            CHECK(got[i] == expected, "call %d, %d dimensions: neighbor %d gave %d and not %d",
                  call, dimensions, i, got[i], expected);
        }
    }
    MPI_Comm_free(&comm);
}

static void destinations_of(int r, int to[EDGES])
{
    const int next = (r + 1) % size, last = (r + size - 1) % size;
    memcpy(to, (int[EDGES]){r, next, r, last, next, r}, EDGES * sizeof(int));
}

static void graph(void)
{
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int from[EDGES] = {last, rank, next, rank, last, rank}, to[EDGES], sent[EDGES], got[EDGES];
    MPI_Comm comm;
    destinations_of(rank, to);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, from, MPI_UNWEIGHTED, EDGES, to,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    for (int i = 0; i < EDGES; i++)
        sent[i] = rank * 10 + i;
    for (int call = 0; call < 6; call++) {
        int theirs[EDGES];
        exchange(comm, call, sent, got);
        for (int i = 0; i < EDGES; i++) {
            int edge = 0, before = 0;
            for (int k = 0; k < i; k++)
                before += from[k] == from[i];
            destinations_of(from[i], theirs);
            while (theirs[edge] != rank || before-- > 0)
                edge++;
            CHECK(got[i] == from[i] * 10 + edge, "call %d: edge %d of the graph gave %d and not %d",
                  call, i, got[i], from[i] * 10 + edge);
        }
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int dimensions = 1; dimensions <= 3; dimensions++)
        for (int along = 0; along < dimensions; along++) {
            grid(dimensions, along, 1);
            grid(dimensions, along, 0);
        }
    graph();
    return check_end();
}
