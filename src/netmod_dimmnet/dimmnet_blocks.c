/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of blocks on boards: of any lengths, of one rank for all or of all for one, and
 * reductions of which each rank has one.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_board.h"
#include "dimmnet_coll.h"
#include "dimmnet_reduce.h"
#include "dimmnet_vector.h"

/* ---- of any lengths ---- */

/* The caller's vector with a block for each of so many ranks. */
static inline MPIDI_DIMMNET_vector_t vector_of(const void *buf, const MPI_Aint counts[],
                                               const MPI_Aint displs[], MPI_Datatype type, int size)
{
    return (MPIDI_DIMMNET_vector_t){buf, counts, displs, type, NULL, size};
}

static int blocks_begin(MPIDI_DIMMNET_board_blocks_t *x, const void *buf, const MPI_Aint counts[],
                        const MPI_Aint displs[], MPI_Datatype type, int size, bool gives)
{
    const MPIDI_DIMMNET_vector_t of = vector_of(buf, counts, displs, type, size);
    return MPIDI_DIMMNET_board_blocks_begin(x, &of, gives ? MPIDI_DIMMNET_VECTOR_GIVES : 0);
}

/* @return the error there has been, else what comes of bringing what has come to its places */
static int blocks_end(MPIDI_DIMMNET_board_blocks_t *given, MPIDI_DIMMNET_board_blocks_t *taken,
                      int mpi_errno)
{
    (void) MPIDI_DIMMNET_board_blocks_end(given, false);
    const int ended = MPIDI_DIMMNET_board_blocks_end(taken, mpi_errno == MPI_SUCCESS);
    return mpi_errno != MPI_SUCCESS ? mpi_errno : ended;
}

/* The only block in the length that the others take, where the program gives another. */
static int give_equal(MPIDI_DIMMNET_board_blocks_t *x, size_t given, size_t bytes)
{
    void *equal = MPL_calloc(1, bytes ? bytes : 1, MPL_MEM_BUFFER);
    if (!equal)
        return MPIDI_DIMMNET_error_no_memory(bytes);
    memcpy(equal, x->lie.at, MPL_MIN(given, bytes));
    MPL_free(x->packed);
    x->lie.at = x->packed = equal;
    return MPI_SUCCESS;
}

/* The own block of an allgather is packed, too, if the others are. */
static int allgatherv_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf, MPI_Aint sendcount,
                         MPI_Datatype sendtype, void *recvbuf, const MPI_Aint recvcounts[],
                         const MPI_Aint displs[], MPI_Datatype recvtype)
{
    const MPIR_Comm *comm = self->comm;
    MPIDI_DIMMNET_board_blocks_t to, from = {0};
    const MPI_Aint none = 0;
    if (sendbuf == MPI_IN_PLACE) {
        sendbuf = MPIDI_DIMMNET_block_of(recvbuf, 1, displs[comm->rank], recvtype);
        sendcount = recvcounts[comm->rank];
        sendtype = recvtype;
    }
    int mpi_errno =
        blocks_begin(&to, recvbuf, recvcounts, displs, recvtype, comm->local_size, false);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = blocks_begin(&from, sendbuf, &sendcount, &none, sendtype, 1, true);
    const size_t given = (size_t) sendcount * from.lie.element_bytes;
    const size_t own = (size_t) recvcounts[comm->rank] * to.lie.element_bytes;
    if (mpi_errno == MPI_SUCCESS && given != own)
        mpi_errno = give_equal(&from, given, own);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_DIMMNET_board_extend(self, MPIDI_DIMMNET_board_blocks_longest(&to));
    if (mpi_errno == MPI_SUCCESS)
        dnet_board_allgatherv(&self->board, from.lie.at, to.lie.at, &to.lie.blocks,
                              to.lie.element_bytes);
    mpi_errno = blocks_end(&from, &to, mpi_errno);
    return mpi_errno == MPI_SUCCESS && given != own ? MPIDI_DIMMNET_error_truncated() : mpi_errno;
}

int MPIDI_DIMMNET_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board = NULL;
    int mpi_errno = MPI_SUCCESS;
    if (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM) {
        const dnet_blocks_t blocks = {.counts = recvcounts};
        mpi_errno = MPIDI_DIMMNET_board_for(
            comm, (MPI_Aint) dnet_blocks_longest(&blocks, (uint32_t) comm->local_size), recvtype,
            errflag, &board);
    }
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board ? allgatherv_on(board, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                 recvtype)
                 : MPIDI_DIMMNET_mpich_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                                  displs, recvtype, comm, errflag);
}

