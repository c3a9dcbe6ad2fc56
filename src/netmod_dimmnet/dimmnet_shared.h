/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the ranks of a communicator, all of one job on one host, share: rank 0 takes it from
 * its SO-DIMM area, the others map it.
 */
#ifndef DIMMNET_SHARED_H_INCLUDED
#define DIMMNET_SHARED_H_INCLUDED

#include "dimmnet_impl.h"

typedef struct {
    void *memory; /* NULL: not to be had */
    size_t bytes;
    void *allocated;       /* rank 0: what dnet_ep_alloc() has given; else NULL */
    uint32_t peer, offset; /* others: where it is mapped from */
} MPIDI_DIMMNET_shared_t;

/* May the ranks of a communicator read each other's own memory?  Each tries one other: whoever may
 * read one of the user's processes may read all. */
bool MPIDI_DIMMNET_can_read_next(MPIR_Comm *comm);

/* Part of a peer's memory of dnet_ep_alloc(), which need not begin with a page. */
typedef struct {
    void *mapped; /* NULL: nothing */
    size_t bytes;
} MPIDI_DIMMNET_mapping_t;

/* Have this rank's part of such memory; collective.  A rank that has no use for it says so; all
 * ranks should agree afterwards on whether each has it.  Returns an MPI error code. */
int MPIDI_DIMMNET_shared_make(MPIR_Comm *comm, size_t bytes, bool wanted, MPIR_Errflag_t *errflag,
                              MPIDI_DIMMNET_shared_t *shared);

/* Zero so many bytes of it; before the ranks agree. */
void MPIDI_DIMMNET_shared_zero(const MPIDI_DIMMNET_shared_t *shared, size_t bytes);

/* Give it back, as far as it is this rank's; no other rank may touch rank 0's any more.  Some of it
 * is kept for the next of as many bytes: a page that is new takes a microsecond on each side. */
void MPIDI_DIMMNET_shared_release(MPIDI_DIMMNET_shared_t *shared);

/* Give back what is kept. */
void MPIDI_DIMMNET_shared_finalize(void);

/* Map bytes of a peer's memory, at this offset in its SO-DIMM area.  NULL: not to be had. */
void *MPIDI_DIMMNET_map(uint32_t peer, uint32_t offset, size_t bytes,
                        MPIDI_DIMMNET_mapping_t *mapping);
void MPIDI_DIMMNET_unmap(MPIDI_DIMMNET_mapping_t *mapping);

/* ---- waiting for what stands there ---- */

/* A round in which the rest of MPI goes on; waits(arg) says whether it has still not come. */
void MPIDI_DIMMNET_idle(bool (*waits)(void *arg), void *arg, bool first);

/* What needs nothing of others gives the rest of MPI its turn once in so many calls. */
#define MPIDI_DIMMNET_CALLS_WITHOUT_PROGRESS 64

/* That turn.  Returns an MPI error code. */
int MPIDI_DIMMNET_let_others_go_on(void);

/* End a peer's sleep in such a round.  From then on its death ends this process's waits, too. */
void MPIDI_DIMMNET_wake(uint32_t peer);

#endif
