/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication: straight in the target's memory where all ranks of the window reach it
 * (dimmnet_rma.c), else MPICH's own way, by active messages.
 *
 * A window is the one or the other as a whole: what must be atomic or in order is done in one way.
 * MPI_Win_post and its kin are messages in both.
 */
#ifndef DIMMNET_RMA_H_INCLUDED
#define DIMMNET_RMA_H_INCLUDED

#include "dimmnet_impl.h"

/* What this process has of a window whose memory all ranks reach; NULL: MPICH's way. */
#define MPIDI_DIMMNET_WINDOW(win) ((win)->dev.netmod.dimmnet.window)

/* The operations and the synchronisation of such a window; each returns an MPI error code.
 * What is not done when its function returns (dimmnet_far.h) is when the synchronisation does. */
int MPIDI_DIMMNET_direct_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                             int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype type,
                             MPIR_Win *win);
int MPIDI_DIMMNET_direct_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                             int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype type,
                             MPIR_Win *win);
/* Also MPI_Accumulate: with no result. */
int MPIDI_DIMMNET_direct_accumulate(const void *origin, MPI_Aint origin_count,
                                    MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                    MPI_Datatype result_type, int rank, MPI_Aint disp,
                                    MPI_Aint count, MPI_Datatype type, MPI_Op op, MPIR_Win *win);
int MPIDI_DIMMNET_direct_fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank,
                                      MPI_Aint disp, MPI_Op op, MPIR_Win *win);
int MPIDI_DIMMNET_direct_compare_and_swap(const void *origin, const void *compare, void *result,
                                          MPI_Datatype type, int rank, MPI_Aint disp,
                                          MPIR_Win *win);
int MPIDI_DIMMNET_direct_lock(int lock_type, int rank, int assert, MPIR_Win *win);
int MPIDI_DIMMNET_direct_unlock(int rank, MPIR_Win *win);
int MPIDI_DIMMNET_direct_lock_all(int assert, MPIR_Win *win);
int MPIDI_DIMMNET_direct_unlock_all(MPIR_Win *win);
/* rank MPI_PROC_NULL: all */
int MPIDI_DIMMNET_direct_flush(int rank, MPIR_Win *win);
int MPIDI_DIMMNET_direct_fence(int assert, MPIR_Win *win);
int MPIDI_DIMMNET_direct_complete(MPIR_Win *win);

/* A request of an operation that is done.  Returns its MPI error code, or mpi_errno if that is one.
 */
int MPIDI_DIMMNET_done_request(int mpi_errno, MPIR_Win *win, MPIR_Request **request);

