/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_progress.h"
#include "dimmnet_shared.h"
#include "endpoint/share.h"

#define MAPPED_ALIGN 65536u /* more than any page */

/* What rank 0 tells the others. */
typedef struct {
    uint32_t offset; /* in its SO-DIMM area */
    uint32_t good;
} place_t;

/* dnet_ep_map(), whose routes the messages of VCI 0 use as well. */
static void *map(uint32_t peer, uint32_t offset, size_t bytes)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    void *memory = dnet_ep_map(MPIDI_DIMMNET_EP(0), peer, offset, bytes);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    return memory;
}

static bool allocate(MPIDI_DIMMNET_shared_t *shared, place_t *place)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    if (dnet_ep_alloc(ep, shared->bytes + MAPPED_ALIGN, &shared->allocated) != DNET_OK)
        return false;
    (void) dnet_ep_sodimm_offset(ep, shared->allocated, shared->bytes, &place->offset);
    uint32_t pad = -place->offset & (MAPPED_ALIGN - 1);
    place->offset += pad;
    shared->memory = (uint8_t *) shared->allocated + pad;
    memset(shared->memory, 0, shared->bytes);
    return true;
}

int MPIDI_DIMMNET_shared_make(MPIR_Comm *comm, size_t bytes, bool wanted, MPIR_Errflag_t *errflag,
                              MPIDI_DIMMNET_shared_t *shared)
{
    place_t place = {0, wanted};
    *shared = (MPIDI_DIMMNET_shared_t){.bytes = bytes};
    if (comm->rank == 0 && wanted)
        place.good = allocate(shared, &place);
    int mpi_errno = MPIR_Bcast_impl(&place, sizeof(place), MPI_BYTE, 0, comm, errflag);
    if (mpi_errno == MPI_SUCCESS && wanted && place.good && comm->rank != 0)
        shared->memory =
            map(MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, 0)).peer, place.offset, bytes);
    return mpi_errno;
}

void MPIDI_DIMMNET_shared_release(MPIDI_DIMMNET_shared_t *shared)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    if (shared->allocated)
        dnet_ep_free(ep, shared->allocated);
    else if (shared->memory)
        dnet_ep_unmap(ep, shared->memory, shared->bytes);
    shared->memory = shared->allocated = NULL;
}

void *MPIDI_DIMMNET_map(uint32_t peer, uint32_t offset, size_t bytes,
                        MPIDI_DIMMNET_mapping_t *mapping)
{
    uint32_t from = offset & ~(MAPPED_ALIGN - 1);
    mapping->bytes = (offset - from + bytes + MAPPED_ALIGN - 1) & ~(size_t) (MAPPED_ALIGN - 1);
    mapping->mapped = map(peer, from, mapping->bytes);
    return mapping->mapped ? (uint8_t *) mapping->mapped + (offset - from) : NULL;
}

void MPIDI_DIMMNET_unmap(MPIDI_DIMMNET_mapping_t *mapping)
{
    if (mapping->mapped)
        dnet_ep_unmap(MPIDI_DIMMNET_EP(0), mapping->mapped, mapping->bytes);
    mapping->mapped = NULL;
}

/* An error of the progress ends the job there.  A process of several threads does not sleep. */
void MPIDI_DIMMNET_idle(bool (*waits)(void *arg), void *arg, bool first)
{
    bool may_sleep = MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE;
    if (first && may_sleep)
        dnet_ep_waits_anew(MPIDI_DIMMNET_EP(0));
    if (may_sleep)
        dnet_ep_set_awaited(MPIDI_DIMMNET_EP(0), waits, arg);
    (void) MPIDI_progress_wait_round();
    /* Other threads go on meanwhile: one may be what another rank waits for. */
    MPIDI_progress_yield();
    if (may_sleep)
        dnet_ep_set_awaited(MPIDI_DIMMNET_EP(0), NULL, NULL);
}

void MPIDI_DIMMNET_wake(uint32_t peer)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    dnet_ep_wake(MPIDI_DIMMNET_EP(0), peer);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}
