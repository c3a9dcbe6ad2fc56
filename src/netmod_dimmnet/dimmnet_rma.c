/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations and locks in a window whose memory all ranks reach.
 *
 * What an operation does is done when it returns, but for a short put or get of a far part, which
 * is done when the epoch, or a flush, ends at the latest.  Order: an unlock releases what its rank
 * has stored, a lock acquires it; a flush and a fence are full barriers.  MPI's states of epochs
 * are kept as MPICH keeps them, so that a call outside its epoch is an error here as well.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_board.h"
#include "dimmnet_far.h"
#include "dimmnet_progress.h"
#include "dimmnet_reduce.h"
#include "dimmnet_rma.h"
#include "dimmnet_window.h"
#include "common/bulk.h"
#include "common/compiler.h"
#include "endpoint/share.h"

/* Looks at a lock before the process makes progress between them. */
#define SPINS 256
/* And those between two yields while an accumulate is locked: every some hundredth of them looks
 * whether peers live, and where processors are few a yield takes long. */
#define LOOKS_PER_YIELD 16
/* An accumulate in a far part is done in such pieces, which stay in the caches. */
#define PIECE_BYTES 65536

static int progress_at_times(MPIDI_DIMMNET_window_t *self)
{
    uint32_t calls = atomic_load_explicit(&self->calls, memory_order_relaxed) + 1;
    atomic_store_explicit(&self->calls, calls, memory_order_relaxed);
    return calls % MPIDI_DIMMNET_CALLS_WITHOUT_PROGRESS ? MPI_SUCCESS
                                                        : MPIDI_DIMMNET_let_others_go_on();
}

/* Errors stay out of the way of operations, of which there are many a microsecond. */
#define RARE __attribute__((cold, noinline))

/* The call does not fit the epoch. */
RARE static int error_sync(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_RMA_SYNC, "**rmasync", 0);
}

/* What is to be done in far parts. */
static inline int finish(MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win)->row ? MPIDI_DIMMNET_far_finish(win) : MPI_SUCCESS;
}

/* ---- MPI's locks ---- */

/* A ticket, and who waits with it. */
typedef struct {
    MPIDI_DIMMNET_locks_t *locks;
    uint64_t ticket;
    bool exclusive;
} wait_t;

static bool still_waits(void *arg)
{
    const wait_t *w = arg;
    const _Atomic uint64_t *now = w->exclusive ? &w->locks->exclusive : &w->locks->shared;
    /* Acquire: pairs with let_next(); what the last owner has stored is seen. */
    uint64_t number = atomic_load_explicit(now, memory_order_acquire);
    return w->exclusive ? number != w->ticket : number < w->ticket;
}

/* The process may sleep: who unlocks is to wake it.  Both sides change a word of the lock before
 * they look at the other's. */
static void doze(MPIR_Win *win, int rank, wait_t *w)
{
    MPIDI_DIMMNET_window_t *self = MPIDI_DIMMNET_WINDOW(win);
    MPIDI_DIMMNET_locks_t *own = &self->locks[win->comm_ptr->rank];
    uint32_t owner = atomic_load_explicit(&w->locks->owner, memory_order_relaxed);
    int vci = MPIDI_WIN(win, am_vci);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    MPIDI_DIMMNET_VCI(vci)->asked.lock_peer = MPIDI_DIMMNET_peer_of(win, rank);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    if (owner)
        MPIDI_DIMMNET_wake(MPIDI_DIMMNET_peer_of(win, (int) owner - 1));
    atomic_store_explicit(&own->dozes_at, (uint32_t) rank + 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->locks->dozers, 1, memory_order_seq_cst);
    for (bool first = true; still_waits(w); first = false)
        MPIDI_DIMMNET_idle(still_waits, w, first);
    atomic_fetch_sub_explicit(&w->locks->dozers, 1, memory_order_relaxed);
    atomic_store_explicit(&own->dozes_at, 0, memory_order_relaxed);
}

