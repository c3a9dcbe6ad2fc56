/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A window whose memory all ranks reach: where each rank's part is, and its locks.
 *
 * Two locks a rank, in memory of the window's rank 0:
 *   - MPI's, shared or exclusive, which is given in the order in which it was asked for: a ticket
 * is taken, and those that have the numbers `shared` and `exclusive` may go on;
 *   - one for the time of an accumulate.  Every atomic operation takes it, whatever its type, so
 *     that all are atomic with respect to each other.
 */
#ifndef DIMMNET_WINDOW_H_INCLUDED
#define DIMMNET_WINDOW_H_INCLUDED

#include "dimmnet_asked.h"
#include "dimmnet_impl.h"
#include "dimmnet_shared.h"

/* Of one rank; in shared memory. */
typedef struct {
    _Alignas(MPIDI_DIMMNET_PAIR) _Atomic uint64_t tickets; /* taken */
    /* Who has a smaller or equal ticket may lock shared; who has this one may lock exclusively. */
    _Atomic uint64_t shared;
    _Atomic uint64_t exclusive;
    _Atomic uint32_t dozers; /* that wait for this lock, and may sleep */
    _Atomic uint32_t owner;  /* rank + 1 that has locked it exclusively; 0: none */
    _Alignas(MPIDI_DIMMNET_PAIR) _Atomic uint32_t accumulates; /* rank + 1; 0: nobody does */
    /* Not of the lock, but of the rank: where it dozes, rank + 1; 0: nowhere. */
    _Alignas(MPIDI_DIMMNET_PAIR) _Atomic uint32_t dozes_at;
} MPIDI_DIMMNET_locks_t;
_Static_assert(sizeof(MPIDI_DIMMNET_locks_t) == 3 * MPIDI_DIMMNET_PAIR, "locks layout");

/* A rank's part, as this process has it. */
typedef struct {
    uint8_t *base; /* far: the rank's own address, for the kernel (dimmnet_far.h) */
    MPI_Aint bytes;
    int disp_unit;
    bool far;
    /* By this process: MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE, or MPI_MODE_NOCHECK, when no lock was
     * taken; 0: not. */
    int locked;
    MPIDI_DIMMNET_mapping_t mapping;
} MPIDI_DIMMNET_part_of_t;

/* Puts or gets of far parts that are to be done. */
typedef struct MPIDI_DIMMNET_row MPIDI_DIMMNET_row_t;

struct MPIDI_DIMMNET_window {
    MPIDI_DIMMNET_shared_t shared;
    MPIDI_DIMMNET_row_t *row; /* NULL: no part is far */
    MPIDI_DIMMNET_asks_t asks;
    MPIDI_DIMMNET_locks_t *locks;   /* there, by rank */
    _Atomic uint32_t calls;         /* that gave the rest of MPI no chance to go on */
    MPIDI_DIMMNET_part_of_t part[]; /* by rank */
};

static inline uint32_t MPIDI_DIMMNET_peer_of(const MPIR_Win *win, int rank)
{
    return MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(win->comm_ptr, rank)).peer;
}

/* An MPI error code, the first of two that is an error. */
static inline int MPIDI_DIMMNET_either(int first, int second)
{
    return first != MPI_SUCCESS ? first : second;
}

/* Freed by MPL_free().  NULL: no memory. */
MPIDI_DIMMNET_row_t *MPIDI_DIMMNET_row_new(void);

/* Whose accumulate must end before this rank's can begin; also in a signal handler.  False: none.
 */
bool MPIDI_DIMMNET_accumulate_waits(dnet_wait_t *wait);

/* It waits for what that peer has in hand, for the first time: wake it.  DNET_EP_NO_RANK: no more.
 */
void MPIDI_DIMMNET_await_owner(uint32_t peer, bool first);

/* The MPI error for memory that is not in a window. */
int MPIDI_DIMMNET_error_range(void) __attribute__((cold, noinline));

#endif
