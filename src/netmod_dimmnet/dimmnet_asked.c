/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_asked.h"
#include "dimmnet_far.h"
#include "dimmnet_progress.h"
#include "dimmnet_reduce.h"
#include "dimmnet_rma.h"
#include "common/clock.h"
#include "common/compiler.h"
#include "endpoint/share.h"

/* An owner in a call of MPI has answered after 1 us. */
#define WAIT_NS 4000
#define LOOKS_PER_ROUND 8
#define LINE 64
#define FETCHED_MOST 1024 /* of more, the processor sees that they follow each other */

/* What a rank has for long copies, where there are so few. */
#define PIECES 4
#define PIECE_BYTES 32768
#define PIECES_RANKS_MOST 8
/* Long copies that are done without asking after one whose owner has refused. */
#define ALONE 16
/* More ranks have no processor each. */
#define RANKS_MOST 64

enum { COPY, COMBINE, SWAP };
enum { FREE, STANDS, TAKEN, DONE };

typedef struct {
    uint64_t win_id;
    uint64_t number;
    int32_t rank;   /* who asks */
    uint8_t which;  /* of its questions; 0: the short one */
    uint8_t stores; /* of a copy */
    uint16_t bytes;
} header_t;

static uint64_t state_of(uint64_t number, unsigned where)
{
    return number << 2 | where;
}

/* With its data, in whole lines. */
static size_t question_bytes(size_t data)
{
    return (sizeof(MPIDI_DIMMNET_question_t) + data + LINE - 1) / LINE * LINE;
}

static size_t rank_bytes(int pieces)
{
    return question_bytes(MPIDI_DIMMNET_ASKED_BYTES) +
           (size_t) pieces * question_bytes(PIECE_BYTES);
}

static MPIDI_DIMMNET_question_t *question(const MPIDI_DIMMNET_asks_t *asks, int rank, int which)
{
    uint8_t *at = asks->questions + (size_t) rank * rank_bytes(asks->pieces);
    if (which)
        at += question_bytes(MPIDI_DIMMNET_ASKED_BYTES) +
              (size_t) (which - 1) * question_bytes(PIECE_BYTES);
    return (MPIDI_DIMMNET_question_t *) (void *) at;
}

static int pieces_of(int ranks)
{
    return ranks <= PIECES_RANKS_MOST ? PIECES : 0;
}

size_t MPIDI_DIMMNET_asks_bytes(int ranks)
{
    return ranks <= RANKS_MOST ? (size_t) ranks * rank_bytes(pieces_of(ranks)) : 0;
}

void MPIDI_DIMMNET_asks_begin(MPIDI_DIMMNET_asks_t *asks, void *memory, int ranks, int rank)
{
    asks->questions = memory;
    asks->pieces = pieces_of(ranks);
    for (int i = 0; i <= asks->pieces; i++) {
        MPIDI_DIMMNET_question_t *q = question(asks, rank, i);
        atomic_store_explicit(&q->heard, 0, memory_order_relaxed);
        atomic_store_explicit(&q->state, 0, memory_order_relaxed);
    }
    asks->may = MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE &&
                dnet_ep_asks_owners(MPIDI_DIMMNET_EP(0));
}

/* Have the lines of its data, to read and for the other to store to: one that has only been read is
 * slower to store to, on most of AMD's processors, and one after the other comes late. */
static inline void fetch_lines(MPIDI_DIMMNET_question_t *q, size_t bytes)
{
    for (size_t i = 0; i < MPL_MIN(bytes, FETCHED_MOST); i += LINE)
        dnet_prefetch_for_store(q->data + i);
}

/* ---- who asks ---- */

/* The short question, which tells of all what came too late.  NULL: none is to be asked */
static MPIDI_DIMMNET_question_t *begin(const MPIR_Win *win)
{
    MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    if (!asks->may)
        return NULL;
    MPIDI_DIMMNET_question_t *q = question(asks, win->comm_ptr->rank, 0);
    if (asks->unheard && atomic_load_explicit(&q->heard, memory_order_relaxed) < asks->unheard)
        return NULL;
    asks->unheard = 0;
    return q;
}