static void wake_dozers(MPIR_Win *win, int rank)
{
    MPIDI_DIMMNET_window_t *self = MPIDI_DIMMNET_WINDOW(win);
    for (int r = 0; r < win->comm_ptr->local_size; r++)
        if (atomic_load_explicit(&self->locks[r].dozes_at, memory_order_relaxed) ==
            (uint32_t) rank + 1)
            MPIDI_DIMMNET_wake(MPIDI_DIMMNET_peer_of(win, r));
}

/* Who promises that no other lock conflicts takes none: programs such as those of OpenCoarrays hold
 * one of all ranks that way for as long as they wait for somebody who locks. */
static void take(MPIR_Win *win, int rank, int lock_type, int assert)
{
    MPIDI_DIMMNET_window_t *self = MPIDI_DIMMNET_WINDOW(win);
    if (assert & MPI_MODE_NOCHECK) {
        self->part[rank].locked = MPI_MODE_NOCHECK;
        /* Acquire: what others have stored before they told this process so is seen. */
        atomic_thread_fence(memory_order_acquire);
        return;
    }
    wait_t w = {.locks = &self->locks[rank], .exclusive = lock_type == MPI_LOCK_EXCLUSIVE};
    int spins = dnet_ep_oversubscribed(MPIDI_DIMMNET_EP(0)) ? 0 : SPINS;
    w.ticket = atomic_fetch_add_explicit(&w.locks->tickets, 1, memory_order_relaxed);
    while (still_waits(&w) && spins-- > 0)
        dnet_cpu_relax();
    if (still_waits(&w))
        doze(win, rank, &w);
    if (w.exclusive)
        atomic_store_explicit(&w.locks->owner, (uint32_t) win->comm_ptr->rank + 1,
                              memory_order_relaxed);
    self->part[rank].locked = lock_type;
    /* Readers behind this one have slept since the writer before them woke all. */
    if (!w.exclusive) {
        atomic_fetch_add_explicit(&w.locks->shared, 1, memory_order_seq_cst);
        if (atomic_load_explicit(&w.locks->dozers, memory_order_seq_cst))
            wake_dozers(win, rank);
    }
}

static void let_next(MPIR_Win *win, int rank)
{
    MPIDI_DIMMNET_window_t *self = MPIDI_DIMMNET_WINDOW(win);
    MPIDI_DIMMNET_locks_t *locks = &self->locks[rank];
    int locked = self->part[rank].locked;
    self->part[rank].locked = 0;
    if (locked == MPI_MODE_NOCHECK) {
        atomic_thread_fence(memory_order_seq_cst);
        return;
    }
    if (locked == MPI_LOCK_EXCLUSIVE) {
        atomic_store_explicit(&locks->owner, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&locks->shared, 1, memory_order_release);
    }
    /* Release: pairs with still_waits(). */
    atomic_fetch_add_explicit(&locks->exclusive, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&locks->dozers, memory_order_seq_cst))
        wake_dozers(win, rank);
}

/* Several threads may have epochs at several targets. */
static void count_epochs(MPIR_Win *win, int step)
{
    int vci ATTRIBUTE((unused)) = MPIDI_WIN(win, am_vci);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    MPIDIG_WIN(win, sync).lock.count += step;
    MPIDIG_WIN(win, sync).access_epoch_type =
        MPIDIG_WIN(win, sync).lock.count ? MPIDIG_EPOTYPE_LOCK : MPIDIG_EPOTYPE_NONE;
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
}

