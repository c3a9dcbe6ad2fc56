/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Boards of communicators: made together by their ranks, and given back when all have left.
 *
 * Rank 0 takes the memory from its SO-DIMM area, the others map it.  A communicator gets its board
 * with one of its first collectives, so that those that are made, used once and freed cost nothing.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_coll.h"
#include "dimmnet_progress.h"
#include "dimmnet_reduce.h"
#include "dimmnet_shared.h"
#include "collective/blocks.h"
#include "collective/choice.h"
#include "collective/collective.h"
#include "common/clock.h"
#include "endpoint/share.h"

#include <sched.h>
#include <stdatomic.h>

/* The collective that makes a communicator's board. */
#define COLLECTIVES_BEFORE 4
/* That of those which would gain by far memory that makes it. */
#define LONG_BEFORE 4
/* Boards of a process that have it at a time; tests/mpi/collective.c asks for more. */
#define FAR_BOARDS_MAX 16

/* From these bytes on a rank MPICH's way by messages is faster where ranks cannot read each other's
 * memory, and for two ranks that could, of whom both move pieces of a message. */
#define BOARD_MAX 32768
#define BOARD_BCAST_OF_TWO_MAX 32768
/* What two exchange, where the kernel copies fairly fast, and, a broadcast as well, where it is
 * slow.  Longer blocks that they exchange go as is found to be faster, each twice as long as the
 * ones before for itself. */
#define BOARD_OF_TWO_FAIR_MAX 65536
#define BOARD_OF_TWO_SLOW_MAX 131072
#define LENGTHS_OF_TWO 6

struct MPIDI_DIMMNET_board {
    dnet_board_t board;
    MPIR_Comm *comm;
    MPIDI_DIMMNET_shared_t shared, far;
    dnet_choice_t of_two[LENGTHS_OF_TWO];
    int longs;                   /* collectives that would have gained by far memory */
    MPIDI_DIMMNET_board_t *next; /* that all others have not left yet */
};

#define NETMOD_OF(comm) ((comm)->dev.ch4.netmod.dimmnet)

/* Boards of communicators that rank 0 has freed, and some other rank not yet. */
static MPIDI_DIMMNET_board_t *leaving;
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- waiting ---- */

static uint32_t peer_of(const MPIDI_DIMMNET_board_t *self, uint32_t rank)
{
    return MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(self->comm, (int) rank)).peer;
}

static bool still_waits(void *arg)
{
    const MPIDI_DIMMNET_board_t *self = arg;
    return dnet_board_waits(&self->board);
}

static void idle(void *arg, bool first)
{
    MPIDI_DIMMNET_board_t *self = arg;
    atomic_store_explicit(&MPIDI_DIMMNET_global.board, self, memory_order_relaxed);
    MPIDI_DIMMNET_idle(still_waits, self, first);
}

static void wake(void *arg, uint32_t rank)
{
    const MPIDI_DIMMNET_board_t *self = arg;
    MPIDI_DIMMNET_wake(peer_of(self, rank));
}

static bool waits_for(const MPIDI_DIMMNET_board_t *self, dnet_wait_t *wait)
{
    uint32_t rank = self ? dnet_board_waits_for(&self->board) : DNET_BOARD_NO_RANK;
    if (rank == DNET_BOARD_NO_RANK)
        return false;
    wait->kind = DNET_WAIT_COLLECTIVE;
    wait->rank = peer_of(self, rank);
    wait->source = rank;
    wait->context = self->comm->recvcontext_id;
    return true;
}

/* Whoever asks says so first: another thread may free the board. */
bool MPIDI_DIMMNET_board_waits(dnet_wait_t *wait)
{
    atomic_fetch_add(&MPIDI_DIMMNET_global.board_readers, 1);
    bool waits = waits_for(atomic_load(&MPIDI_DIMMNET_global.board), wait);
    atomic_fetch_sub(&MPIDI_DIMMNET_global.board_readers, 1);
    return waits;
}

