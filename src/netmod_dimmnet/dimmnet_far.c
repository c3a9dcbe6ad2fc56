/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_asked.h"
#include "dimmnet_board.h"
#include "dimmnet_buffers.h"
#include "dimmnet_far.h"
#include "endpoint/share.h"

/* A longer one is copied at once. */
#define IN_ROW_MOST 32768
/* What a row holds. */
#define ROW_RANGES 64
#define ROW_BYTES (256 << 10)
/* Blocks of an image that are moved at a time. */
#define BLOCKS_AT_ONCE 256

struct MPIDI_DIMMNET_row {
    bool stores;
    int rank;
    size_t bytes; /* 0: nothing is in it */
    size_t own_n, theirs_n;
    struct iovec own[ROW_RANGES], theirs[ROW_RANGES];
};

/* A rank that has ended ends the job. */
static int kernel_copy(const MPIR_Win *win, int rank, bool stores, dnet_ranges_t own,
                       dnet_ranges_t theirs)
{
    dnet_status_t status =
        dnet_ep_copy(MPIDI_DIMMNET_EP(0), MPIDI_DIMMNET_peer_of(win, rank), stores, own, theirs);
    if (likely(status == DNET_OK))
        return MPI_SUCCESS;
    if (status != DNET_ERR_ARGUMENT)
        MPIDI_DIMMNET_abort(status);
    return MPIDI_DIMMNET_error_range();
}

int MPIDI_DIMMNET_far_copy_alone(const MPIR_Win *win, int rank, bool stores, const void *own,
                                 uint8_t *theirs, size_t bytes)
{
    struct iovec here = {(void *) (uintptr_t) own, bytes}, there = {theirs, bytes};
    return kernel_copy(win, rank, stores, (dnet_ranges_t){&here, 1}, (dnet_ranges_t){&there, 1});
}

int MPIDI_DIMMNET_far_copy_now(const MPIR_Win *win, int rank, bool stores, const void *own,
                               uint8_t *theirs, size_t bytes)
{
    void *here = (void *) (uintptr_t) own;
    if (bytes >= MPIDI_DIMMNET_LONG_LEAST)
        return MPIDI_DIMMNET_copy_by_pieces(win, rank, stores, here, theirs, bytes);
    if (bytes <= MPIDI_DIMMNET_ASKED_BYTES &&
        MPIDI_DIMMNET_ask_copy(win, rank, stores, here, theirs, bytes))
        return MPI_SUCCESS;
    return MPIDI_DIMMNET_far_copy_alone(win, rank, stores, own, theirs, bytes);
}

/* ---- rows ---- */

MPIDI_DIMMNET_row_t *MPIDI_DIMMNET_row_new(void)
{
    return MPL_calloc(1, sizeof(MPIDI_DIMMNET_row_t), MPL_MEM_RMA);
}

static int finish_row(MPIR_Win *win, MPIDI_DIMMNET_row_t *row)
{
    if (!row->bytes)
        return MPI_SUCCESS;
    size_t bytes = row->bytes;
    row->bytes = 0;
    if (row->own_n == 1 && row->theirs_n == 1)
        return MPIDI_DIMMNET_far_copy_now(win, row->rank, row->stores, row->own[0].iov_base,
                                          row->theirs[0].iov_base, bytes);
    return kernel_copy(win, row->rank, row->stores, (dnet_ranges_t){row->own, row->own_n},
                       (dnet_ranges_t){row->theirs, row->theirs_n});
}

static void add_range(struct iovec *range, size_t *n_p, void *at, size_t bytes)
{
    struct iovec *last = range + *n_p - 1;
    if (*n_p && (uint8_t *) last->iov_base + last->iov_len == (uint8_t *) at)
        last->iov_len += bytes;
    else
        range[(*n_p)++] = (struct iovec){at, bytes};
}

static bool has_room(const MPIDI_DIMMNET_row_t *row, int rank, bool stores, size_t bytes)
{
    return row->rank == rank && row->stores == stores && row->own_n < ROW_RANGES &&
           row->theirs_n < ROW_RANGES && row->bytes + bytes <= ROW_BYTES;
}