int MPIDI_DIMMNET_direct_lock(int lock_type, int rank, int assert, MPIR_Win *win)
{
    int epoch = MPIDIG_WIN(win, sync).access_epoch_type;
    if ((epoch != MPIDIG_EPOTYPE_NONE && epoch != MPIDIG_EPOTYPE_REFENCE &&
         epoch != MPIDIG_EPOTYPE_LOCK) ||
        MPIDI_DIMMNET_WINDOW(win)->part[rank].locked)
        return error_sync();
    take(win, rank, lock_type, assert);
    count_epochs(win, 1);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_direct_unlock(int rank, MPIR_Win *win)
{
    if (MPIDIG_WIN(win, sync).access_epoch_type != MPIDIG_EPOTYPE_LOCK ||
        !MPIDI_DIMMNET_WINDOW(win)->part[rank].locked)
        return error_sync();
    int mpi_errno = finish(win);
    count_epochs(win, -1);
    let_next(win, rank);
    return MPIDI_DIMMNET_either(mpi_errno, progress_at_times(MPIDI_DIMMNET_WINDOW(win)));
}

int MPIDI_DIMMNET_direct_lock_all(int assert, MPIR_Win *win)
{
    int epoch = MPIDIG_WIN(win, sync).access_epoch_type;
    if (epoch != MPIDIG_EPOTYPE_NONE && epoch != MPIDIG_EPOTYPE_REFENCE)
        return error_sync();
    for (int r = 0; r < win->comm_ptr->local_size; r++)
        take(win, r, MPI_LOCK_SHARED, assert);
    MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_LOCK_ALL;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_direct_unlock_all(MPIR_Win *win)
{
    if (MPIDIG_WIN(win, sync).access_epoch_type != MPIDIG_EPOTYPE_LOCK_ALL)
        return error_sync();
    int mpi_errno = finish(win);
    for (int r = 0; r < win->comm_ptr->local_size; r++)
        let_next(win, r);
    MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_NONE;
    return MPIDI_DIMMNET_either(mpi_errno, progress_at_times(MPIDI_DIMMNET_WINDOW(win)));
}

int MPIDI_DIMMNET_direct_flush(int rank, MPIR_Win *win)
{
    MPIDI_DIMMNET_window_t *self = MPIDI_DIMMNET_WINDOW(win);
    int epoch = MPIDIG_WIN(win, sync).access_epoch_type;
    if ((epoch != MPIDIG_EPOTYPE_LOCK && epoch != MPIDIG_EPOTYPE_LOCK_ALL) ||
        (rank != MPI_PROC_NULL && !self->part[rank].locked))
        return error_sync();
    int mpi_errno = finish(win);
    atomic_thread_fence(memory_order_seq_cst);
    return MPIDI_DIMMNET_either(mpi_errno, progress_at_times(self));
}

int MPIDI_DIMMNET_direct_fence(int assert, MPIR_Win *win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIDIG_FENCE_EPOCH_CHECK(win, mpi_errno, goto fn_fail);
    mpi_errno = finish(win);
    atomic_thread_fence(memory_order_seq_cst);
    MPIDIG_EPOCH_FENCE_EVENT(win, assert);
    mpi_errno = MPIDI_DIMMNET_either(mpi_errno, MPIR_Barrier(win->comm_ptr, &errflag));

fn_fail:
    return mpi_errno;
}

int MPIDI_DIMMNET_direct_complete(MPIR_Win *win)
{
    int mpi_errno = finish(win); /* before the target hears that it is */
    return MPIDI_DIMMNET_either(mpi_errno, MPIDIG_mpi_win_complete(win));
}

/* ---- operations ---- */

RARE static int check_other_epoch(int rank, MPIR_Win *win)
{
    switch (MPIDIG_WIN(win, sync).access_epoch_type) {
        case MPIDIG_EPOTYPE_REFENCE:
            MPIDIG_EPOCH_OP_REFENCE(win);
            return MPI_SUCCESS;
        case MPIDIG_EPOTYPE_START:
            return MPIDIU_valid_group_rank(win->comm_ptr, rank, MPIDIG_WIN(win, sync).sc.group)
                       ? MPI_SUCCESS
                       : error_sync();
        default:
            return error_sync();
    }
}

static int check_epoch(int rank, MPIR_Win *win)
{
    int epoch = MPIDIG_WIN(win, sync).access_epoch_type;
    if (epoch == MPIDIG_EPOTYPE_LOCK || epoch == MPIDIG_EPOTYPE_LOCK_ALL)
        return MPIDI_DIMMNET_WINDOW(win)->part[rank].locked ? MPI_SUCCESS : error_sync();
    return epoch == MPIDIG_EPOTYPE_FENCE ? MPI_SUCCESS : check_other_epoch(rank, win);
}

/* As span_of(), of a type that is not built in. */
__attribute__((noinline)) static bool span_of_derived(MPI_Aint count, MPI_Datatype type,
                                                      MPI_Aint *from, MPI_Aint *end)
{
    MPI_Aint extent, steps, bytes;
    MPIR_Datatype *t;
    *from = *end = 0;
    MPIDI_Datatype_check_size(type, 1, bytes);
    if (!bytes || !count)
        return true;
    MPIR_Datatype_get_ptr(type, t);
    MPIR_Datatype_get_extent_macro(type, extent);
    if (__builtin_mul_overflow(extent, count - 1, &steps))
        return false;
    return !__builtin_add_overflow(t->true_lb, MPL_MIN(steps, 0), from) &&
           !__builtin_add_overflow(t->true_ub, MPL_MAX(steps, 0), end);
}

/* The bytes that so many elements take, from the first's begin; none: both 0.  False: too many to
 * count. */
static inline bool span_of(MPI_Aint count, MPI_Datatype type, MPI_Aint *from, MPI_Aint *end)
{
    if (!HANDLE_IS_BUILTIN(type))
        return span_of_derived(count, type, from, end);
    *from = 0;
    return !__builtin_mul_overflow(count, (MPI_Aint) MPIR_Datatype_get_basic_size(type), end);
}

int MPIDI_DIMMNET_error_range(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_RMA_RANGE, "**rmarange", 0);
}

/* Where the target's elements are; *at_p NULL: there are none.  Returns an MPI error code. */
static inline int find(int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype type, MPIR_Win *win,
                       uint8_t **at_p)
{
    const MPIDI_DIMMNET_part_of_t *part = &MPIDI_DIMMNET_WINDOW(win)->part[rank];
    MPI_Aint from, end, begin;
    int mpi_errno = check_epoch(rank, win);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    *at_p = NULL;
    if (!span_of(count, type, &from, &end))
        return MPIDI_DIMMNET_error_range();
    if (from == end)
        return MPI_SUCCESS;
    if (disp < 0 || __builtin_mul_overflow(disp, part->disp_unit, &begin) || begin > part->bytes ||
        begin + from < 0 || end > part->bytes - begin)
        return MPIDI_DIMMNET_error_range();
    *at_p = part->base + begin;
    dnet_ep_count_window_op(MPIDI_DIMMNET_EP(0));
    return MPI_SUCCESS;
}

static inline int copy(const void *from, MPI_Aint from_count, MPI_Datatype from_type, void *to,
                       MPI_Aint to_count, MPI_Datatype to_type)
{
    if (from_type == to_type && from_count == to_count && HANDLE_IS_BUILTIN(from_type)) {
        dnet_bulk_copy(to, from, (size_t) from_count * MPIR_Datatype_get_basic_size(from_type));
        return MPI_SUCCESS;
    }
    return MPIR_Localcopy(from, from_count, from_type, to, to_count, to_type);
}

/* Put (stores) or get in a far part. */
static __attribute__((noinline)) int transfer(MPIR_Win *win, int rank, bool stores, void *own,
                                              MPI_Aint own_count, MPI_Datatype own_type,
                                              uint8_t *theirs, MPI_Aint count, MPI_Datatype type)
{
    size_t own_len, len;
    void *here = MPIDI_DIMMNET_contiguous(own, own_count, own_type, &own_len);
    void *there = MPIDI_DIMMNET_contiguous(theirs, count, type, &len);
    if (here && there && own_len == len)
        return MPIDI_DIMMNET_far_copy(win, rank, stores, here, there, len);
    MPI_Aint from, end;
    MPIDI_DIMMNET_image_t image;
    (void) span_of(count, type, &from, &end);
    int mpi_errno = MPIDI_DIMMNET_image_make(&image, rank, theirs, count, type, from, end);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno = stores ? copy(own, own_count, own_type, image.at, count, type)
                       : MPIDI_DIMMNET_image_move(win, &image, false);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = stores ? MPIDI_DIMMNET_image_move(win, &image, true)
                           : copy(image.at, count, type, own, own_count, own_type);
    MPIDI_DIMMNET_image_free(&image);
    return mpi_errno;
}

int MPIDI_DIMMNET_direct_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                             int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype type,
                             MPIR_Win *win)
{
    uint8_t *at;
    int mpi_errno = find(rank, disp, count, type, win, &at);
    if (mpi_errno != MPI_SUCCESS || !at)
        return mpi_errno;
    if (unlikely(MPIDI_DIMMNET_WINDOW(win)->part[rank].far))
        return transfer(win, rank, true, (void *) (uintptr_t) origin, origin_count, origin_type, at,
                        count, type);
    return copy(origin, origin_count, origin_type, at, count, type);
}

