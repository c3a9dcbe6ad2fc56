/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows: MPICH's own, and what makes one whose memory all ranks reach (dimmnet_window.h). Memory:
 * in the NIC's SO-DIMM, where the NIC can gather and scatter types with gaps, and peers can map it.
 *
 * MPI_Win_allocate and MPI_Win_allocate_shared: MPICH gives the ranks of a host one segment.
 * MPI_Win_create: the ranks map each other's memory of MPI_Alloc_mem; other memory, and that of
 * MPI_Win_create_dynamic, is far.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_rma.h"
#include "dimmnet_window.h"
#include "endpoint/share.h"

#define PART_ALIGN 64 /* a line; of MPI_Win_allocate */

/* ---- windows whose memory all ranks reach ---- */

/* What the ranks tell each other of their parts. */
typedef struct {
    int64_t bytes;
    uint64_t address; /* of the own process; mapped: in the SO-DIMM area */
    int32_t disp_unit;
    enum { NO_WAY, MAPPED, IN_SEGMENT, FAR } way;
} part_t;

/* The parts in the segment that MPICH has made.  NULL: there is none. */
static const MPIDIG_win_shared_info_t *segment_of(const MPIR_Win *win)
{
    const MPIR_Comm *node = win->comm_ptr->node_comm;
    return node && node->local_size == win->comm_ptr->local_size ? MPIDIG_WIN(win, shared_table)
                                                                 : NULL;
}

/* Any memory may be attached to a dynamic window later: all is its part. */
static part_t own_part(const MPIR_Win *win)
{
    part_t part = {
        .bytes = win->size, .address = (uintptr_t) win->base, .disp_unit = win->disp_unit};
    uint32_t offset;
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        part.bytes = INT64_MAX;
    if (segment_of(win)) {
        part.way = IN_SEGMENT;
    } else if (win->create_flavor == MPI_WIN_FLAVOR_CREATE &&
               dnet_ep_sodimm_offset(MPIDI_DIMMNET_EP(0), win->base, (size_t) win->size, &offset)) {
        part.way = MAPPED;
        part.address = offset;
    } else if (win->comm_ptr->local_size == 1 || part.bytes == 0 ||
               MPIDI_DIMMNET_can_read_next(win->comm_ptr)) {
        part.way = FAR;
    }
    return part;
}

static bool may_have_far(const MPIR_Win *win)
{
    return win->create_flavor == MPI_WIN_FLAVOR_CREATE ||
           win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC;
}

/* Hints are this rank's; where one does not want it no rank gets it. */
static bool is_wanted(const MPIR_Win *win)
{
    return !MPIDIG_WIN(win, info_args).disable_shm_accumulate &&
           (may_have_far(win) || MPIDIG_WIN(win, info_args).alloc_shm);
}

static void release(MPIDI_DIMMNET_window_t *self, int size)
{
    for (int r = 0; r < size; r++)
        MPIDI_DIMMNET_unmap(&self->part[r].mapping);
    MPIDI_DIMMNET_shared_release(&self->shared);
    MPIDI_DIMMNET_asks_end(&self->asks);
    MPL_free(self->row);
    MPL_free(self);
}

/* Where another rank's part is.  False: it cannot be had. */
static bool find_part(const MPIR_Win *win, int rank, const part_t *theirs,
                      MPIDI_DIMMNET_window_t *self)
{
    MPIDI_DIMMNET_part_of_t *part = &self->part[rank];
    uint32_t peer = MPIDI_DIMMNET_peer_of(win, rank);
    switch (theirs->way) {
        case IN_SEGMENT:
            part->base = segment_of(win)[rank].shm_base_addr;
            return part->base != NULL;
        case MAPPED:
            part->base = MPIDI_DIMMNET_map(peer, (uint32_t) theirs->address, (size_t) part->bytes,
                                           &part->mapping);
            return part->base != NULL;
        case FAR:
            part->base = (uint8_t *) (uintptr_t) theirs->address;
            part->far = true;
            if (!self->row)
                self->row = MPIDI_DIMMNET_row_new();
            return self->row != NULL;
        default:
            return false;
    }
}

