/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators, and what a rank waits for in them.  A communicator's context and ranks go into the
 * envelopes; a list of all tells which process an envelope means.
 */
#include "dimmnet_impl.h"
#include "dimmnet_window.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

#define NEXT(comm) ((comm)->dev.ch4.netmod.dimmnet.next)

static MPIR_Comm *comms;
static pthread_mutex_t comms_lock = PTHREAD_MUTEX_INITIALIZER; /* nothing is taken inside */

/* For the address table of each of a communicator's ranks. */
static void each_table(const MPIDI_rank_map_t *map, int (*what)(int table))
{
    if (map->mode == MPIDI_RANK_MAP_MLUT) {
        for (int r = 0; r < map->size; r++)
            (void) what(map->irreg.mlut.gpid[r].avtid);
    } else if (map->mode != MPIDI_RANK_MAP_NONE) {
        (void) what(map->avtid);
    }
}

/* The tables of a communicator's ranks and of their addresses are in use until the netmod has
 * forgotten the communicator: ch4 gives its own references back before it calls the hook below. */
static void keep_ranks(const MPIDI_rank_map_t *map)
{
    each_table(map, MPIDIU_avt_add_ref);
    if (map->mode == MPIDI_RANK_MAP_LUT || map->mode == MPIDI_RANK_MAP_LUT_INTRA)
        MPIR_Object_add_ref(map->irreg.lut.t);
    else if (map->mode == MPIDI_RANK_MAP_MLUT)
        MPIR_Object_add_ref(map->irreg.mlut.t);
}

static void release_ranks(const MPIDI_rank_map_t *map)
{
    each_table(map, MPIDIU_avt_release_ref);
    if (map->mode == MPIDI_RANK_MAP_LUT || map->mode == MPIDI_RANK_MAP_LUT_INTRA)
        MPIDIU_release_lut(map->irreg.lut.t);
    else if (map->mode == MPIDI_RANK_MAP_MLUT)
        MPIDIU_release_mlut(map->irreg.mlut.t);
}

int MPIDI_DIMMNET_mpi_comm_commit_pre_hook(MPIR_Comm *comm)
{
    keep_ranks(&MPIDI_COMM(comm, map));
    comm->dev.ch4.netmod.dimmnet.board = NULL;
    comm->dev.ch4.netmod.dimmnet.collectives = 0;
    comm->dev.ch4.netmod.dimmnet.without_board = false;
    pthread_mutex_lock(&comms_lock);
    NEXT(comm) = comms;
    comms = comm;
    pthread_mutex_unlock(&comms_lock);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_comm_commit_post_hook(MPIR_Comm *comm)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_comm_free_hook(MPIR_Comm *comm)
{
    MPIDI_DIMMNET_board_free(comm);
    pthread_mutex_lock(&comms_lock);
    MPIR_Comm **link = &comms;
    while (*link && *link != comm)
        link = &NEXT(*link);
    if (*link)
        *link = NEXT(comm);
    pthread_mutex_unlock(&comms_lock);
    release_ranks(&MPIDI_COMM(comm, map));
    MPIDI_DIMMNET_drop_peers();
    return MPI_SUCCESS;
}

uint32_t MPIDI_DIMMNET_source(void *arg, uint64_t envelope)
{
    int context = (int) DNET_GET(envelope, LH_CONTEXT) & ~MPIR_CONTEXT_SUFFIX_MASK;
    int rank = (int) dnet_ep_envelope_rank(envelope);
    uint32_t peer = DNET_EP_NO_RANK;
    pthread_mutex_lock(&comms_lock);
    for (MPIR_Comm *comm = comms; comm; comm = NEXT(comm)) {
        if (comm->recvcontext_id == context) {
            if (rank < comm->remote_size)
                peer = MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, rank)).peer;
            break;
        }
    }
    pthread_mutex_unlock(&comms_lock);
    return peer;
}

bool MPIDI_DIMMNET_comm_is_of_one_job(MPIR_Comm *comm)
{
    for (int r = 0; r < comm->remote_size; r++)
        if (MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, r)).peer >= (uint32_t) MPIR_Process.size)
            return false;
    return true;
}

/* ---- what a rank waits for, in MPI's words (dnet_ep_names_t): all may run in a signal handler
 * ---- */

#define FRAMES_MAX 64