int MPIDI_DIMMNET_direct_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                             int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype type,
                             MPIR_Win *win)
{
    uint8_t *at;
    int mpi_errno = find(rank, disp, count, type, win, &at);
    if (mpi_errno != MPI_SUCCESS || !at)
        return mpi_errno;
    if (unlikely(MPIDI_DIMMNET_WINDOW(win)->part[rank].far))
        return transfer(win, rank, false, origin, origin_count, origin_type, at, count, type);
    return copy(at, count, type, origin, origin_count, origin_type);
}

int MPIDI_DIMMNET_done_request(int mpi_errno, MPIR_Win *win, MPIR_Request **request)
{
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = finish(win);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    return progress_at_times(MPIDI_DIMMNET_WINDOW(win));
}

/* ---- atomic operations ---- */

/* Whose accumulate must end before this rank's begins, or who has this rank's in hand;
 * DNET_EP_NO_RANK: nobody. */
static uint32_t awaited_owner = DNET_EP_NO_RANK;

bool MPIDI_DIMMNET_accumulate_waits(dnet_wait_t *wait)
{
    if (awaited_owner == DNET_EP_NO_RANK)
        return false;
    wait->kind = DNET_WAIT_ACCUMULATE;
    wait->rank = awaited_owner;
    return true;
}

