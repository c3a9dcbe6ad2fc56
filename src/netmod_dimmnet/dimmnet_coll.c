/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier, broadcast, reductions and exchanges of blocks of one length on boards.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_board.h"
#include "dimmnet_coll.h"
#include "dimmnet_reduce.h"
#include "dimmnet_sides.h"
#include "common/clock.h"

/* What two exchange by slots without a choice, where the kernel copies fairly fast, and where it is
 * slow; up to so many bytes slots are one of the two ways there, and on Zen 1. */
#define BOARD_OF_TWO_FAIR_MAX 65536
#define BOARD_OF_TWO_SLOW_MAX 32768
#define PUTS_OF_TWO_MAX 131072
#define PUTS_OF_TWO_MAX_ZEN1 262144
/* A broadcast where the kernel is slow. */
#define BCAST_OF_TWO_SLOW_MAX 131072

#define NETMOD_OF(comm) ((comm)->dev.ch4.netmod.dimmnet)

static int bcast_on(MPIDI_DIMMNET_board_t *self, void *buffer, MPI_Aint count,
                    MPI_Datatype datatype, int root)
{
    size_t len;
    void *packed = NULL, *data = MPIDI_DIMMNET_contiguous(buffer, count, datatype, &len);
    bool is_root = self->comm->rank == root;
    int mpi_errno = MPIDI_DIMMNET_board_extend(self, len);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!data && is_root && len)
        mpi_errno = MPIDI_DIMMNET_pack(buffer, count, datatype, &packed, &len);
    else if (!data && len && !(packed = MPL_malloc(len, MPL_MEM_BUFFER)))
        mpi_errno = MPIDI_DIMMNET_error_no_memory(len);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    dnet_board_bcast(&self->board, data ? data : packed, len, (uint32_t) root);
    if (packed && !is_root)
        mpi_errno = MPIDI_DIMMNET_unpack(packed, len, buffer, count, datatype);
    MPL_free(packed);
    return mpi_errno;
}

/* `blocks`: of the send buffer */
static int exchange_on(MPIDI_DIMMNET_board_t *self,
                       void (*exchange)(dnet_board_t *, const void *, void *, size_t),
                       unsigned blocks, const void *sendbuf, MPI_Aint sendcount,
                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                       MPI_Datatype recvtype)
{
    MPIDI_DIMMNET_sides_t x = {0};
    MPIDI_Datatype_check_size(recvtype, recvcount, x.bytes);
    int mpi_errno = MPIDI_DIMMNET_sides_exchange(&x, self->comm, sendbuf, sendcount, sendtype,
                                                 blocks, recvbuf, recvcount, recvtype);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_DIMMNET_board_extend(self, x.bytes * blocks);
    if (mpi_errno == MPI_SUCCESS)
        exchange(&self->board, x.from, x.to, x.bytes);
    int ended = MPIDI_DIMMNET_sides_end(&x, mpi_errno == MPI_SUCCESS);
    return mpi_errno != MPI_SUCCESS ? mpi_errno : ended;
}

/* ---- the calls ---- */

int MPIDI_DIMMNET_barrier(MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    int mpi_errno = MPIDI_DIMMNET_board_of(comm, 0, errflag, &board);
    if (mpi_errno == MPI_SUCCESS && !board)
        return MPIDI_DIMMNET_mpich_barrier(comm, errflag);
    if (mpi_errno == MPI_SUCCESS)
        dnet_board_barrier(&board->board);
    return mpi_errno;
}

/* Up to so many bytes, of two ranks that have a processor each, and the kernel is not fast to copy
 * between, slots are the faster way for sure; else 0.  The same on both. */
static inline MPI_Aint by_slots_of_two(MPIR_Comm *comm)
{
    const MPIDI_DIMMNET_board_t *self = NETMOD_OF(comm).board;
    if (comm->local_size != 2 || !self || !self->board.spins ||
        self->board.owner.copies == DNET_KERNEL_FAST)
        return 0;
    return self->board.owner.copies == DNET_KERNEL_FAIR ? BOARD_OF_TWO_FAIR_MAX
                                                        : BOARD_OF_TWO_SLOW_MAX;
}

/* Where the kernel copies fairly fast 64 KB take 0.91 of the time by messages. */
static inline bool bcast_goes_by_messages(MPIR_Comm *comm, MPI_Aint bytes)
{
    return comm->local_size == 2 && bytes > MPIDI_DIMMNET_BOARD_OF_TWO_MAX &&
           (bytes > BCAST_OF_TWO_SLOW_MAX || by_slots_of_two(comm) != BOARD_OF_TWO_SLOW_MAX);
}