/* Nobody asks what this board waits for, when it returns. */
static void forget(MPIDI_DIMMNET_board_t *self)
{
    atomic_compare_exchange_strong(&MPIDI_DIMMNET_global.board, &self, NULL);
    while (atomic_load(&MPIDI_DIMMNET_global.board_readers) > 0)
        sched_yield();
}

/* A rank whose memory cannot be had any more has ended, and the job with it. */
static void read_of(void *arg, uint32_t rank, const void *from, void *to, size_t bytes)
{
    dnet_status_t status = dnet_ep_read(MPIDI_DIMMNET_EP(0), peer_of(arg, rank), from, to, bytes);
    if (status != DNET_OK)
        MPIDI_DIMMNET_abort(status);
}

static void write_to(void *arg, uint32_t rank, const void *from, void *to, size_t bytes)
{
    dnet_status_t status = dnet_ep_write(MPIDI_DIMMNET_EP(0), peer_of(arg, rank), from, to, bytes);
    if (status != DNET_OK)
        MPIDI_DIMMNET_abort(status);
}

/* ---- making ---- */

static atomic_int far_boards;

static void release(MPIDI_DIMMNET_board_t *self)
{
    if (self->board.far.memory)
        atomic_fetch_sub(&far_boards, 1);
    MPIDI_DIMMNET_shared_release(&self->shared);
    MPIDI_DIMMNET_shared_release(&self->far);
    MPL_free(self);
}

/* Give back what all ranks have left. */
static void release_left(void)
{
    pthread_mutex_lock(&leaving_lock);
    for (MPIDI_DIMMNET_board_t **link = &leaving; *link;) {
        MPIDI_DIMMNET_board_t *self = *link;
        if (dnet_board_left_by_all(self->shared.memory, self->board.size)) {
            *link = self->next;
            release(self);
        } else {
            link = &self->next;
        }
    }
    pthread_mutex_unlock(&leaving_lock);
}

/* Each rank tries one other: whoever may read one of the user's processes may read all. */
static bool can_read_next(const MPIDI_DIMMNET_board_t *self)
{
    uint32_t next = (uint32_t) ((self->comm->rank + 1) % self->comm->local_size);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    bool can = dnet_ep_can_read(MPIDI_DIMMNET_EP(0), peer_of(self, next));
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    return can;
}

/* What a rank has, the least of all ranks in the end, as they have to take the same ways. */
enum { NO_BOARD, BOARD, BOARD_AND_READS };
typedef struct {
    int board;
    int processor; /* of its own */
    int copies;    /* dnet_kernel_copies_t */
} has_t;
#define HAS_INTS ((int) (sizeof(has_t) / sizeof(int)))

/* Have this rank's part of a board; all ranks learn what all have. */
static int make(MPIR_Comm *comm, MPIR_Errflag_t *errflag, MPIDI_DIMMNET_board_t *self, has_t *has_p)
{
    MPIDI_DIMMNET_shared_t shared;
    if (comm->rank == 0)
        release_left();
    int mpi_errno = MPIDI_DIMMNET_shared_make(comm, dnet_board_bytes((uint32_t) comm->local_size),
                                              self != NULL, errflag, &shared);
    if (self)
        self->shared = shared;
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    MPIDI_DIMMNET_shared_zero(&shared, dnet_board_front_bytes((uint32_t) comm->local_size));
    if (shared.memory)
        has_p->board = can_read_next(self) ? BOARD_AND_READS : BOARD;
    return MPIR_Allreduce_impl(MPI_IN_PLACE, has_p, HAS_INTS, MPI_INT, MPI_MIN, comm, errflag);
}

/* May this communicator have a board?  The same answer on all of its ranks, but for what make()
 * finds out. */
static bool may_have_board(MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && comm->local_size > 1 &&
           comm->local_size <= (int) DNET_BOARD_MAX_RANKS &&
           dnet_ep_shares_boards(MPIDI_DIMMNET_EP(0)) && MPIDI_DIMMNET_comm_is_of_one_job(comm);
}