static void ask(const MPIR_Win *win, int rank, int kind, bool stores, uint8_t *theirs, size_t bytes,
                int which)
{
    MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    MPIDI_DIMMNET_question_t *q = question(asks, win->comm_ptr->rank, which);
    header_t header = {MPIDIG_WIN(win, win_id), ++asks->number,   win->comm_ptr->rank,
                       (uint8_t) which,         (uint8_t) stores, (uint16_t) bytes};
    q->theirs = (uintptr_t) theirs;
    q->bytes = bytes;
    q->kind = kind;
    /* Release: pairs with MPIDI_DIMMNET_asked(). */
    atomic_store_explicit(&q->state, state_of(asks->number, STANDS), memory_order_release);
    int mpi_errno = MPIDI_DIMMNET_am_send(MPIDI_WIN(win, am_vci), MPIDI_DIMMNET_peer_of(win, rank),
                                          MPIDI_DIMMNET_AM_ASKED, &header, sizeof(header), NULL, 0,
                                          MPI_BYTE, NULL);
    if (unlikely(mpi_errno != MPI_SUCCESS)) /* nobody will hear of it */
        asks->may = false;
}

/* @return false: the owner has it in hand */
static bool take_back(const MPIR_Win *win, MPIDI_DIMMNET_question_t *q)
{
    MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    uint64_t number = atomic_load_explicit(&q->state, memory_order_relaxed) >> 2;
    uint64_t stands = state_of(number, STANDS);
    if (!atomic_compare_exchange_strong_explicit(&q->state, &stands, state_of(number, FREE),
                                                 memory_order_relaxed, memory_order_relaxed))
        return false;
    asks->unheard = MPL_MAX(asks->unheard, number);
    return true;
}

/* Where it stands. */
static unsigned where(const MPIDI_DIMMNET_question_t *q)
{
    /* Acquire: pairs with MPIDI_DIMMNET_asked(). */
    return atomic_load_explicit(&q->state, memory_order_acquire) & 3;
}

/* Nobody waits long: the owner calls nothing.  But it may not run, or have been killed. */
static void wait_for_owner(const MPIR_Win *win, int rank, const MPIDI_DIMMNET_question_t *q)
{
    bool first = true;
    for (; where(q) == TAKEN; first = false) {
        MPIDI_DIMMNET_await_owner(MPIDI_DIMMNET_peer_of(win, rank), first);
        (void) MPID_Progress_test(NULL);
        MPIDI_progress_yield();
    }
    if (!first)
        MPIDI_DIMMNET_await_owner(DNET_EP_NO_RANK, false);
}

/* @return false: it has been taken back, or not been accepted */
static bool answered(const MPIR_Win *win, int rank, MPIDI_DIMMNET_question_t *q)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    uint64_t until = dnet_clock_ns() + WAIT_NS;
    while (where(q) == STANDS) {
        for (int i = 0; i < LOOKS_PER_ROUND && where(q) == STANDS; i++)
            dnet_cpu_relax();
        if (dnet_ep_has_come(ep)) /* the owner may ask, too */
            (void) MPIDI_DIMMNET_let_others_go_on();
        if (dnet_clock_ns() > until && take_back(win, q))
            return false;
    }
    wait_for_owner(win, rank, q);
    if (where(q) != DONE)
        return false;
    dnet_ep_count_window_ask(MPIDI_DIMMNET_EP(0));
    return true;
}

bool MPIDI_DIMMNET_ask_copy(const MPIR_Win *win, int rank, bool stores, void *own, uint8_t *theirs,
                            size_t bytes)
{
    MPIDI_DIMMNET_question_t *q = begin(win);
    if (!q)
        return false;
    if (stores)
        memcpy(q->data, own, bytes);
    ask(win, rank, COPY, stores, theirs, bytes, 0);
    if (!answered(win, rank, q))
        return false;
    if (!stores) {
        fetch_lines(q, bytes);
        memcpy(own, q->data, bytes);
    }
    return true;
}

bool MPIDI_DIMMNET_ask_combine(const MPIR_Win *win, int rank, const void *operand, void *result,
                               uint8_t *theirs, MPI_Aint count, MPI_Datatype type, MPI_Op op)
{
    size_t bytes = (size_t) count * MPIR_Datatype_get_basic_size(type);
    MPIDI_DIMMNET_question_t *q = begin(win);
    if (!q)
        return false;
    if (op != MPI_NO_OP)
        memcpy(q->data, operand, bytes);
    q->op = op;
    q->type = type;
    ask(win, rank, COMBINE, true, theirs, bytes, 0);
    if (!answered(win, rank, q))
        return false;
    if (result) {
        fetch_lines(q, bytes);
        memcpy(result, q->data, bytes);
    }
    return true;
}