void MPIDI_DIMMNET_await_owner(uint32_t peer, bool first)
{
    awaited_owner = peer;
    if (first)
        MPIDI_DIMMNET_wake(peer);
}

/* Nobody waits long: no call of MPI is made while it is locked.  But its owner may not run, or have
 * been killed. */
static void lock_accumulates(int rank, MPIR_Win *win)
{
    _Atomic uint32_t *word = &MPIDI_DIMMNET_WINDOW(win)->locks[rank].accumulates;
    uint32_t own = (uint32_t) win->comm_ptr->rank + 1;
    int spins = 0;
    for (;; spins++) {
        uint32_t owner = 0;
        /* Acquire: pairs with unlock_accumulates(). */
        if (atomic_compare_exchange_weak_explicit(word, &owner, own, memory_order_acquire,
                                                  memory_order_relaxed))
            break;
        if (spins < SPINS) {
            dnet_cpu_relax();
            continue;
        }
        if (owner && owner != own)
            MPIDI_DIMMNET_await_owner(MPIDI_DIMMNET_peer_of(win, (int) owner - 1), spins == SPINS);
        sched_yield();
        for (int i = 0; i < LOOKS_PER_YIELD && atomic_load_explicit(word, memory_order_relaxed);
             i++)
            (void) MPID_Progress_test(NULL);
    }
    if (spins > SPINS)
        awaited_owner = DNET_EP_NO_RANK;
}

static void unlock_accumulates(int rank, MPIR_Win *win)
{
    atomic_store_explicit(&MPIDI_DIMMNET_WINDOW(win)->locks[rank].accumulates, 0,
                          memory_order_release);
}

/* Elements one behind the other, or as their type says. */
typedef struct {
    const void *data;
    MPI_Aint count;
    MPI_Datatype type;
    void *packed; /* to be freed */
} source_t;

/* Elements of several types cannot be combined. */
static int error_type(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_TYPE,
                                "**dtype", 0);
}

/* A type of the user's is packed into elements of its basic type. */
static int source_begin(source_t *s, const void *origin, MPI_Aint count, MPI_Datatype type)
{
    *s = (source_t){.data = origin, .count = count, .type = type};
    if (MPIR_DATATYPE_IS_PREDEFINED(type))
        return MPI_SUCCESS;
    size_t len;
    MPI_Aint element;
    MPIR_Datatype *t;
    MPIR_Datatype_get_ptr(type, t);
    if (t->basic_type == MPI_DATATYPE_NULL)
        return error_type();
    int mpi_errno = MPIDI_DIMMNET_pack(origin, count, type, &s->packed, &len);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    MPIR_Datatype_get_size_macro(t->basic_type, element);
    s->data = s->packed;
    s->type = t->basic_type;
    s->count = (MPI_Aint) len / element;
    return MPI_SUCCESS;
}

