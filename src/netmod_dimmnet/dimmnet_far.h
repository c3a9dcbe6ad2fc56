/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of a window that this process cannot map: the kernel copies between them and here.
 *
 * A copy takes longer to ask for than 1 KB takes to be copied.  So short puts to one rank, or gets
 * from it, are collected in a row, and done together when the row is full or the epoch wants them;
 * what follows on each other there and here is one range.
 *
 * Each returns an MPI error code, which may be an earlier operation's.
 */
#ifndef DIMMNET_FAR_H_INCLUDED
#define DIMMNET_FAR_H_INCLUDED

#include "dimmnet_window.h"

/* Have bytes read from a rank's part, or stored to it, by MPIDI_DIMMNET_far_finish() at the latest;
 * `own` must stay until then. */
int MPIDI_DIMMNET_far_copy(MPIR_Win *win, int rank, bool stores, const void *own, uint8_t *theirs,
                           size_t bytes);

/* The same, now; and with no more than the kernel. */
int MPIDI_DIMMNET_far_copy_now(const MPIR_Win *win, int rank, bool stores, const void *own,
                               uint8_t *theirs, size_t bytes);

int MPIDI_DIMMNET_far_copy_alone(const MPIR_Win *win, int rank, bool stores, const void *own,
                                 uint8_t *theirs, size_t bytes);

/* Do what is in the row. */
int MPIDI_DIMMNET_far_finish(MPIR_Win *win);

/* An image of a rank's elements here, gaps included; what is in the gaps is not moved. */
typedef struct {
    uint8_t *at; /* the first element */
    uint8_t *theirs;
    int rank;
    MPI_Aint count;
    MPI_Datatype type;
    void *memory; /* to be freed */
} MPIDI_DIMMNET_image_t;

/* Elements that take the bytes from `from` to `end`, as seen from the first.  An image is to be
 * given to MPIDI_DIMMNET_image_free(). */
int MPIDI_DIMMNET_image_make(MPIDI_DIMMNET_image_t *image, int rank, uint8_t *theirs,
                             MPI_Aint count, MPI_Datatype type, MPI_Aint from, MPI_Aint end);
void MPIDI_DIMMNET_image_free(MPIDI_DIMMNET_image_t *image);

/* Read the elements, or store them. */
int MPIDI_DIMMNET_image_move(const MPIR_Win *win, const MPIDI_DIMMNET_image_t *image, bool stores);

#endif