/* *done_p false: it takes MPICH's way. */
static int alltoallv_on(MPIDI_DIMMNET_board_t *self, const MPIDI_DIMMNET_vector_t *send,
                        const MPIDI_DIMMNET_vector_t *recv, bool *done_p)
{
    const bool in_place = send->buf == MPI_IN_PLACE;
    MPIDI_DIMMNET_board_blocks_t to, from = {0};
    dnet_moved_t moved = DNET_MOVED;
    int mpi_errno =
        MPIDI_DIMMNET_board_blocks_begin(&to, recv, in_place ? MPIDI_DIMMNET_VECTOR_GIVES : 0);
    if (mpi_errno == MPI_SUCCESS && !in_place)
        mpi_errno = MPIDI_DIMMNET_board_blocks_begin(&from, send, MPIDI_DIMMNET_VECTOR_GIVES);
    if (mpi_errno == MPI_SUCCESS) {
        const dnet_exchange_t x = {in_place ? to.lie : from.lie, to.lie};
        moved = dnet_board_alltoallv(&self->board, &x);
    }
    *done_p = moved != DNET_NOT_MOVED;
    (void) MPIDI_DIMMNET_board_blocks_end(&from, false);
    const int ended = MPIDI_DIMMNET_board_blocks_end(&to, mpi_errno == MPI_SUCCESS && *done_p);
    if (mpi_errno != MPI_SUCCESS || ended != MPI_SUCCESS)
        return mpi_errno != MPI_SUCCESS ? mpi_errno : ended;
    return moved == DNET_MOVED_CUT ? MPIDI_DIMMNET_error_truncated() : MPI_SUCCESS;
}

static int alltoallv_on_board(const MPIDI_DIMMNET_vector_t *send,
                              const MPIDI_DIMMNET_vector_t *recv, MPIR_Comm *comm,
                              MPIR_Errflag_t *errflag, bool *done_p)
{
    MPIDI_DIMMNET_board_t *board;
    int mpi_errno = MPIDI_DIMMNET_board_of(comm, 0, errflag, &board);
    *done_p = mpi_errno != MPI_SUCCESS;
    if (mpi_errno == MPI_SUCCESS && board && dnet_board_has_alltoall(&board->board))
        mpi_errno = alltoallv_on(board, send, recv, done_p);
    return mpi_errno;
}

int MPIDI_DIMMNET_alltoallv(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                            const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                            MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    bool done;
    const int size = comm->local_size;
    const MPIDI_DIMMNET_vector_t send = vector_of(sendbuf, sendcounts, sdispls, sendtype, size);
    const MPIDI_DIMMNET_vector_t recv = vector_of(recvbuf, recvcounts, rdispls, recvtype, size);
    int mpi_errno = alltoallv_on_board(&send, &recv, comm, errflag, &done);
    return done ? mpi_errno
                : MPIDI_DIMMNET_mpich_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                recvcounts, rdispls, recvtype, comm, errflag);
}

int MPIDI_DIMMNET_alltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                            const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                            const MPI_Datatype recvtypes[], MPIR_Comm *comm,
                            MPIR_Errflag_t *errflag)
{
    bool done;
    const int size = comm->local_size;
    const MPIDI_DIMMNET_vector_t send = {sendbuf, sendcounts, sdispls, MPI_BYTE, sendtypes, size};
    const MPIDI_DIMMNET_vector_t recv = {recvbuf, recvcounts, rdispls, MPI_BYTE, recvtypes, size};
    int mpi_errno = alltoallv_on_board(&send, &recv, comm, errflag, &done);
    return done ? mpi_errno
                : MPIDI_DIMMNET_mpich_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                recvcounts, rdispls, recvtypes, comm, errflag);
}

static int reduce_scatter_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf, void *recvbuf,
                             const dnet_blocks_t *blocks, MPI_Datatype datatype, MPI_Op op,
                             dnet_reduce_fn loop)
{
    MPIDI_DIMMNET_reduction_t how = {op, datatype};
    const uint32_t rank = (uint32_t) self->comm->rank, size = (uint32_t) self->comm->local_size;
    MPI_Aint element;
    MPIR_Datatype_get_size_macro(datatype, element);
    size_t own_bytes = dnet_blocks_count(blocks, rank) * (size_t) element;
    /* In place the result comes to where others' blocks are still to be given. */
    void *apart = NULL;
    if (sendbuf == MPI_IN_PLACE && own_bytes && !(apart = MPL_malloc(own_bytes, MPL_MEM_BUFFER)))
        return MPIDI_DIMMNET_error_no_memory(own_bytes);
    int mpi_errno =
        MPIDI_DIMMNET_board_extend(self, dnet_blocks_longest(blocks, size) * (size_t) element);
    if (mpi_errno == MPI_SUCCESS)
        dnet_board_reduce_scatter(&self->board, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf,
                                  apart ? apart : recvbuf, blocks, (size_t) element, loop, &how);
    if (mpi_errno == MPI_SUCCESS && apart)
        memcpy(recvbuf, apart, own_bytes);
    MPL_free(apart);
    return mpi_errno;
}