static bool reach(const MPIR_Win *win, MPIDI_DIMMNET_window_t *self, const part_t *parts)
{
    for (int r = 0; r < win->comm_ptr->local_size; r++) {
        MPIDI_DIMMNET_part_of_t *part = &self->part[r];
        if (parts[r].way == NO_WAY)
            return false;
        part->bytes = (MPI_Aint) parts[r].bytes;
        part->disp_unit = parts[r].disp_unit;
        if (r == win->comm_ptr->rank)
            part->base = win->base;
        else if (part->bytes && !find_part(win, r, &parts[r], self))
            return false;
    }
    return true;
}

/* Have this rank's view of all parts.  *has_p: it has.  Returns an MPI error code. */
static int make(MPIR_Win *win, MPIDI_DIMMNET_window_t *self, part_t *parts, int *has_p)
{
    MPIR_Comm *comm = win->comm_ptr;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIDI_DIMMNET_shared_t shared;
    size_t size = (size_t) comm->local_size;
    size_t bytes = size * sizeof(MPIDI_DIMMNET_locks_t);
    size_t asks = may_have_far(win) ? MPIDI_DIMMNET_asks_bytes(comm->local_size) : 0;
    int mpi_errno = MPIDI_DIMMNET_shared_make(comm, bytes + asks, self && parts && is_wanted(win),
                                              &errflag, &shared);
    if (self) {
        self->shared = shared;
        self->locks = shared.memory;
    }
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    MPIDI_DIMMNET_shared_zero(&shared, bytes);
    int ready = shared.memory != NULL;
    mpi_errno = MPIR_Allreduce_impl(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, comm, &errflag);
    if (mpi_errno != MPI_SUCCESS || !ready)
        return mpi_errno;
    parts[comm->rank] = own_part(win);
    mpi_errno = MPIR_Allgather_impl(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, sizeof(*parts),
                                    MPI_BYTE, comm, &errflag);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    *has_p = reach(win, self, parts);
    if (*has_p) {
        if (asks)
            MPIDI_DIMMNET_asks_begin(&self->asks, self->locks + size, comm->local_size, comm->rank);
        MPIDI_DIMMNET_WINDOW(win) = self; /* another rank may ask before this one returns */
    }
    return MPIR_Allreduce_impl(MPI_IN_PLACE, has_p, 1, MPI_INT, MPI_MIN, comm, &errflag);
}

/* Let the ranks share the window's memory, if they can; collective. */
static int share(MPIR_Win *win)
{
    int size = win->comm_ptr->local_size;
    if (!dnet_ep_job_may_share(MPIDI_DIMMNET_EP(0)) ||
        !MPIDI_DIMMNET_comm_is_of_one_job(win->comm_ptr))
        return MPI_SUCCESS;
    MPIDI_DIMMNET_window_t *self = NULL;
    if (dnet_ep_shares_windows(MPIDI_DIMMNET_EP(0))) /* by this process's options */
        self = MPL_calloc(1, sizeof(*self) + (size_t) size * sizeof(self->part[0]), MPL_MEM_RMA);
    part_t *parts = MPL_malloc((size_t) size * sizeof(*parts), MPL_MEM_RMA);
    int has = false, mpi_errno = make(win, self, parts, &has);
    MPL_free(parts);
    if (mpi_errno == MPI_SUCCESS && has) {
        dnet_ep_count_window(MPIDI_DIMMNET_EP(0));
    } else if (self) {
        MPIDI_DIMMNET_WINDOW(win) = NULL;
        release(self, size);
    }
    return mpi_errno;
}

/* No rank uses it any more. */
int MPIDI_DIMMNET_mpi_win_free_hook(MPIR_Win *win)
{
    MPIDI_DIMMNET_window_t *self = MPIDI_DIMMNET_WINDOW(win);
    MPIDI_DIMMNET_WINDOW(win) = NULL;
    if (self)
        release(self, win->comm_ptr->local_size);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_create(void *base, MPI_Aint length, int disp_unit, MPIR_Info *info,
                                 MPIR_Comm *comm_ptr, MPIR_Win **win_p)
{
    int mpi_errno = MPIDIG_mpi_win_create(base, length, disp_unit, info, comm_ptr, win_p);
    return mpi_errno == MPI_SUCCESS ? share(*win_p) : mpi_errno;
}

/* MPICH puts the ranks' parts one behind the other: each begins with a line. */
int MPIDI_DIMMNET_mpi_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info *info, MPIR_Comm *comm,
                                   void *baseptr, MPIR_Win **win_p)
{
    MPI_Aint lines = (size + PART_ALIGN - 1) & ~(MPI_Aint) (PART_ALIGN - 1);
    int mpi_errno = MPIDIG_mpi_win_allocate(lines, disp_unit, info, comm, baseptr, win_p);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    (*win_p)->size = size;
    return share(*win_p);
}