static int board_make(MPIR_Comm *comm, MPIR_Errflag_t *errflag, MPIDI_DIMMNET_board_t **board_p)
{
    if (!may_have_board(comm)) {
        NETMOD_OF(comm).without_board = true;
        return MPI_SUCCESS;
    }
    if (++NETMOD_OF(comm).collectives < COLLECTIVES_BEFORE)
        return MPI_SUCCESS;
    MPIDI_DIMMNET_board_t *self = MPL_calloc(1, sizeof(*self), MPL_MEM_COMM);
    if (self)
        self->comm = comm;
    has_t has = {NO_BOARD, !dnet_ep_oversubscribed(MPIDI_DIMMNET_EP(0)),
                 (int) dnet_ep_kernel_copies(MPIDI_DIMMNET_EP(0))};
    int mpi_errno = make(comm, errflag, self, &has);
    NETMOD_OF(comm).without_board = has.board == NO_BOARD;
    if (mpi_errno != MPI_SUCCESS || has.board == NO_BOARD) {
        if (self)
            release(self);
        return mpi_errno;
    }
    bool reads = has.board == BOARD_AND_READS;
    dnet_board_join(&self->board, self->shared.memory, (uint32_t) comm->local_size,
                    (uint32_t) comm->rank, has.processor,
                    &(dnet_board_owner_t){idle, wake, reads ? read_of : NULL,
                                          reads ? write_to : NULL, self,
                                          (dnet_kernel_copies_t) has.copies});
    dnet_board_touch(&self->board);
    dnet_ep_count_board(MPIDI_DIMMNET_EP(0));
    NETMOD_OF(comm).board = *board_p = self;
    return MPI_SUCCESS;
}

static int make_far(MPIDI_DIMMNET_board_t *self)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    bool wanted = atomic_fetch_add(&far_boards, 1) < FAR_BOARDS_MAX;
    int mpi_errno = MPIDI_DIMMNET_shared_make(self->comm, dnet_board_far_bytes(&self->board),
                                              wanted, &errflag, &self->far);
    int all_have = self->far.memory != NULL;
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno =
            MPIR_Allreduce_impl(MPI_IN_PLACE, &all_have, 1, MPI_INT, MPI_MIN, self->comm, &errflag);
    if (mpi_errno == MPI_SUCCESS && all_have) {
        dnet_board_add_far(&self->board, self->far.memory);
        dnet_ep_count_far_board(MPIDI_DIMMNET_EP(0));
        return MPI_SUCCESS;
    }
    atomic_fetch_sub(&far_boards, 1);
    MPIDI_DIMMNET_shared_release(&self->far);
    return mpi_errno;
}

/* Before a collective to which a rank contributes so many bytes. */
static inline int extend(MPIDI_DIMMNET_board_t *self, size_t bytes)
{
    return unlikely(dnet_board_gains_by_far(&self->board, bytes)) && ++self->longs == LONG_BEFORE
               ? make_far(self)
               : MPI_SUCCESS;
}

void MPIDI_DIMMNET_board_free(MPIR_Comm *comm)
{
    MPIDI_DIMMNET_board_t *self = NETMOD_OF(comm).board;
    if (!self)
        return;
    NETMOD_OF(comm).board = NULL;
    forget(self);
    dnet_board_leave(&self->board);
    if (!self->shared.allocated) {
        release(self);
        return;
    }
    pthread_mutex_lock(&leaving_lock);
    self->next = leaving;
    leaving = self;
    pthread_mutex_unlock(&leaving_lock);
    release_left();
}

void MPIDI_DIMMNET_boards_finalize(void)
{
    /* All ranks have ended their last collective. */
    while (leaving) {
        MPIDI_DIMMNET_board_t *self = leaving;
        leaving = self->next;
        release(self);
    }
    MPIDI_DIMMNET_shared_finalize();
}

/* ---- buffers ---- */

/* Bytes of a message, and where they lie one behind the other; NULL: in no such place. */
static void *contiguous(const void *buf, MPI_Aint count, MPI_Datatype datatype, size_t *len_p)
{
    int contig;
    MPI_Aint true_lb;
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, *len_p, true_lb);
    return contig ? MPIR_get_contig_ptr(buf, true_lb) : NULL;
}