static int add(MPIR_Win *win, MPIDI_DIMMNET_row_t *row, int rank, bool stores, const void *own,
               uint8_t *theirs, size_t bytes)
{
    int mpi_errno = MPI_SUCCESS;
    if (row->bytes && !has_room(row, rank, stores, bytes))
        mpi_errno = finish_row(win, row);
    if (!row->bytes) {
        row->rank = rank;
        row->stores = stores;
        row->own_n = row->theirs_n = 0;
    }
    add_range(row->own, &row->own_n, (void *) (uintptr_t) own, bytes);
    add_range(row->theirs, &row->theirs_n, theirs, bytes);
    row->bytes += bytes;
    return mpi_errno;
}

/* Several threads may have epochs. */
int MPIDI_DIMMNET_far_copy(MPIR_Win *win, int rank, bool stores, const void *own, uint8_t *theirs,
                           size_t bytes)
{
    int vci ATTRIBUTE((unused)) = MPIDI_WIN(win, am_vci);
    if (bytes > IN_ROW_MOST)
        return MPIDI_DIMMNET_far_copy_now(win, rank, stores, own, theirs, bytes);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    int mpi_errno = add(win, MPIDI_DIMMNET_WINDOW(win)->row, rank, stores, own, theirs, bytes);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

int MPIDI_DIMMNET_far_finish(MPIR_Win *win)
{
    int vci ATTRIBUTE((unused)) = MPIDI_WIN(win, am_vci);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    int mpi_errno = finish_row(win, MPIDI_DIMMNET_WINDOW(win)->row);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

/* ---- images ---- */

int MPIDI_DIMMNET_image_make(MPIDI_DIMMNET_image_t *image, int rank, uint8_t *theirs,
                             MPI_Aint count, MPI_Datatype type, MPI_Aint from, MPI_Aint end)
{
    *image = (MPIDI_DIMMNET_image_t){.theirs = theirs, .rank = rank, .count = count, .type = type};
    image->memory = MPIDI_DIMMNET_buffer_alloc((size_t) (end - from));
    if (!image->memory)
        return MPIDI_DIMMNET_error_no_memory((size_t) (end - from));
    image->at = (uint8_t *) image->memory - from;
    return MPI_SUCCESS;
}

void MPIDI_DIMMNET_image_free(MPIDI_DIMMNET_image_t *image)
{
    MPIDI_DIMMNET_buffer_free(image->memory);
}

static int move_blocks(const MPIR_Win *win, const MPIDI_DIMMNET_image_t *image, bool stores,
                       MPI_Aint len)
{
    struct iovec own[BLOCKS_AT_ONCE], theirs[BLOCKS_AT_ONCE];
    MPI_Aint n, bytes;
    int mpi_errno = MPI_SUCCESS;
    for (MPI_Aint done = 0; done < len && mpi_errno == MPI_SUCCESS; done += bytes) {
        MPIR_Typerep_to_iov(image->at, image->count, image->type, done, own, BLOCKS_AT_ONCE,
                            len - done, &n, &bytes);
        MPIR_Assert(n > 0);
        for (MPI_Aint i = 0; i < n; i++)
            theirs[i] = (struct iovec){image->theirs + ((uint8_t *) own[i].iov_base - image->at),
                                       own[i].iov_len};
        mpi_errno = kernel_copy(win, image->rank, stores, (dnet_ranges_t){own, (size_t) n},
                                (dnet_ranges_t){theirs, (size_t) n});
    }
    return mpi_errno;
}

int MPIDI_DIMMNET_image_move(const MPIR_Win *win, const MPIDI_DIMMNET_image_t *image, bool stores)
{
    size_t len;
    uint8_t *at = MPIDI_DIMMNET_contiguous(image->at, image->count, image->type, &len);
    if (!at)
        return move_blocks(win, image, stores, (MPI_Aint) len);
    return MPIDI_DIMMNET_far_copy_now(win, image->rank, stores, at,
                                      image->theirs + (at - image->at), len);
}