static int apply(const source_t *s, void *at, MPI_Aint count, MPI_Datatype type, MPI_Op op)
{
    MPIDI_DIMMNET_reduction_t how = {op, type};
    dnet_reduce_fn loop = NULL;
    if (s->type == type && s->count == count)
        loop = MPIDI_DIMMNET_reduce_loop(op, type);
    if (!loop)
        return MPIR_Typerep_op((void *) (uintptr_t) s->data, s->count, s->type, at, count, type, op,
                               s->packed != NULL, -1);
    loop(s->data, at, at, (size_t) count, &how);
    return MPI_SUCCESS;
}

/* Whether the operation is defined for the elements of that type. */
static int check_op(MPI_Op op, MPI_Datatype type)
{
    MPI_Datatype element = type;
    if (!MPIR_DATATYPE_IS_PREDEFINED(type)) {
        MPIR_Datatype *t;
        MPIR_Datatype_get_ptr(type, t);
        element = t->basic_type;
        if (element == MPI_DATATYPE_NULL)
            return error_type();
    }
    return (*MPIR_OP_HDL_TO_DTYPE_FN(op))(element);
}

typedef struct {
    const void *origin;
    MPI_Aint origin_count;
    MPI_Datatype origin_type;
    void *result;
    MPI_Aint result_count; /* 0: none is wanted, its address may be MPI_BOTTOM */
    MPI_Datatype result_type;
    MPI_Aint count;
    MPI_Datatype type;
    MPI_Op op;
    source_t source; /* of one that computes */
} accumulate_t;

static bool computes(const accumulate_t *a)
{
    return a->op != MPI_NO_OP && a->op != MPI_REPLACE;
}

static int combine(const accumulate_t *a, uint8_t *at)
{
    int mpi_errno = MPI_SUCCESS;
    if (a->result_count)
        mpi_errno = copy(at, a->count, a->type, a->result, a->result_count, a->result_type);
    if (mpi_errno == MPI_SUCCESS && a->op == MPI_REPLACE)
        mpi_errno = copy(a->origin, a->origin_count, a->origin_type, at, a->count, a->type);
    else if (mpi_errno == MPI_SUCCESS && computes(a))
        mpi_errno = apply(&a->source, at, a->count, a->type, a->op);
    return mpi_errno;
}

static int combine_image(const MPIR_Win *win, int rank, const accumulate_t *a, uint8_t *theirs)
{
    MPI_Aint from, end;
    MPIDI_DIMMNET_image_t image;
    (void) span_of(a->count, a->type, &from, &end);
    int mpi_errno = MPIDI_DIMMNET_image_make(&image, rank, theirs, a->count, a->type, from, end);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (a->result_count || a->op != MPI_REPLACE)
        mpi_errno = MPIDI_DIMMNET_image_move(win, &image, false);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = combine(a, image.at);
    if (mpi_errno == MPI_SUCCESS && a->op != MPI_NO_OP)
        mpi_errno = MPIDI_DIMMNET_image_move(win, &image, true);
    MPIDI_DIMMNET_image_free(&image);
    return mpi_errno;
}

/* Elements of one type everywhere can be combined piece by piece. */
static bool has_pieces(const accumulate_t *a)
{
    return HANDLE_IS_BUILTIN(a->type) &&
           (a->op == MPI_NO_OP || (a->origin_type == a->type && a->origin_count == a->count)) &&
           (!a->result_count || (a->result_type == a->type && a->result_count == a->count));
}

/* The next n elements, behind so many bytes. */
static accumulate_t piece_of(const accumulate_t *a, MPI_Aint n, MPI_Aint bytes)
{
    accumulate_t piece = *a;
    piece.count = n;
    if (a->op != MPI_NO_OP) {
        piece.origin = (const uint8_t *) a->origin + bytes;
        piece.origin_count = n;
    }
    if (computes(a)) {
        piece.source.data = piece.origin;
        piece.source.count = n;
    }
    if (a->result_count) {
        piece.result = (uint8_t *) a->result + bytes;
        piece.result_count = n;
    }
    return piece;
}