int MPIDI_DIMMNET_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                        MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    MPI_Aint bytes;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    int mpi_errno = MPIDI_DIMMNET_board_of(comm, bytes, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!board || bcast_goes_by_messages(comm, bytes))
        return MPIDI_DIMMNET_mpich_bcast(buffer, count, datatype, root, comm, errflag);
    return bcast_on(board, buffer, count, datatype, root);
}

#define ALL_RANKS (-1)

/* A reduction whose result is for one rank or for all.  *done_p false: it takes MPICH's way. */
static int reduce_on_board(const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                           MPIR_Errflag_t *errflag, bool *done_p)
{
    MPIDI_DIMMNET_board_t *board = NULL;
    MPIDI_DIMMNET_reduction_t how = {op, datatype};
    dnet_reduce_fn loop = MPIDI_DIMMNET_reduce_loop(op, datatype);
    /* Parts of a vector go by slots: any length does. */
    int mpi_errno = loop ? MPIDI_DIMMNET_board_of(comm, 0, errflag, &board) : MPI_SUCCESS;
    *done_p = mpi_errno != MPI_SUCCESS || board;
    if (mpi_errno != MPI_SUCCESS || !board)
        return mpi_errno;
    MPI_Aint element;
    MPIR_Datatype_get_size_macro(datatype, element);
    mpi_errno = MPIDI_DIMMNET_board_extend(board, (size_t) (count * element));
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    const void *from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    if (root == ALL_RANKS)
        dnet_board_allreduce(&board->board, from, recvbuf, count, element, loop, &how);
    else
        dnet_board_reduce(&board->board, from, recvbuf, count, element, loop, &how,
                          (uint32_t) root);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                            MPIR_Errflag_t *errflag)
{
    bool done;
    int mpi_errno =
        reduce_on_board(sendbuf, recvbuf, count, datatype, op, ALL_RANKS, comm, errflag, &done);
    return done ? mpi_errno
                : MPIDI_DIMMNET_mpich_allreduce(sendbuf, recvbuf, count, datatype, op, comm,
                                                errflag);
}

int MPIDI_DIMMNET_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                         MPI_Op op, int root, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    bool done;
    int mpi_errno =
        reduce_on_board(sendbuf, recvbuf, count, datatype, op, root, comm, errflag, &done);
    return done ? mpi_errno
                : MPIDI_DIMMNET_mpich_reduce(sendbuf, recvbuf, count, datatype, op, root, comm,
                                             errflag);
}

/* Do two ranks exchange blocks of `count` elements so that neither way is the faster one for sure?
 */
static inline bool is_long_for_two(MPIR_Comm *comm, MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint bytes, by_slots = by_slots_of_two(comm);
    if (!by_slots)
        return false;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    return bytes > by_slots;
}

/* What two ranks exchange: of each a block for the other, and one that it keeps. */
typedef struct {
    const void *own, *for_other; /* of `sendcount` elements */
    MPI_Aint sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    void *to, *from_other; /* where the own one goes, and the other rank's */
    bool stays;            /* the own one is there (types may move buffers of one address apart) */
} blocks_of_two_t;

static int keep_own(const blocks_of_two_t *x)
{
    return x->stays ? MPI_SUCCESS
                    : MPIR_Localcopy(x->own, x->sendcount, x->sendtype, x->to, x->recvcount,
                                     x->recvtype);
}

/* The block for the other rank is sent from where it is and not from a copy in the result: of what
 * the other processor has read each line has to be fetched back when the next copy is stored there.
 * The own one is copied while the other rank's is on its way. */
static int exchange_by_messages(const blocks_of_two_t *x, int tag, MPIR_Comm *comm,
                                MPIR_Errflag_t *errflag)
{
    const int other = 1 - comm->rank;
    MPIR_Request *request;
    int mpi_errno =
        MPIC_Irecv(x->from_other, x->recvcount, x->recvtype, other, tag, comm, &request);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno = MPIC_Send(x->for_other, x->sendcount, x->sendtype, other, tag, comm, errflag);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = keep_own(x);
    int received = MPIC_Waitall(1, &request, MPI_STATUSES_IGNORE, errflag);
    return mpi_errno != MPI_SUCCESS ? mpi_errno : received;
}

/* The first and the second way to go: each reads the other's block, or both go by messages; of
 * fewer bytes both put theirs into slots, or read. */
static inline dnet_pair_way_t way_of_two(const MPIDI_DIMMNET_board_t *self, size_t bytes,
                                         bool second)
{
    const size_t puts_max = dnet_is_zen1() ? PUTS_OF_TWO_MAX_ZEN1 : PUTS_OF_TWO_MAX;
    if (self->board.owner.copies == DNET_KERNEL_SLOW && self->board.owner.read && bytes <= puts_max)
        return second ? DNET_PAIR_READS : DNET_PAIR_PUTS;
    return second ? DNET_PAIR_OTHERWISE : DNET_PAIR_READS;
}