/* *done_p false: it takes MPICH's way. */
static int reduce_scatter_on_board(const void *sendbuf, void *recvbuf, const dnet_blocks_t *blocks,
                                   MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                   MPIR_Errflag_t *errflag, bool *done_p)
{
    MPIDI_DIMMNET_board_t *board = NULL;
    dnet_reduce_fn loop = MPIDI_DIMMNET_reduce_loop(op, datatype);
    int mpi_errno = loop ? MPIDI_DIMMNET_board_of(comm, 0, errflag, &board) : MPI_SUCCESS;
    *done_p = mpi_errno != MPI_SUCCESS || (board && dnet_board_has_alltoall(&board->board));
    return mpi_errno != MPI_SUCCESS || !*done_p
               ? mpi_errno
               : reduce_scatter_on(board, sendbuf, recvbuf, blocks, datatype, op, loop);
}

int MPIDI_DIMMNET_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                 MPIR_Errflag_t *errflag)
{
    bool done;
    const dnet_blocks_t blocks = {.counts = recvcounts};
    int mpi_errno =
        reduce_scatter_on_board(sendbuf, recvbuf, &blocks, datatype, op, comm, errflag, &done);
    return done ? mpi_errno
                : MPIDI_DIMMNET_mpich_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op,
                                                     comm, errflag);
}

int MPIDI_DIMMNET_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                       MPIR_Errflag_t *errflag)
{
    bool done;
    const dnet_blocks_t blocks = {.each = (size_t) recvcount};
    int mpi_errno =
        reduce_scatter_on_board(sendbuf, recvbuf, &blocks, datatype, op, comm, errflag, &done);
    return done ? mpi_errno
                : MPIDI_DIMMNET_mpich_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype,
                                                           op, comm, errflag);
}

/* ---- from one rank, and to one ---- */

/* Blocks of all ranks, at the root, one behind the other. */
typedef struct {
    void *at;
    void *packed; /* to be freed; NULL: they are where the caller has them */
    size_t len;   /* of all */
} all_blocks_t;

static int all_blocks_begin(all_blocks_t *x, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                            const MPIR_Comm *comm, bool pack)
{
    *x = (all_blocks_t){0};
    x->at = MPIDI_DIMMNET_contiguous(buf, count * comm->local_size, datatype, &x->len);
    if (x->at || !x->len)
        return MPI_SUCCESS;
    int mpi_errno = MPI_SUCCESS;
    if (pack)
        mpi_errno =
            MPIDI_DIMMNET_pack(buf, count * comm->local_size, datatype, &x->packed, &x->len);
    else if (!(x->packed = MPL_malloc(x->len, MPL_MEM_BUFFER)))
        mpi_errno = MPIDI_DIMMNET_error_no_memory(x->len);
    x->at = x->packed;
    return mpi_errno;
}

/* Is a block of two ranks a message? */
static bool is_message(const MPIDI_DIMMNET_board_t *self, MPI_Aint bytes, MPI_Aint most)
{
    return self->comm->local_size == 2 && bytes > most &&
           !dnet_board_moves_of_two(&self->board, (size_t) bytes);
}

static int board_for_one(MPIR_Comm *comm, MPI_Aint count, MPI_Datatype datatype,
                         MPIR_Errflag_t *errflag, MPIDI_DIMMNET_board_t **board_p)
{
    MPI_Aint bytes;
    *board_p = NULL;
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM) /* some ranks say nothing of blocks */
        return MPI_SUCCESS;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    int mpi_errno = MPIDI_DIMMNET_board_of(comm, bytes, errflag, board_p);
    if (*board_p && (is_message(*board_p, bytes, MPIDI_DIMMNET_BOARD_OF_TWO_MAX) ||
                     !dnet_board_has_alltoall(&(*board_p)->board)))
        *board_p = NULL;
    return mpi_errno;
}

