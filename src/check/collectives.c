/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collective calls as the program sees them: each says what it is, then is MPI's own.
 *
 * Where all ranks must give the same amount of data it is compared: in MPI_Gather, what a rank
 * sends and what the root receives from each; in MPI_Reduce, what each contributes.  Calls with an
 * amount per rank are compared by name, and root, only.
 */
#include <stddef.h>

#include "check/check.h"

static void enter(MPI_Comm comm, dnet_check_call_t call, int root, MPI_Op op,
                  dnet_check_signature_t data)
{
    bool predefined = op == MPI_SUM || op == MPI_MAX || op == MPI_MIN || op == MPI_PROD ||
                      op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR || op == MPI_BAND ||
                      op == MPI_BOR || op == MPI_BXOR || op == MPI_MINLOC || op == MPI_MAXLOC;
    const dnet_check_record_t record = {call, root, predefined ? (int64_t) op : 0, data};
    dnet_check_enter(comm, &record, call < DNET_CHECK_Ibarrier || call > DNET_CHECK_Iexscan);
}

/* An amount that is the same for all ranks. */
static void enter_with(MPI_Comm comm, dnet_check_call_t call, int root, int count,
                       MPI_Datatype type)
{
    enter(comm, call, root, MPI_OP_NULL, dnet_check_signature(count, type));
}

/* No amount, or one for each rank. */
static void enter_bare(MPI_Comm comm, dnet_check_call_t call, int root)
{
    enter(comm, call, root, MPI_OP_NULL, DNET_CHECK_ANY);
}

/* The root's amount is the one beside its receive (send) buffer, any other rank's the other one. */
static void enter_rooted(MPI_Comm comm, dnet_check_call_t call, int root, int count,
                         MPI_Datatype type, int root_count, MPI_Datatype root_type)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    if (rank == root)
        enter_with(comm, call, root, root_count, root_type);
    else
        enter_with(comm, call, root, count, type);
}

/* MPI_`name`: `say` with `call`, where the communicator is watched, then the library's own. */
#define COLLECTIVE(name, parameters, arguments, say) \
    int MPI_##name parameters \
    { \
        const dnet_check_call_t call = DNET_CHECK_##name; \
        if (dnet_check_watches(comm)) \
            say; \
        return PMPI_##name arguments; \
    }

/* The same, and its form that returns a request. */
#define BOTH(name, lower, parameters, arguments, say) \
    COLLECTIVE(name, (LIST parameters), (LIST arguments), say) \
    COLLECTIVE(I##lower, (LIST parameters, MPI_Request * request), (LIST arguments, request), say)
#define LIST(...) __VA_ARGS__

BOTH(Barrier, barrier, (MPI_Comm comm), (comm), enter_bare(comm, call, -1))
BOTH(Bcast, bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (data, count, type, root, comm), enter_with(comm, call, root, count, type))
BOTH(Gather, gather,
     (const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
      int root, MPI_Comm comm),
     (from, count, type, to, to_count, to_type, root, comm),
     enter_rooted(comm, call, root, count, type, to_count, to_type))
BOTH(Gatherv, gatherv,
     (const void *from, int count, MPI_Datatype type, void *to, const int *to_counts,
      const int *to_places, MPI_Datatype to_type, int root, MPI_Comm comm),
     (from, count, type, to, to_counts, to_places, to_type, root, comm),
     enter_bare(comm, call, root))
BOTH(Scatter, scatter,
     (const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
      int root, MPI_Comm comm),
     (from, count, type, to, to_count, to_type, root, comm),
     enter_rooted(comm, call, root, to_count, to_type, count, type))
BOTH(Scatterv, scatterv,
     (const void *from, const int *counts, const int *places, MPI_Datatype type, void *to,
      int to_count, MPI_Datatype to_type, int root, MPI_Comm comm),
     (from, counts, places, type, to, to_count, to_type, root, comm), enter_bare(comm, call, root))
BOTH(Allgather, allgather,
     (const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
      MPI_Comm comm),
     (from, count, type, to, to_count, to_type, comm),
     enter_with(comm, call, -1, to_count, to_type))
BOTH(Allgatherv, allgatherv,
     (const void *from, int count, MPI_Datatype type, void *to, const int *to_counts,
      const int *to_places, MPI_Datatype to_type, MPI_Comm comm),
     (from, count, type, to, to_counts, to_places, to_type, comm), enter_bare(comm, call, -1))
BOTH(Alltoall, alltoall,
     (const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
      MPI_Comm comm),
     (from, count, type, to, to_count, to_type, comm),
     enter_with(comm, call, -1, to_count, to_type))
BOTH(Alltoallv, alltoallv,
     (const void *from, const int *counts, const int *places, MPI_Datatype type, void *to,
      const int *to_counts, const int *to_places, MPI_Datatype to_type, MPI_Comm comm),
     (from, counts, places, type, to, to_counts, to_places, to_type, comm),
     enter_bare(comm, call, -1))
BOTH(Alltoallw, alltoallw,
     (const void *from, const int *counts, const int *places, const MPI_Datatype *types, void *to,
      const int *to_counts, const int *to_places, const MPI_Datatype *to_types, MPI_Comm comm),
     (from, counts, places, types, to, to_counts, to_places, to_types, comm),
     enter_bare(comm, call, -1))
BOTH(Reduce, reduce,
     (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (from, to, count, type, op, root, comm),
     enter(comm, call, root, op, dnet_check_signature(count, type)))
BOTH(Allreduce, allreduce,
     (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (from, to, count, type, op, comm),
     enter(comm, call, -1, op, dnet_check_signature(count, type)))
BOTH(Reduce_scatter_block, reduce_scatter_block,
     (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (from, to, count, type, op, comm),
     enter(comm, call, -1, op, dnet_check_signature(count, type)))
BOTH(Scan, scan,
     (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (from, to, count, type, op, comm),
     enter(comm, call, -1, op, dnet_check_signature(count, type)))
BOTH(Exscan, exscan,
     (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (from, to, count, type, op, comm),
     enter(comm, call, -1, op, dnet_check_signature(count, type)))
BOTH(Reduce_scatter, reduce_scatter,
     (const void *from, void *to, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (from, to, counts, type, op, comm), enter(comm, call, -1, op, DNET_CHECK_ANY))