/* The MPI function is the outermost frame that lies in this library. */
static void call_name(char *name, size_t bytes)
{
    void *frame[FRAMES_MAX];
    Dl_info own, info;
    const char *found = NULL;
    int frames = backtrace(frame, FRAMES_MAX);
    if (!dladdr(&MPIDI_DIMMNET_global, &own))
        frames = 0;
    for (int i = 0; i < frames; i++)
        if (dladdr(frame[i], &info) && info.dli_fbase == own.dli_fbase && info.dli_sname &&
            (strncmp(info.dli_sname, "MPI_", 4) == 0 || strncmp(info.dli_sname, "PMPI_", 5) == 0))
            found = info.dli_sname + (info.dli_sname[0] == 'P');
    snprintf(name, bytes, "%s", found ? found : "");
}

static bool is_of(const MPIR_Comm *comm, const dnet_wait_t *wait)
{
    uint32_t context = wait->context & ~MPIR_CONTEXT_SUFFIX_MASK;
    return comm->recvcontext_id == context ||
           (wait->rank != DNET_EP_NO_RANK && comm->context_id == context);
}

/* A communicator's name, and who it is there.  Where the list is being changed there is no name. */
static void name_wait(dnet_wait_t *wait)
{
    if (wait->context == MPIDI_DIMMNET_BARRIER_CONTEXT) {
        snprintf(wait->comm, sizeof(wait->comm), "end of the job");
        wait->rank = wait->rank == DNET_EP_NO_RANK ? wait->source : wait->rank;
        return;
    }
    if (wait->context == MPIDI_DIMMNET_PORT_CONTEXT) {
        snprintf(wait->comm, sizeof(wait->comm), "a port");
        wait->rank = DNET_WAIT_OTHER_JOB;
        return;
    }
    if (pthread_mutex_trylock(&comms_lock) != 0)
        return;
    MPIR_Comm *comm = comms;
    while (comm && !is_of(comm, wait))
        comm = NEXT(comm);
    if (comm) {
        snprintf(wait->comm, sizeof(wait->comm), "%s", comm->name);
        if (wait->rank == DNET_EP_NO_RANK && wait->source < (uint32_t) comm->remote_size)
            wait->rank = MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, wait->source)).peer;
        else if (wait->rank == DNET_EP_NO_RANK && !MPIDI_DIMMNET_comm_is_of_one_job(comm))
            wait->rank = DNET_WAIT_OTHER_JOB;
    }
    pthread_mutex_unlock(&comms_lock);
}

static void others(uint32_t vci, const char *call, dnet_wait_fn fn, void *arg)
{
    const MPIDI_DIMMNET_asked_t *asked = &MPIDI_DIMMNET_VCI(vci)->asked;
    dnet_wait_t wait = {.rank = DNET_EP_NO_RANK, .context = DNET_WAIT_NO_COMM};
    if (strstr(call, "robe")) {
        wait.kind = DNET_WAIT_PROBE;
        wait.context = (uint32_t) DNET_GET(asked->probe, LH_CONTEXT);
        wait.source = asked->probe_mask & DNET_MASK(LH_RANK) ? dnet_ep_envelope_rank(asked->probe)
                                                             : DNET_EP_NO_RANK;
        wait.tag = asked->probe_mask & 0xffff ? (int64_t) dnet_ep_envelope_tag(asked->probe) : -1;
        name_wait(&wait);
    } else if (strcmp(call, "MPI_Win_lock") == 0) {
        wait.kind = DNET_WAIT_LOCK;
        wait.rank = asked->lock_peer;
    } else if (strcmp(call, "MPI_Win_unlock") == 0) {
        wait.kind = DNET_WAIT_UNLOCK;
        wait.rank = asked->unlock_peer;
    } else if (vci == 0 && MPIDI_DIMMNET_board_waits(&wait)) {
        name_wait(&wait);
    } else if (!MPIDI_DIMMNET_accumulate_waits(&wait)) {
        return;
    }
    fn(arg, &wait);
}

void MPIDI_DIMMNET_names_init(dnet_ep_t *ep)
{
    static const dnet_ep_names_t names = {call_name, name_wait, others};
    char name[32];
    call_name(name, sizeof(name)); /* loads what backtrace() needs, which a handler must not */
    dnet_ep_set_names(ep, &names);
}

/* ---- */

int MPIDI_DIMMNET_comm_set_hints(MPIR_Comm *comm_ptr, MPIR_Info *info)
{
    return MPI_SUCCESS;
}