/* ---- synchronisation ---- */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_start(MPIR_Group *group, int assert, MPIR_Win *win)
{
    return MPIDIG_mpi_win_start(group, assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_complete(MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_complete(win)
                                     : MPIDIG_mpi_win_complete(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_post(MPIR_Group *group, int assert, MPIR_Win *win)
{
    return MPIDIG_mpi_win_post(group, assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_wait(MPIR_Win *win)
{
    return MPIDIG_mpi_win_wait(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_test(MPIR_Win *win, int *flag)
{
    return MPIDIG_mpi_win_test(win, flag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_fence(int assert, MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_fence(assert, win)
                                     : MPIDIG_mpi_win_fence(assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock(int lock_type, int rank, int assert,
                                                   MPIR_Win *win, MPIDI_av_entry_t *addr)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_lock(lock_type, rank, assert, win)
                                     : MPIDIG_mpi_win_lock(lock_type, rank, assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock(int rank, MPIR_Win *win,
                                                     MPIDI_av_entry_t *addr)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_unlock(rank, win)
                                     : MPIDIG_mpi_win_unlock(rank, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock_all(int assert, MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_lock_all(assert, win)
                                     : MPIDIG_mpi_win_lock_all(assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock_all(MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_unlock_all(win)
                                     : MPIDIG_mpi_win_unlock_all(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush(int rank, MPIR_Win *win, MPIDI_av_entry_t *addr)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_flush(rank, win)
                                     : MPIDIG_mpi_win_flush(rank, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_all(MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_flush(MPI_PROC_NULL, win)
                                     : MPIDIG_mpi_win_flush_all(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local(int rank, MPIR_Win *win,
                                                          MPIDI_av_entry_t *addr)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_flush(rank, win)
                                     : MPIDIG_mpi_win_flush_local(rank, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local_all(MPIR_Win *win)
{
    return MPIDI_DIMMNET_WINDOW(win) ? MPIDI_DIMMNET_direct_flush(MPI_PROC_NULL, win)
                                     : MPIDIG_mpi_win_flush_local_all(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_sync(MPIR_Win *win)
{
    return MPIDIG_mpi_win_sync(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_shared_query(MPIR_Win *win, int rank, MPI_Aint *size,
                                                           int *disp_unit, void *baseptr)
{
    return MPIDIG_mpi_win_shared_query(win, rank, size, disp_unit, baseptr);
}

/* What MPICH asks before it tells others that an epoch has ended: what was stored has been. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_cmpl_hook(MPIR_Win *win)
{
    MPL_atomic_read_write_barrier();
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_local_cmpl_hook(MPIR_Win *win)
{
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_cmpl_hook(int rank, MPIR_Win *win)
{
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_local_cmpl_hook(int rank, MPIR_Win *win)
{
    return MPI_SUCCESS;
}

/* ---- operations ---- */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_put(const void *origin, MPI_Aint origin_count,
                                              MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                              MPI_Aint count, MPI_Datatype type, MPIR_Win *win,
                                              MPIDI_av_entry_t *addr, MPIDI_winattr_t winattr)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_put(origin, origin_count, origin_type, rank, disp, count, type, win);
    return MPIDI_DIMMNET_direct_put(origin, origin_count, origin_type, rank, disp, count, type,
                                    win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rput(const void *origin, MPI_Aint origin_count,
                                               MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                               MPI_Aint count, MPI_Datatype type, MPIR_Win *win,
                                               MPIDI_av_entry_t *addr, MPIDI_winattr_t winattr,
                                               MPIR_Request **request)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_rput(origin, origin_count, origin_type, rank, disp, count, type, win,
                               request);
    return MPIDI_DIMMNET_done_request(
        MPIDI_DIMMNET_direct_put(origin, origin_count, origin_type, rank, disp, count, type, win),
        win, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void *origin, MPI_Aint origin_count,
                                              MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                              MPI_Aint count, MPI_Datatype type, MPIR_Win *win,
                                              MPIDI_av_entry_t *addr, MPIDI_winattr_t winattr)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_get(origin, origin_count, origin_type, rank, disp, count, type, win);
    return MPIDI_DIMMNET_direct_get(origin, origin_count, origin_type, rank, disp, count, type,
                                    win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget(void *origin, MPI_Aint origin_count,
                                               MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                               MPI_Aint count, MPI_Datatype type, MPIR_Win *win,
                                               MPIDI_av_entry_t *addr, MPIDI_winattr_t winattr,
                                               MPIR_Request **request)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_rget(origin, origin_count, origin_type, rank, disp, count, type, win,
                               request);
    return MPIDI_DIMMNET_done_request(
        MPIDI_DIMMNET_direct_get(origin, origin_count, origin_type, rank, disp, count, type, win),
        win, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_accumulate(const void *origin, MPI_Aint origin_count,
                                                     MPI_Datatype origin_type, int rank,
                                                     MPI_Aint disp, MPI_Aint count,
                                                     MPI_Datatype type, MPI_Op op, MPIR_Win *win,
                                                     MPIDI_av_entry_t *addr,
                                                     MPIDI_winattr_t winattr)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_accumulate(origin, origin_count, origin_type, rank, disp, count, type, op,
                                     win);
    return MPIDI_DIMMNET_direct_accumulate(origin, origin_count, origin_type, NULL, 0, MPI_BYTE,
                                           rank, disp, count, type, op, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_raccumulate(
    const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp,
    MPI_Aint count, MPI_Datatype type, MPI_Op op, MPIR_Win *win, MPIDI_av_entry_t *addr,
    MPIDI_winattr_t winattr, MPIR_Request **request)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_raccumulate(origin, origin_count, origin_type, rank, disp, count, type,
                                      op, win, request);
    return MPIDI_DIMMNET_done_request(
        MPIDI_DIMMNET_direct_accumulate(origin, origin_count, origin_type, NULL, 0, MPI_BYTE, rank,
                                        disp, count, type, op, win),
        win, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get_accumulate(
    const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, void *result,
    MPI_Aint result_count, MPI_Datatype result_type, int rank, MPI_Aint disp, MPI_Aint count,
    MPI_Datatype type, MPI_Op op, MPIR_Win *win, MPIDI_av_entry_t *addr, MPIDI_winattr_t winattr)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_get_accumulate(origin, origin_count, origin_type, result, result_count,
                                         result_type, rank, disp, count, type, op, win);
    return MPIDI_DIMMNET_direct_accumulate(origin, origin_count, origin_type, result, result_count,
                                           result_type, rank, disp, count, type, op, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget_accumulate(
    const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, void *result,
    MPI_Aint result_count, MPI_Datatype result_type, int rank, MPI_Aint disp, MPI_Aint count,
    MPI_Datatype type, MPI_Op op, MPIR_Win *win, MPIDI_av_entry_t *addr, MPIDI_winattr_t winattr,
    MPIR_Request **request)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_rget_accumulate(origin, origin_count, origin_type, result, result_count,
                                          result_type, rank, disp, count, type, op, win, request);
    return MPIDI_DIMMNET_done_request(
        MPIDI_DIMMNET_direct_accumulate(origin, origin_count, origin_type, result, result_count,
                                        result_type, rank, disp, count, type, op, win),
        win, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_fetch_and_op(const void *origin, void *result,
                                                       MPI_Datatype type, int rank, MPI_Aint disp,
                                                       MPI_Op op, MPIR_Win *win,
                                                       MPIDI_av_entry_t *addr,
                                                       MPIDI_winattr_t winattr)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_fetch_and_op(origin, result, type, rank, disp, op, win);
    return MPIDI_DIMMNET_direct_fetch_and_op(origin, result, type, rank, disp, op, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_compare_and_swap(const void *origin, const void *compare,
                                                           void *result, MPI_Datatype type,
                                                           int rank, MPI_Aint disp, MPIR_Win *win,
                                                           MPIDI_av_entry_t *addr,
                                                           MPIDI_winattr_t winattr)
{
    if (!MPIDI_DIMMNET_WINDOW(win))
        return MPIDIG_mpi_compare_and_swap(origin, compare, result, type, rank, disp, win);
    return MPIDI_DIMMNET_direct_compare_and_swap(origin, compare, result, type, rank, disp, win);
}

#endif
