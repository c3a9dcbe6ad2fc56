/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_progress.h"
#include "dimmnet_shared.h"
#include "endpoint/share.h"

#include <pthread.h>

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

/* What ranks have given back: their own memory, and mappings of others'.  No more than some MB. */
#define SPARES 4
#define SPARE_BYTES (7u << 20) /* a board has less */
static MPIDI_DIMMNET_shared_t own_spares[SPARES], mapped_spares[SPARES];
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;

static void give_back(const MPIDI_DIMMNET_shared_t *shared)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    if (shared->allocated)
        dnet_ep_free(ep, shared->allocated);
    else if (shared->memory)
        dnet_ep_unmap(ep, shared->memory, shared->bytes);
}

/* Keep it, where there is no room instead of the oldest. */
static void keep(MPIDI_DIMMNET_shared_t *spares, const MPIDI_DIMMNET_shared_t *shared)
{
    pthread_mutex_lock(&spares_lock);
    int room = 0;
    while (room < SPARES - 1 && spares[room].memory)
        room++;
    give_back(&spares[room]);
    memmove(&spares[1], &spares[0], (size_t) room * sizeof(*spares));
    spares[0] = *shared;
    pthread_mutex_unlock(&spares_lock);
}

/* @return false: nothing of that kind is kept */
static bool take(MPIDI_DIMMNET_shared_t *spares, uint32_t peer, uint32_t offset,
                 MPIDI_DIMMNET_shared_t *shared)
{
    bool found = false;
    pthread_mutex_lock(&spares_lock);
    for (int i = 0; i < SPARES && !found; i++) {
        MPIDI_DIMMNET_shared_t *s = &spares[i];
        found = s->memory && s->bytes == shared->bytes &&
                (s->allocated || (s->peer == peer && s->offset == offset));
        if (found) {
            *shared = *s;
            s->memory = s->allocated = NULL;
        }
    }
    pthread_mutex_unlock(&spares_lock);
    return found;
}

static bool allocate(MPIDI_DIMMNET_shared_t *shared, place_t *place)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    if (!take(own_spares, 0, 0, shared) &&
        dnet_ep_alloc(ep, shared->bytes + MAPPED_ALIGN, &shared->allocated) != DNET_OK)
        return false;
    (void) dnet_ep_sodimm_offset(ep, shared->allocated, shared->bytes, &place->offset);
    uint32_t pad = -place->offset & (MAPPED_ALIGN - 1);
    place->offset += pad;
    shared->memory = (uint8_t *) shared->allocated + pad;
    return true;
}

static void map_from(MPIDI_DIMMNET_shared_t *shared, uint32_t peer, uint32_t offset)
{
    if (take(mapped_spares, peer, offset, shared))
        return;
    shared->memory = map(peer, offset, shared->bytes);
    shared->peer = peer;
    shared->offset = offset;
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
        map_from(shared, MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, 0)).peer, place.offset);
    return mpi_errno;
}

void MPIDI_DIMMNET_shared_zero(const MPIDI_DIMMNET_shared_t *shared, size_t bytes)
{
    if (shared->allocated)
        memset(shared->memory, 0, bytes);
}

void MPIDI_DIMMNET_shared_release(MPIDI_DIMMNET_shared_t *shared)
{
    if (shared->memory && shared->bytes <= SPARE_BYTES)
        keep(shared->allocated ? own_spares : mapped_spares, shared);
    else
        give_back(shared);
    shared->memory = shared->allocated = NULL;
}

void MPIDI_DIMMNET_shared_finalize(void)
{
    for (int i = 0; i < SPARES; i++) {
        give_back(&own_spares[i]);
        give_back(&mapped_spares[i]);
        own_spares[i] = mapped_spares[i] = (MPIDI_DIMMNET_shared_t){0};
    }
}

bool MPIDI_DIMMNET_can_read_next(MPIR_Comm *comm)
{
    int next = (comm->rank + 1) % comm->local_size;
    uint32_t peer = MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, next)).peer;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    bool can = dnet_ep_can_read(MPIDI_DIMMNET_EP(0), peer);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    return can;
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

typedef struct {
    bool (*waits)(void *arg);
    void *arg;
} awaited_t;

static bool nothing_has_come(void *arg)
{
    const awaited_t *awaited = arg;
    return awaited->waits(awaited->arg) && MPIDI_DIMMNET_nonblocking_may_sleep();
}

/* An error of the progress ends the job there.  A process of several threads does not sleep. */
void MPIDI_DIMMNET_idle(bool (*waits)(void *arg), void *arg, bool first)
{
    awaited_t awaited = {waits, arg};
    bool may_sleep = MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE;
    if (first && may_sleep)
        dnet_ep_waits_anew(MPIDI_DIMMNET_EP(0));
    if (may_sleep)
        dnet_ep_set_awaited(MPIDI_DIMMNET_EP(0), nothing_has_come, &awaited);
    (void) MPIDI_progress_wait_round();
    /* Other threads go on meanwhile: one may be what another rank waits for. */
    MPIDI_progress_yield();
    if (may_sleep)
        MPIDI_DIMMNET_nonblocking_await();
}

int MPIDI_DIMMNET_let_others_go_on(void)
{
    bool alone = MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE;
    if (alone)
        dnet_ep_set_at_work(MPIDI_DIMMNET_EP(0), true);
    int mpi_errno = MPID_Progress_test(NULL);
    if (alone)
        dnet_ep_set_at_work(MPIDI_DIMMNET_EP(0), false);
    return mpi_errno;
}

void MPIDI_DIMMNET_wake(uint32_t peer)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    dnet_ep_wake(MPIDI_DIMMNET_EP(0), peer);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}