static int unpack(const void *packed, size_t len, void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint unpacked;
    return MPIR_Typerep_unpack(packed, len, buf, count, datatype, 0, &unpacked);
}

static int bcast_on(MPIDI_DIMMNET_board_t *self, void *buffer, MPI_Aint count,
                    MPI_Datatype datatype, int root)
{
    size_t len;
    void *packed = NULL, *data = contiguous(buffer, count, datatype, &len);
    bool is_root = self->comm->rank == root;
    int mpi_errno = extend(self, len);
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
        mpi_errno = unpack(packed, len, buffer, count, datatype);
    MPL_free(packed);
    return mpi_errno;
}

/* The two buffers of an exchange, contiguous. */
typedef struct {
    const void *from;
    void *to;
    size_t bytes;                  /* a block */
    void *packed_from, *packed_to; /* to be freed */
    MPI_Aint to_count;             /* elements of the whole receive buffer */
} exchange_t;

/* `blocks`: of the send buffer; the receive buffer has one for each rank. */
static int exchange_begin(exchange_t *x, const MPIDI_DIMMNET_board_t *self, const void *sendbuf,
                          MPI_Aint sendcount, MPI_Datatype sendtype, unsigned blocks, void *recvbuf,
                          MPI_Aint recvcount, MPI_Datatype recvtype)
{
    size_t len;
    int mpi_errno = MPI_SUCCESS;
    *x = (exchange_t){.to_count = recvcount * self->comm->local_size};
    x->to = contiguous(recvbuf, x->to_count, recvtype, &len);
    x->bytes = len / (size_t) self->comm->local_size;
    if (!x->to && len) {
        /* In place the own blocks are there already. */
        mpi_errno = MPIDI_DIMMNET_pack(recvbuf, x->to_count, recvtype, &x->packed_to, &len);
        x->to = x->packed_to;
    }
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (sendbuf == MPI_IN_PLACE) {
        x->from = blocks > 1 ? x->to : (uint8_t *) x->to + x->bytes * (size_t) self->comm->rank;
        return MPI_SUCCESS;
    }
    x->from = contiguous(sendbuf, sendcount * blocks, sendtype, &len);
    if (!x->from && len) {
        mpi_errno =
            MPIDI_DIMMNET_pack(sendbuf, sendcount * blocks, sendtype, &x->packed_from, &len);
        x->from = x->packed_from;
    }
    if (mpi_errno != MPI_SUCCESS)
        MPL_free(x->packed_to);
    return mpi_errno;
}

static int exchange_end(exchange_t *x, const MPIDI_DIMMNET_board_t *self, void *recvbuf,
                        MPI_Datatype recvtype)
{
    int mpi_errno = MPI_SUCCESS;
    if (x->packed_to)
        mpi_errno = unpack(x->packed_to, x->bytes * (size_t) self->comm->local_size, recvbuf,
                           x->to_count, recvtype);
    MPL_free(x->packed_from);
    MPL_free(x->packed_to);
    return mpi_errno;
}

/* `blocks`: of the send buffer */
static int exchange_on(MPIDI_DIMMNET_board_t *self,
                       void (*exchange)(dnet_board_t *, const void *, void *, size_t),
                       unsigned blocks, const void *sendbuf, MPI_Aint sendcount,
                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                       MPI_Datatype recvtype)
{
    exchange_t x;
    int mpi_errno = exchange_begin(&x, self, sendbuf, sendcount, sendtype, blocks, recvbuf,
                                   recvcount, recvtype);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno = extend(self, x.bytes * blocks);
    if (mpi_errno == MPI_SUCCESS)
        exchange(&self->board, x.from, x.to, x.bytes);
    int ended = exchange_end(&x, self, recvbuf, recvtype);
    return mpi_errno != MPI_SUCCESS ? mpi_errno : ended;
}

/* ---- the calls ---- */

/* The board for a collective to which a rank contributes so many bytes; *board_p NULL: MPICH's
 * way. */