static int gather_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf, MPI_Aint sendcount,
                     MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                     MPI_Datatype recvtype, int root)
{
    const MPIR_Comm *comm = self->comm;
    const MPI_Aint none = 0;
    const bool is_root = comm->rank == root;
    all_blocks_t all = {0};
    MPIDI_DIMMNET_board_blocks_t own = {0};
    int mpi_errno = MPI_SUCCESS;
    if (is_root)
        mpi_errno = all_blocks_begin(&all, recvbuf, recvcount, recvtype, comm, false);
    if (sendbuf == MPI_IN_PLACE) {
        sendbuf = MPIDI_DIMMNET_block_of(recvbuf, root, recvcount, recvtype);
        sendcount = recvcount;
        sendtype = recvtype;
    }
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = blocks_begin(&own, sendbuf, &sendcount, &none, sendtype, 1, true);
    const void *from = own.lie.at;
    const size_t given = (size_t) sendcount * own.lie.element_bytes;
    const size_t bytes = is_root ? all.len / (size_t) comm->local_size : given;
    if (mpi_errno == MPI_SUCCESS && given != bytes) { /* at the root, in a program that is wrong */
        void *place = (char *) all.at + (size_t) root * bytes;
        memcpy(place, from, MPL_MIN(given, bytes));
        from = place;
    }
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_DIMMNET_board_extend(self, bytes);
    if (mpi_errno == MPI_SUCCESS)
        dnet_board_gather(&self->board, from, all.at, bytes, (uint32_t) root);
    if (mpi_errno == MPI_SUCCESS && all.packed)
        mpi_errno = MPIDI_DIMMNET_unpack(all.packed, all.len, recvbuf, recvcount * comm->local_size,
                                         recvtype);
    (void) MPIDI_DIMMNET_board_blocks_end(&own, false);
    MPL_free(all.packed);
    return mpi_errno == MPI_SUCCESS && given > bytes ? MPIDI_DIMMNET_error_truncated() : mpi_errno;
}

int MPIDI_DIMMNET_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                         MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    const bool by_root = comm->rank == root;
    int mpi_errno = board_for_one(comm, by_root ? recvcount : sendcount,
                                  by_root ? recvtype : sendtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board
               ? gather_on(board, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)
               : MPIDI_DIMMNET_mpich_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                            recvtype, root, comm, errflag);
}

static int scatter_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf, MPI_Aint sendcount,
                      MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                      MPI_Datatype recvtype, int root)
{
    const MPIR_Comm *comm = self->comm;
    const MPI_Aint none = 0;
    const bool is_root = comm->rank == root, keeps = recvbuf != MPI_IN_PLACE;
    all_blocks_t all = {0};
    MPIDI_DIMMNET_board_blocks_t own = {0};
    int mpi_errno = MPI_SUCCESS;
    if (is_root)
        mpi_errno = all_blocks_begin(&all, sendbuf, sendcount, sendtype, comm, true);
    if (mpi_errno == MPI_SUCCESS && keeps)
        mpi_errno = blocks_begin(&own, recvbuf, &recvcount, &none, recvtype, 1, false);
    const size_t room = keeps ? (size_t) recvcount * own.lie.element_bytes : 0;
    const size_t bytes = is_root ? all.len / (size_t) comm->local_size : room;
    const bool cut = keeps && room < bytes; /* at the root, in a program that is wrong */
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_DIMMNET_board_extend(self, bytes);
    if (mpi_errno == MPI_SUCCESS)
        dnet_board_scatter(&self->board, all.at, keeps && !cut ? own.lie.at : NULL, bytes,
                           (uint32_t) root);
    if (mpi_errno == MPI_SUCCESS && cut && room)
        memcpy(own.lie.at, (char *) all.at + (size_t) root * bytes, room);
    const int ended = MPIDI_DIMMNET_board_blocks_end(&own, mpi_errno == MPI_SUCCESS);
    mpi_errno = mpi_errno != MPI_SUCCESS ? mpi_errno : ended;
    MPL_free(all.packed);
    return mpi_errno == MPI_SUCCESS && cut ? MPIDI_DIMMNET_error_truncated() : mpi_errno;
}

int MPIDI_DIMMNET_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                          MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    const bool by_root = comm->rank == root;
    int mpi_errno = board_for_one(comm, by_root ? sendcount : recvcount,
                                  by_root ? sendtype : recvtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board
               ? scatter_on(board, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)
               : MPIDI_DIMMNET_mpich_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                             recvtype, root, comm, errflag);
}

/* ---- the same with blocks of any lengths ---- */

/* Of more bytes the blocks of two ranks are messages: 8 KB in 0.8 to 0.97 of the time. */
#define ANY_OF_TWO_MAX 4096u