/* By what took less time lately.  Only rank 0 measures, from when both are there. */
static int exchange_of_two(const blocks_of_two_t *x, int tag, MPIR_Comm *comm,
                           MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *self = NETMOD_OF(comm).board;
    size_t bytes, sent_bytes;
    void *to = MPIDI_DIMMNET_contiguous(x->from_other, x->recvcount, x->recvtype, &bytes);
    const void *from =
        MPIDI_DIMMNET_contiguous(x->for_other, x->sendcount, x->sendtype, &sent_bytes);
    dnet_choice_t *choice = dnet_choices_for(&self->of_two, bytes);
    dnet_pair_way_t wanted = way_of_two(self, bytes, dnet_choice_next(choice));
    int mpi_errno = MPI_SUCCESS;
    if (way_of_two(self, bytes, false) == DNET_PAIR_PUTS)
        mpi_errno = MPIDI_DIMMNET_board_extend(self, bytes);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    /* Who gives less than it takes has no more to be read; by messages that is known. */
    bool offers = to && from && bytes == sent_bytes;
    dnet_pair_way_t way = dnet_board_pair_offer(&self->board, offers ? from : NULL, wanted);
    uint64_t begin = dnet_clock_ns();
    if (way == DNET_PAIR_READS) {
        dnet_board_pair_read(&self->board, to, bytes);
        mpi_errno = keep_own(x);
        dnet_board_pair_end(&self->board);
    } else if (way == DNET_PAIR_PUTS) {
        mpi_errno = keep_own(x);
        dnet_board_pair_put(&self->board, from, to, bytes);
    } else {
        mpi_errno = exchange_by_messages(x, tag, comm, errflag);
    }
    if (comm->rank == 0 && way == wanted)
        dnet_choice_took(choice, bytes, dnet_clock_ns() - begin);
    if (mpi_errno == MPI_SUCCESS && way != DNET_PAIR_OTHERWISE)
        mpi_errno = MPIDI_DIMMNET_board_serves(self);
    return mpi_errno == MPI_SUCCESS && bytes != sent_bytes ? MPIDI_DIMMNET_error_truncated()
                                                           : mpi_errno;
}

static int allgather_of_two(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    void *to = MPIDI_DIMMNET_block_of(recvbuf, comm->rank, recvcount, recvtype);
    bool stays = sendbuf == MPI_IN_PLACE;
    if (stays) {
        sendbuf = to;
        sendcount = recvcount;
        sendtype = recvtype;
    }
    blocks_of_two_t x = {
        sendbuf,   sendbuf,
        sendcount, recvcount,
        sendtype,  recvtype,
        to,        MPIDI_DIMMNET_block_of(recvbuf, 1 - comm->rank, recvcount, recvtype),
        stays};
    return exchange_of_two(&x, MPIR_ALLGATHER_TAG, comm, errflag);
}

static int alltoall_of_two(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    const int rank = comm->rank, other = 1 - rank;
    blocks_of_two_t x = {MPIDI_DIMMNET_block_of(sendbuf, rank, sendcount, sendtype),
                         MPIDI_DIMMNET_block_of(sendbuf, other, sendcount, sendtype),
                         sendcount,
                         recvcount,
                         sendtype,
                         recvtype,
                         MPIDI_DIMMNET_block_of(recvbuf, rank, recvcount, recvtype),
                         MPIDI_DIMMNET_block_of(recvbuf, other, recvcount, recvtype),
                         false};
    return exchange_of_two(&x, MPIR_ALLTOALL_TAG, comm, errflag);
}

int MPIDI_DIMMNET_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    if (is_long_for_two(comm, recvcount, recvtype))
        return allgather_of_two(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                errflag);
    int mpi_errno = MPIDI_DIMMNET_board_for(comm, recvcount, recvtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board ? exchange_on(board, dnet_board_allgather, 1, sendbuf, sendcount, sendtype,
                               recvbuf, recvcount, recvtype)
                 : MPIDI_DIMMNET_mpich_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                 recvtype, comm, errflag);
}

int MPIDI_DIMMNET_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    if (sendbuf != MPI_IN_PLACE && is_long_for_two(comm, recvcount, recvtype))
        return alltoall_of_two(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                               errflag);
    int mpi_errno = MPIDI_DIMMNET_board_for(comm, recvcount, recvtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board && dnet_board_has_alltoall(&board->board)
               ? exchange_on(board, dnet_board_alltoall, (unsigned) comm->local_size, sendbuf,
                             sendcount, sendtype, recvbuf, recvcount, recvtype)
               : MPIDI_DIMMNET_mpich_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                              recvtype, comm, errflag);
}
