/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Boards of communicators: made together by their ranks, and given back when all have left.
 *
 * Rank 0 takes the memory from its SO-DIMM area, the others map it.  A communicator gets its board
 * with one of its first collectives, so that those that are made, used once and freed cost nothing.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_board.h"
#include "dimmnet_progress.h"

#include <sched.h>
#include <stdatomic.h>

/* That of those which would gain by far memory that makes it. */
#define LONG_BEFORE 4
/* Boards of a process that have it at a time; tests/mpi/collective.c asks for more. */
#define FAR_BOARDS_MAX 16

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
        has_p->board = MPIDI_DIMMNET_can_read_next(comm) ? BOARD_AND_READS : BOARD;
    return MPIR_Allreduce_impl(MPI_IN_PLACE, has_p, HAS_INTS, MPI_INT, MPI_MIN, comm, errflag);
}

/* May this communicator have a board?  The same answer on all of its ranks, whatever the options
 * of each are: make() finds out whether all want it. */
static bool may_have_board(MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && comm->local_size > 1 &&
           comm->local_size <= (int) DNET_BOARD_MAX_RANKS &&
           dnet_ep_job_may_share(MPIDI_DIMMNET_EP(0)) && MPIDI_DIMMNET_comm_is_of_one_job(comm);
}

int MPIDI_DIMMNET_board_make(MPIR_Comm *comm, MPIR_Errflag_t *errflag,
                             MPIDI_DIMMNET_board_t **board_p)
{
    if (!may_have_board(comm)) {
        NETMOD_OF(comm).without_board = true;
        return MPI_SUCCESS;
    }
    if (++NETMOD_OF(comm).collectives < MPIDI_DIMMNET_COLLECTIVES_BEFORE)
        return MPI_SUCCESS;
    MPIDI_DIMMNET_board_t *self = NULL;
    if (dnet_ep_shares_boards(MPIDI_DIMMNET_EP(0)))
        self = MPL_calloc(1, sizeof(*self), MPL_MEM_COMM);
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

int MPIDI_DIMMNET_board_extend_now(MPIDI_DIMMNET_board_t *self)
{
    return ++self->longs == LONG_BEFORE ? make_far(self) : MPI_SUCCESS;
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
