/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank asks the owner of a far part to do there.
 *
 * Where the kernel is slow to copy between processes, a copy of any length takes it microseconds.
 * An owner that is in a call of MPI has done a short one sooner: the question stands in memory that
 * both share, and a message says that it does.  An owner that computes would not: so who has asked
 * takes the question back after some microseconds, asks nothing before that message has been read,
 * and has the kernel do it.  Of a long copy some pieces are asked for at once: both copy at the
 * same time then, as neither would where the kernel does.
 */
#ifndef DIMMNET_ASKED_H_INCLUDED
#define DIMMNET_ASKED_H_INCLUDED

#include "dimmnet_impl.h"

#define MPIDI_DIMMNET_ASKED_BYTES 8192

/* Of the rank that asks; in shared memory.  It has one for a short question, and some for pieces.
 */
typedef struct {
    _Alignas(64) _Atomic uint64_t heard; /* number of the last question that came too late */
    /* Number of the question, and in the lowest bits where it stands. */
    _Alignas(64) _Atomic uint64_t state;
    uint64_t theirs; /* address in the part */
    uint64_t bytes;
    int32_t kind;
    MPI_Op op;
    MPI_Datatype type;
    _Alignas(16) uint8_t data[]; /* operands; then what was there */
} MPIDI_DIMMNET_question_t;

/* Own memory in a dynamic window. */
typedef struct MPIDI_DIMMNET_attached {
    struct MPIDI_DIMMNET_attached *next;
    uintptr_t from;
    size_t bytes;
} MPIDI_DIMMNET_attached_t;

/* Questions of this process in one window. */
typedef struct {
    uint8_t *questions; /* by rank; NULL: there are none */
    int pieces;         /* of a rank */
    uint64_t number;    /* of the last one */
    uint64_t unheard;   /* of one that was taken back; 0: none */
    uint32_t alone;     /* long copies to be done without asking */
    bool may;           /* it is worth while to ask */
    MPIDI_DIMMNET_attached_t *attached;
} MPIDI_DIMMNET_asks_t;

/* Shared memory for the questions of so many ranks; 0: there are none. */
size_t MPIDI_DIMMNET_asks_bytes(int ranks);

/* Begin to, with that memory. */
void MPIDI_DIMMNET_asks_begin(MPIDI_DIMMNET_asks_t *asks, void *memory, int ranks, int rank);
void MPIDI_DIMMNET_asks_end(MPIDI_DIMMNET_asks_t *asks);

/* Memory has been attached to a dynamic window, or is no more: of other memory nothing is done when
 * asked.  Returns an MPI error code. */
int MPIDI_DIMMNET_attach(MPIR_Win *win, void *base, size_t bytes);
void MPIDI_DIMMNET_detach(MPIR_Win *win, const void *base);

/* Ask to have up to MPIDI_DIMMNET_ASKED_BYTES stored or read.  True: it is done.  False: it is not,
 * and will not be. */
bool MPIDI_DIMMNET_ask_copy(const MPIR_Win *win, int rank, bool stores, void *own, uint8_t *theirs,
                            size_t bytes);

/* The same for an accumulate of elements without gaps (built-in types), and for a
 * compare-and-swap, by who has locked the accumulates.  result NULL: it is not wanted. */
bool MPIDI_DIMMNET_ask_combine(const MPIR_Win *win, int rank, const void *operand, void *result,
                               uint8_t *theirs, MPI_Aint count, MPI_Datatype type, MPI_Op op);
bool MPIDI_DIMMNET_ask_swap(const MPIR_Win *win, int rank, const void *compare, const void *value,
                            void *result, uint8_t *theirs, size_t bytes);

/* A copy of MPIDI_DIMMNET_LONG_LEAST and more.  Returns an MPI error code. */
int MPIDI_DIMMNET_copy_by_pieces(const MPIR_Win *win, int rank, bool stores, uint8_t *own,
                                 uint8_t *theirs, size_t bytes);
#define MPIDI_DIMMNET_LONG_LEAST 65536

/* The message that a question stands. */
#define MPIDI_DIMMNET_AM_ASKED 0x7fff
void MPIDI_DIMMNET_asked(const void *header);

#endif