static inline int board_of(MPIR_Comm *comm, MPI_Aint bytes, MPIR_Errflag_t *errflag,
                           MPIDI_DIMMNET_board_t **board_p)
{
    const MPIDI_DIMMNET_comm_t *c = &comm->dev.ch4.netmod.dimmnet;
    *board_p = c->board;
    if (unlikely(!c->board))
        return c->without_board ? MPI_SUCCESS : board_make(comm, errflag, board_p);
    if (bytes > BOARD_MAX && !c->board->board.owner.read)
        *board_p = NULL;
    else
        dnet_ep_count_board_collective(MPIDI_DIMMNET_EP(0));
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_barrier(MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    int mpi_errno = board_of(comm, 0, errflag, &board);
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
    return comm->local_size == 2 && bytes > BOARD_BCAST_OF_TWO_MAX &&
           (bytes > BOARD_OF_TWO_SLOW_MAX || by_slots_of_two(comm) != BOARD_OF_TWO_SLOW_MAX);
}

int MPIDI_DIMMNET_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                        MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    MPI_Aint bytes;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    int mpi_errno = board_of(comm, bytes, errflag, &board);
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
    int mpi_errno = loop ? board_of(comm, 0, errflag, &board) : MPI_SUCCESS;
    *done_p = mpi_errno != MPI_SUCCESS || board;
    if (mpi_errno != MPI_SUCCESS || !board)
        return mpi_errno;
    MPI_Aint element;
    MPIR_Datatype_get_size_macro(datatype, element);
    mpi_errno = extend(board, (size_t) (count * element));
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

/* The board for an exchange of blocks of `count` elements. */
static inline int board_for(MPIR_Comm *comm, MPI_Aint count, MPI_Datatype datatype,
                            MPIR_Errflag_t *errflag, MPIDI_DIMMNET_board_t **board_p)
{
    MPI_Aint bytes;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    return board_of(comm, bytes, errflag, board_p);
}

/* A block of `count` elements of such a buffer. */
static inline void *block_of(const void *buf, int r, MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint extent;
    MPIR_Datatype_get_extent_macro(datatype, extent);
    return (char *) buf + r * count * extent;
}

/* What two ranks exchange: of each a block for the other, and one that it keeps. */
typedef struct {
    const void *own, *for_other; /* of `sendcount` elements */
    MPI_Aint sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    void *to, *from_other; /* where the own one goes, unless it is there, and the other rank's */
} blocks_of_two_t;

static int keep_own(const blocks_of_two_t *x)
{
    return x->own == x->to ? MPI_SUCCESS
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

/* Blocks of about as many bytes, up to 256 KB, of 512 KB and so on, share what is known of them. */
static dnet_choice_t *choice_for(MPIDI_DIMMNET_board_t *self, size_t bytes)
{
    unsigned i = 0;
    while (i + 1 < LENGTHS_OF_TWO && bytes >> i > 2 * BOARD_OF_TWO_SLOW_MAX)
        i++;
    return &self->of_two[i];
}

/* Each rank reads the other's block, or both go by messages: what took less time lately.  Only rank
 * 0 measures, from when both are there. */
static int exchange_of_two(const blocks_of_two_t *x, int tag, MPIR_Comm *comm,
                           MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *self = NETMOD_OF(comm).board;
    size_t bytes, sent_bytes;
    void *to = contiguous(x->from_other, x->recvcount, x->recvtype, &bytes);
    const void *from = contiguous(x->for_other, x->sendcount, x->sendtype, &sent_bytes);
    dnet_choice_t *choice = choice_for(self, bytes);
    bool reads = dnet_board_pair_offer(&self->board, to ? from : NULL, !dnet_choice_next(choice));
    uint64_t begin = dnet_clock_ns();
    int mpi_errno;
    if (reads) {
        dnet_ep_count_board_collective(MPIDI_DIMMNET_EP(0));
        dnet_board_pair_read(&self->board, to, bytes);
        mpi_errno = keep_own(x);
        dnet_board_pair_end(&self->board);
    } else {
        mpi_errno = exchange_by_messages(x, tag, comm, errflag);
    }
    if (comm->rank == 0 && reads != dnet_choice_next(choice))
        dnet_choice_took(choice, bytes, dnet_clock_ns() - begin);
    return mpi_errno;
}

static int allgather_of_two(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    void *to = block_of(recvbuf, comm->rank, recvcount, recvtype);
    if (sendbuf == MPI_IN_PLACE) {
        sendbuf = to;
        sendcount = recvcount;
        sendtype = recvtype;
    }
    blocks_of_two_t x = {
        sendbuf,  sendbuf,  sendcount, recvcount,
        sendtype, recvtype, to,        block_of(recvbuf, 1 - comm->rank, recvcount, recvtype)};
    return exchange_of_two(&x, MPIR_ALLGATHER_TAG, comm, errflag);
}

static int alltoall_of_two(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    const int rank = comm->rank, other = 1 - rank;
    blocks_of_two_t x = {block_of(sendbuf, rank, sendcount, sendtype),
                         block_of(sendbuf, other, sendcount, sendtype),
                         sendcount,
                         recvcount,
                         sendtype,
                         recvtype,
                         block_of(recvbuf, rank, recvcount, recvtype),
                         block_of(recvbuf, other, recvcount, recvtype)};
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
    int mpi_errno = board_for(comm, recvcount, recvtype, errflag, &board);
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
    int mpi_errno = board_for(comm, recvcount, recvtype, errflag, &board);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board && dnet_board_has_alltoall(&board->board)
               ? exchange_on(board, dnet_board_alltoall, (unsigned) comm->local_size, sendbuf,
                             sendcount, sendtype, recvbuf, recvcount, recvtype)
               : MPIDI_DIMMNET_mpich_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                              recvtype, comm, errflag);
}

/* ---- blocks of different lengths ---- */

/* Blocks of the caller's vector as a board needs them: where they are, or packed one behind the
 * other. */
typedef struct {
    dnet_blocks_t blocks;
    size_t element_bytes;
    void *at;
    void *packed; /* to be freed; NULL: they are where they are */
} blocks_at_t;

/* `pack`: with what the caller has there; else only room for it. */
static int blocks_begin(blocks_at_t *x, const void *buf, const MPI_Aint counts[],
                        const MPI_Aint displs[], MPI_Datatype datatype, int size, bool pack)
{
    MPI_Aint element, packed;
    size_t len;
    MPIR_Datatype_get_size_macro(datatype, element);
    *x = (blocks_at_t){{.counts = counts, .places = displs}, (size_t) element, NULL, NULL};
    size_t total = dnet_blocks_before(&x->blocks, (uint32_t) size);
    x->at = contiguous(buf, (MPI_Aint) total, datatype, &len);
    if (x->at || !len)
        return MPI_SUCCESS;
    x->blocks.places = NULL;
    if (!(x->at = x->packed = MPL_malloc(len, MPL_MEM_BUFFER)))
        return MPIDI_DIMMNET_error_no_memory(len);
    int mpi_errno = MPI_SUCCESS;
    char *to = x->packed;
    for (int r = 0; r < size && pack && mpi_errno == MPI_SUCCESS; r++) {
        mpi_errno = MPIR_Typerep_pack(block_of(buf, 1, displs[r], datatype), counts[r], datatype, 0,
                                      to, counts[r] * element, &packed);
        to += counts[r] * element;
    }
    return mpi_errno;
}

/* What has come, to where the caller wants it. */
static int blocks_unpack(const blocks_at_t *x, void *buf, const MPI_Aint displs[],
                         MPI_Datatype datatype, int size)
{
    const char *from = x->packed;
    int mpi_errno = MPI_SUCCESS;
    for (int r = 0; r < size && from && mpi_errno == MPI_SUCCESS; r++) {
        size_t count = dnet_blocks_count(&x->blocks, (uint32_t) r);
        if (count)
            mpi_errno = unpack(from, count * x->element_bytes,
                               block_of(buf, 1, displs[r], datatype), (MPI_Aint) count, datatype);
        from += count * x->element_bytes;
    }
    return mpi_errno;
}

static size_t longest_bytes(const blocks_at_t *x, const MPIR_Comm *comm)
{
    return dnet_blocks_longest(&x->blocks, (uint32_t) comm->local_size) * x->element_bytes;
}

/* The own block of an allgather is packed, too, if the others are. */
static int allgatherv_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf, MPI_Aint sendcount,
                         MPI_Datatype sendtype, void *recvbuf, const MPI_Aint recvcounts[],
                         const MPI_Aint displs[], MPI_Datatype recvtype)
{
    const MPIR_Comm *comm = self->comm;
    blocks_at_t to, from = {.packed = NULL};
    const MPI_Aint none = 0;
    if (sendbuf == MPI_IN_PLACE) {
        sendbuf = block_of(recvbuf, 1, displs[comm->rank], recvtype);
        sendcount = recvcounts[comm->rank];
        sendtype = recvtype;
    }
    int mpi_errno =
        blocks_begin(&to, recvbuf, recvcounts, displs, recvtype, comm->local_size, false);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = blocks_begin(&from, sendbuf, &sendcount, &none, sendtype, 1, true);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = extend(self, longest_bytes(&to, comm));
    if (mpi_errno == MPI_SUCCESS) {
        dnet_board_allgatherv(&self->board, from.at, to.at, &to.blocks, to.element_bytes);
        mpi_errno = blocks_unpack(&to, recvbuf, displs, recvtype, comm->local_size);
    }
    MPL_free(from.packed);
    MPL_free(to.packed);
    return mpi_errno;
}