bool MPIDI_DIMMNET_ask_swap(const MPIR_Win *win, int rank, const void *compare, const void *value,
                            void *result, uint8_t *theirs, size_t bytes)
{
    MPIDI_DIMMNET_question_t *q = begin(win);
    if (!q)
        return false;
    memcpy(q->data, compare, bytes);
    memcpy(q->data + bytes, value, bytes);
    ask(win, rank, SWAP, true, theirs, bytes, 0);
    if (!answered(win, rank, q))
        return false;
    memcpy(result, q->data, bytes);
    return true;
}

/* ---- long copies ---- */

/* This process has asked for pieces.  It does none for others then: where both copy anyway, the
 * kernel's one copy is shorter than two. */
static bool asks_for_pieces;

/* Have a piece that has been asked for. */
static int end_piece(const MPIR_Win *win, int rank, bool stores, MPIDI_DIMMNET_question_t *q,
                     uint8_t *own)
{
    MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    size_t bytes = q->bytes;
    uint8_t *theirs = (uint8_t *) (uintptr_t) q->theirs;
    if (answered(win, rank, q)) {
        if (!stores)
            memcpy(own, q->data, bytes);
        return MPI_SUCCESS;
    }
    /* An owner that was late may have slept: it will be there for the next ones. */
    if (asks->unheard < atomic_load_explicit(&q->state, memory_order_relaxed) >> 2)
        asks->alone = ALONE;
    return MPIDI_DIMMNET_far_copy_alone(win, rank, stores, own, theirs, bytes);
}

/* As far as the owner does it.  @return the bytes that have been copied, by the kernel or the owner
 */
static size_t by_pieces(const MPIR_Win *win, int rank, bool stores, uint8_t *own, uint8_t *theirs,
                        size_t bytes, int *mpi_errno_p)
{
    const MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    const size_t most = (size_t) asks->pieces * PIECE_BYTES;
    size_t asked = 0, ended = 0;
    for (;;) {
        bool more = asked < bytes && asked - ended < most && !asks->alone && !asks->unheard;
        size_t at = more ? asked : ended, len = MPL_MIN(PIECE_BYTES, bytes - at);
        int which = 1 + (int) (at % most / PIECE_BYTES);
        MPIDI_DIMMNET_question_t *q = question(asks, win->comm_ptr->rank, which);
        if (more) {
            if (stores)
                memcpy(q->data, own + at, len);
            ask(win, rank, COPY, stores, theirs + at, len, which);
            asked += len;
        } else if (asked > ended) {
            *mpi_errno_p =
                MPIDI_DIMMNET_either(*mpi_errno_p, end_piece(win, rank, stores, q, own + at));
            ended += len;
        } else {
            return ended;
        }
    }
}

int MPIDI_DIMMNET_copy_by_pieces(const MPIR_Win *win, int rank, bool stores, uint8_t *own,
                                 uint8_t *theirs, size_t bytes)
{
    MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    int mpi_errno = MPI_SUCCESS;
    size_t done = 0;
    if (asks->alone) {
        asks->alone--;
    } else if (asks->pieces && begin(win)) {
        asks_for_pieces = true;
        done = by_pieces(win, rank, stores, own, theirs, bytes, &mpi_errno);
        asks_for_pieces = false;
    }
    return done == bytes
               ? mpi_errno
               : MPIDI_DIMMNET_either(mpi_errno,
                                      MPIDI_DIMMNET_far_copy_alone(win, rank, stores, own + done,
                                                                   theirs + done, bytes - done));
}

/* ---- who is asked ---- */