static __attribute__((noinline)) int combine_far(const MPIR_Win *win, int rank,
                                                 const accumulate_t *a, uint8_t *theirs)
{
    if (!has_pieces(a))
        return combine_image(win, rank, a, theirs);
    MPI_Aint size = (MPI_Aint) MPIR_Datatype_get_basic_size(a->type), step = PIECE_BYTES / size;
    int mpi_errno = MPI_SUCCESS;
    if (a->count * size <= MPIDI_DIMMNET_ASKED_BYTES &&
        MPIDI_DIMMNET_ask_combine(win, rank, a->origin, a->result_count ? a->result : NULL, theirs,
                                  a->count, a->type, a->op))
        return MPI_SUCCESS;
    for (MPI_Aint i = 0; i < a->count && mpi_errno == MPI_SUCCESS; i += step) {
        accumulate_t piece = piece_of(a, MPL_MIN(step, a->count - i), i * size);
        mpi_errno = combine_image(win, rank, &piece, theirs + i * size);
    }
    return mpi_errno;
}

int MPIDI_DIMMNET_direct_accumulate(const void *origin, MPI_Aint origin_count,
                                    MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                    MPI_Datatype result_type, int rank, MPI_Aint disp,
                                    MPI_Aint count, MPI_Datatype type, MPI_Op op, MPIR_Win *win)
{
    uint8_t *at;
    int mpi_errno = find(rank, disp, count, type, win, &at);
    if (mpi_errno != MPI_SUCCESS || !at)
        return mpi_errno;
    accumulate_t a = {origin,      origin_count, origin_type, result, result_count,
                      result_type, count,        type,        op,     {0}};
    if (computes(&a))
        mpi_errno = check_op(op, type);
    if (mpi_errno == MPI_SUCCESS && computes(&a))
        mpi_errno = source_begin(&a.source, origin, origin_count, origin_type);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    lock_accumulates(rank, win);
    mpi_errno = unlikely(MPIDI_DIMMNET_WINDOW(win)->part[rank].far) ? combine_far(win, rank, &a, at)
                                                                    : combine(&a, at);
    unlock_accumulates(rank, win);
    MPL_free(a.source.packed);
    return mpi_errno;
}

int MPIDI_DIMMNET_direct_fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank,
                                      MPI_Aint disp, MPI_Op op, MPIR_Win *win)
{
    return MPIDI_DIMMNET_direct_accumulate(origin, 1, type, result, 1, type, rank, disp, 1, type,
                                           op, win);
}

static int swap_far(const MPIR_Win *win, int rank, const void *origin, const void *compare,
                    void *result, uint8_t *theirs, size_t bytes)
{
    if (MPIDI_DIMMNET_ask_swap(win, rank, compare, origin, result, theirs, bytes))
        return MPI_SUCCESS;
    int mpi_errno = MPIDI_DIMMNET_far_copy_alone(win, rank, false, result, theirs, bytes);
    if (mpi_errno == MPI_SUCCESS && memcmp(result, compare, bytes) == 0)
        mpi_errno = MPIDI_DIMMNET_far_copy_alone(win, rank, true, origin, theirs, bytes);
    return mpi_errno;
}

int MPIDI_DIMMNET_direct_compare_and_swap(const void *origin, const void *compare, void *result,
                                          MPI_Datatype type, int rank, MPI_Aint disp, MPIR_Win *win)
{
    uint8_t *at;
    MPI_Aint bytes;
    int mpi_errno = find(rank, disp, 1, type, win, &at);
    if (mpi_errno != MPI_SUCCESS || !at)
        return mpi_errno;
    MPIR_Datatype_get_size_macro(type, bytes);
    lock_accumulates(rank, win);
    if (MPIDI_DIMMNET_WINDOW(win)->part[rank].far) {
        mpi_errno = swap_far(win, rank, origin, compare, result, at, (size_t) bytes);
    } else {
        memcpy(result, at, (size_t) bytes);
        if (memcmp(result, compare, (size_t) bytes) == 0)
            memcpy(at, origin, (size_t) bytes);
    }
    unlock_accumulates(rank, win);
    return mpi_errno;
}