int MPIDI_DIMMNET_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board = NULL;
    int mpi_errno = MPI_SUCCESS;
    if (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM) {
        const dnet_blocks_t blocks = {.counts = recvcounts};
        mpi_errno =
            board_for(comm, (MPI_Aint) dnet_blocks_longest(&blocks, (uint32_t) comm->local_size),
                      recvtype, errflag, &board);
    }
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return board ? allgatherv_on(board, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                 recvtype)
                 : MPIDI_DIMMNET_mpich_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                                  displs, recvtype, comm, errflag);
}

/* *done_p false: it takes MPICH's way. */
static int alltoallv_on(MPIDI_DIMMNET_board_t *self, const void *sendbuf,
                        const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
                        MPI_Datatype sendtype, void *recvbuf, const MPI_Aint recvcounts[],
                        const MPI_Aint rdispls[], MPI_Datatype recvtype, bool *done_p)
{
    const int size = self->comm->local_size;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    blocks_at_t to, from = {.packed = NULL};
    *done_p = true;
    int mpi_errno = blocks_begin(&to, recvbuf, recvcounts, rdispls, recvtype, size, in_place);
    if (mpi_errno == MPI_SUCCESS && !in_place)
        mpi_errno = blocks_begin(&from, sendbuf, sendcounts, sdispls, sendtype, size, true);
    if (mpi_errno == MPI_SUCCESS) {
        const blocks_at_t *given = in_place ? &to : &from;
        const dnet_exchange_t x = {given->at, &given->blocks, given->element_bytes,
                                   to.at,     &to.blocks,     to.element_bytes};
        *done_p = dnet_board_alltoallv(&self->board, &x);
    }
    if (mpi_errno == MPI_SUCCESS && *done_p)
        mpi_errno = blocks_unpack(&to, recvbuf, rdispls, recvtype, size);
    MPL_free(from.packed);
    MPL_free(to.packed);
    return mpi_errno;
}

int MPIDI_DIMMNET_alltoallv(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                            const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                            MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    MPIDI_DIMMNET_board_t *board;
    bool done = false;
    int mpi_errno = board_of(comm, 0, errflag, &board);
    if (mpi_errno == MPI_SUCCESS && board && dnet_board_has_alltoall(&board->board))
        mpi_errno = alltoallv_on(board, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                 rdispls, recvtype, &done);
    return done || mpi_errno != MPI_SUCCESS
               ? mpi_errno
               : MPIDI_DIMMNET_mpich_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                               recvcounts, rdispls, recvtype, comm, errflag);
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
    int mpi_errno = extend(self, dnet_blocks_longest(blocks, size) * (size_t) element);
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
    int mpi_errno = loop ? board_of(comm, 0, errflag, &board) : MPI_SUCCESS;
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