/* Here one part must begin where the last one ends. */
int MPIDI_DIMMNET_mpi_win_allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info *info_ptr,
                                          MPIR_Comm *comm_ptr, void **baseptr_p, MPIR_Win **win_p)
{
    int mpi_errno =
        MPIDIG_mpi_win_allocate_shared(size, disp_unit, info_ptr, comm_ptr, baseptr_p, win_p);
    return mpi_errno == MPI_SUCCESS ? share(*win_p) : mpi_errno;
}

/* ---- hooks ---- */

/* The hooks of new windows: their active messages go by VCI 0. */
int MPIDI_DIMMNET_mpi_win_create_hook(MPIR_Win *win)
{
    MPIDI_WIN(win, am_vci) = 0;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_allocate_hook(MPIR_Win *win)
{
    MPIDI_WIN(win, am_vci) = 0;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_allocate_shared_hook(MPIR_Win *win)
{
    MPIDI_WIN(win, am_vci) = 0;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_create_dynamic_hook(MPIR_Win *win)
{
    MPIDI_WIN(win, am_vci) = 0;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_attach_hook(MPIR_Win *win, void *base, MPI_Aint size)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_detach_hook(MPIR_Win *win, const void *base)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_win_set_info(MPIR_Win *win, MPIR_Info *info)
{
    return MPIDIG_mpi_win_set_info(win, info);
}

int MPIDI_DIMMNET_mpi_win_get_info(MPIR_Win *win, MPIR_Info **info_p)
{
    return MPIDIG_mpi_win_get_info(win, info_p);
}

int MPIDI_DIMMNET_mpi_win_free(MPIR_Win **win_p)
{
    return MPIDIG_mpi_win_free(win_p);
}

int MPIDI_DIMMNET_mpi_win_attach(MPIR_Win *win, void *base, MPI_Aint size)
{
    int mpi_errno = MPIDIG_mpi_win_attach(win, base, size);
    if (mpi_errno == MPI_SUCCESS && MPIDI_DIMMNET_WINDOW(win))
        mpi_errno = MPIDI_DIMMNET_attach(win, base, (size_t) size);
    return mpi_errno;
}

int MPIDI_DIMMNET_mpi_win_detach(MPIR_Win *win, const void *base)
{
    if (MPIDI_DIMMNET_WINDOW(win))
        MPIDI_DIMMNET_detach(win, base);
    return MPIDIG_mpi_win_detach(win, base);
}

int MPIDI_DIMMNET_mpi_win_create_dynamic(MPIR_Info *info, MPIR_Comm *comm, MPIR_Win **win_p)
{
    int mpi_errno = MPIDIG_mpi_win_create_dynamic(info, comm, win_p);
    return mpi_errno == MPI_SUCCESS ? share(*win_p) : mpi_errno;
}

/* ---- memory ---- */

/* Where SO-DIMM is full, or not mapped, ordinary memory does as well.  NULL: MPI_ERR_NO_MEM. */
void *MPIDI_DIMMNET_mpi_alloc_mem(MPI_Aint size, MPIR_Info *info)
{
    void *memory;
    switch (dnet_ep_alloc(MPIDI_DIMMNET_EP(0), size, &memory)) {
        case DNET_OK:
            return memory;
        case DNET_ERR_LIMIT:
            return MPIDIG_mpi_alloc_mem(size, info);
        default:
            return NULL;
    }
}

int MPIDI_DIMMNET_mpi_free_mem(void *ptr)
{
    if (dnet_ep_free(MPIDI_DIMMNET_EP(0), ptr) == DNET_OK)
        return MPI_SUCCESS;
    return MPIDIG_mpi_free_mem(ptr);
}