/* Nobody but the root and its rank knows how long a block is. */
static int board_for_any(MPIR_Comm *comm, MPI_Aint count, MPI_Datatype datatype,
                         MPIR_Errflag_t *errflag, MPIDI_DIMMNET_board_t **board_p)
{
    MPI_Aint bytes;
    int mpi_errno = MPIDI_DIMMNET_board_of(comm, 0, errflag, board_p);
    MPIDI_Datatype_check_size(datatype, count, bytes);
    if (*board_p && (!dnet_board_has_alltoall(&(*board_p)->board) ||
                     is_message(*board_p, bytes, ANY_OF_TWO_MAX)))
        *board_p = NULL;
    return mpi_errno;
}

/* The count that the other one of two ranks has, which is the root or not. */
static MPI_Aint count_of_two(const MPIR_Comm *comm, int root, const MPI_Aint counts[],
                             MPI_Aint count)
{
    return comm->rank == root && comm->local_size == 2 ? counts[1 - root] : count;
}

static int gatherv_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf, MPI_Aint sendcount,
                      MPI_Datatype sendtype, void *recvbuf, const MPI_Aint recvcounts[],
                      const MPI_Aint displs[], MPI_Datatype recvtype, int root)
{
    const MPIR_Comm *comm = self->comm;
    const MPI_Aint none = 0;
    MPIDI_DIMMNET_board_blocks_t all = {0}, own = {0};
    bool fit = true;
    int mpi_errno = MPI_SUCCESS;
    if (comm->rank == root)
        mpi_errno =
            blocks_begin(&all, recvbuf, recvcounts, displs, recvtype, comm->local_size, false);
    if (sendbuf == MPI_IN_PLACE) {
        sendbuf = MPIDI_DIMMNET_block_of(recvbuf, 1, displs[root], recvtype);
        sendcount = recvcounts[root];
        sendtype = recvtype;
    }
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = blocks_begin(&own, sendbuf, &sendcount, &none, sendtype, 1, true);
    if (mpi_errno == MPI_SUCCESS)
        fit =
            dnet_board_gatherv(&self->board, own.lie.at, (size_t) sendcount * own.lie.element_bytes,
                               &all.lie, (uint32_t) root);
    mpi_errno = blocks_end(&own, &all, mpi_errno);
    return mpi_errno == MPI_SUCCESS && !fit ? MPIDI_DIMMNET_error_truncated() : mpi_errno;
}

int MPIDI_DIMMNET_gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                          MPI_Datatype recvtype, int root, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board = NULL;
    const bool is_root = comm->rank == root;
    int mpi_errno = board_for_any(comm, count_of_two(comm, root, recvcounts, sendcount),
                                  is_root ? recvtype : sendtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board ? gatherv_on(board, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                              recvtype, root)
                 : MPIDI_DIMMNET_mpich_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                               displs, recvtype, root, comm, errflag);
}

static int scatterv_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf,
                       const MPI_Aint sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                       void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root)
{
    const MPIR_Comm *comm = self->comm;
    const MPI_Aint none = 0;
    MPIDI_DIMMNET_board_blocks_t all = {0}, own = {0};
    bool fit = true;
    int mpi_errno = MPI_SUCCESS;
    if (comm->rank == root)
        mpi_errno =
            blocks_begin(&all, sendbuf, sendcounts, displs, sendtype, comm->local_size, true);
    if (mpi_errno == MPI_SUCCESS && recvbuf != MPI_IN_PLACE)
        mpi_errno = blocks_begin(&own, recvbuf, &recvcount, &none, recvtype, 1, false);
    if (mpi_errno == MPI_SUCCESS) {
        const size_t bytes = own.lie.at ? (size_t) recvcount * own.lie.element_bytes : 0;
        fit = dnet_board_scatterv(&self->board, &all.lie, own.lie.at, bytes, (uint32_t) root);
    }
    mpi_errno = blocks_end(&all, &own, mpi_errno);
    return mpi_errno == MPI_SUCCESS && !fit ? MPIDI_DIMMNET_error_truncated() : mpi_errno;
}

int MPIDI_DIMMNET_scatterv(const void *sendbuf, const MPI_Aint sendcounts[],
                           const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                           MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                           MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board = NULL;
    const bool is_root = comm->rank == root;
    int mpi_errno = board_for_any(comm, count_of_two(comm, root, sendcounts, recvcount),
                                  is_root ? sendtype : recvtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board ? scatterv_on(board, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                               recvtype, root)
                 : MPIDI_DIMMNET_mpich_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf,
                                                recvcount, recvtype, root, comm, errflag);
}