static void combine(MPIDI_DIMMNET_question_t *q, void *at)
{
    uint8_t was[MPIDI_DIMMNET_ASKED_BYTES];
    memcpy(was, at, q->bytes);
    if (q->op == MPI_REPLACE) {
        memcpy(at, q->data, q->bytes);
    } else if (q->op != MPI_NO_OP) {
        MPIDI_DIMMNET_reduction_t how = {q->op, q->type};
        size_t count = q->bytes / MPIR_Datatype_get_basic_size(q->type);
        MPIDI_DIMMNET_reduce_loop(q->op, q->type)(q->data, at, at, count, &how);
    }
    memcpy(q->data, was, q->bytes);
}

static void answer(const header_t *header, MPIDI_DIMMNET_question_t *q)
{
    void *at = (void *) (uintptr_t) q->theirs;
    switch (q->kind) {
        case COPY:
            if (header->stores)
                memcpy(at, q->data, q->bytes);
            else
                memcpy(q->data, at, q->bytes);
            break;
        case COMBINE:
            combine(q, at);
            break;
        default: { /* SWAP */
            bool same = memcmp(at, q->data, q->bytes) == 0;
            memcpy(q->data, at, q->bytes);
            if (same)
                memcpy(at, q->data + q->bytes, q->bytes);
        }
    }
}

/* In a dynamic window that may be anywhere. */
static bool has(const MPIR_Win *win, uintptr_t at, size_t bytes)
{
    if (win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return true;
    const MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    for (const MPIDI_DIMMNET_attached_t *a = asks->attached; a; a = a->next)
        if (at >= a->from && at - a->from <= a->bytes && bytes <= a->bytes - (at - a->from))
            return true;
    return false;
}

/* A window that is no more had its questions taken back. */
void MPIDI_DIMMNET_asked(const void *message)
{
    header_t header;
    memcpy(&header, message, sizeof(header));
    MPIR_Win *win = MPIDIU_map_lookup(MPIDI_global.win_map, header.win_id);
    if (win == MPIDIU_MAP_NOT_FOUND || !win || !MPIDI_DIMMNET_WINDOW(win) ||
        !MPIDI_DIMMNET_WINDOW(win)->asks.questions)
        return;
    const MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    MPIDI_DIMMNET_question_t *q = question(asks, header.rank, header.which);
    fetch_lines(q, header.bytes);
    uint64_t stands = state_of(header.number, STANDS);
    if (!atomic_compare_exchange_strong_explicit(&q->state, &stands, state_of(header.number, TAKEN),
                                                 memory_order_acquire, memory_order_relaxed)) {
        atomic_store_explicit(&question(asks, header.rank, 0)->heard, header.number,
                              memory_order_relaxed);
        return;
    }
    bool accepted = has(win, q->theirs, q->bytes) && !(header.which && asks_for_pieces);
    if (accepted)
        answer(&header, q);
    atomic_store_explicit(&q->state, state_of(header.number, accepted ? DONE : FREE),
                          memory_order_release);
}

/* ---- what is attached to a dynamic window ---- */

int MPIDI_DIMMNET_attach(MPIR_Win *win, void *base, size_t bytes)
{
    MPIDI_DIMMNET_asks_t *asks = &MPIDI_DIMMNET_WINDOW(win)->asks;
    MPIDI_DIMMNET_attached_t *a = MPL_malloc(sizeof(*a), MPL_MEM_RMA);
    if (!a)
        return MPIDI_DIMMNET_error_no_memory(sizeof(*a));
    int vci ATTRIBUTE((unused)) = MPIDI_WIN(win, am_vci);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    *a = (MPIDI_DIMMNET_attached_t){asks->attached, (uintptr_t) base, bytes};
    asks->attached = a;
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return MPI_SUCCESS;
}

void MPIDI_DIMMNET_detach(MPIR_Win *win, const void *base)
{
    MPIDI_DIMMNET_attached_t **link = &MPIDI_DIMMNET_WINDOW(win)->asks.attached;
    int vci ATTRIBUTE((unused)) = MPIDI_WIN(win, am_vci);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    while (*link && (*link)->from != (uintptr_t) base)
        link = &(*link)->next;
    MPIDI_DIMMNET_attached_t *a = *link;
    if (a)
        *link = a->next;
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    MPL_free(a);
}

void MPIDI_DIMMNET_asks_end(MPIDI_DIMMNET_asks_t *asks)
{
    while (asks->attached) {
        MPIDI_DIMMNET_attached_t *a = asks->attached;
        asks->attached = a->next;
        MPL_free(a);
    }
}
