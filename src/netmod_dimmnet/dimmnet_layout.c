/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the blocks of a type with gaps lie, for the NIC to gather and scatter
 * (docs/protocol.md 4.3).
 *
 * What is found out about a type is kept until the type goes: block size and step, or a list of
 * offsets in SO-DIMM.  A vector is read from its contents.  The pieces of any other type are looked
 * at when it has been used some times, because packing once is cheaper than that; blocks of several
 * lengths are cut to the greatest length that divides them all.
 *
 * The lock is held around no call that waits; types may be freed by any thread.
 */
#include "dimmnet_impl.h"

#include <pthread.h>

/* A type of more pieces is packed. */
#define PIECES_MAX (1 << 20)
/* Messages of a type that are packed before it is looked at.  Looking costs up to twice as much as
 * packing (benchmarks/strided --type indexed --fresh uses each type twice). */
#define USED_BEFORE 3
/* Shorter blocks with a list of 4 bytes each are packed, unless their steps are equal. */
#define LISTED_LEAST 16

/* Offsets of the blocks of so many elements of the type, in SO-DIMM. */
typedef struct list list_t;
struct list {
    list_t *next; /* a shorter one, which messages under way may use */
    MPI_Aint elements;
    uint32_t *memory;
    uint32_t offset;
};

struct MPIDI_DIMMNET_blocks {
    MPIR_Datatype *type; /* key */
    int users;           /* the table, and messages under way */
    int used;            /* times, before it is looked at */
    bool looked;
    size_t block_bytes;
    MPI_Aint count; /* blocks of one element */
    MPI_Aint first; /* byte displacement of the first block */
    MPI_Aint step;  /* 0: the steps differ, see starts */
    /* displacements from the first block, modulo 2^32; NULL where steps are equal */
    uint32_t *starts;
    list_t *lists; /* longest first */
    UT_hash_handle hh;
};

static MPIDI_DIMMNET_blocks_t *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- looking at a type ---- */

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Pieces that touch become one.  Returns how many remain. */
static MPI_Aint merge(struct iovec *piece, MPI_Aint count)
{
    MPI_Aint n = 0;
    for (MPI_Aint i = 1; i < count; i++) {
        if ((char *) piece[n].iov_base + piece[n].iov_len == (char *) piece[i].iov_base)
            piece[n].iov_len += piece[i].iov_len;
        else
            piece[++n] = piece[i];
    }
    return n + 1;
}

static bool steps_are_equal(const MPIDI_DIMMNET_blocks_t *b)
{
    for (MPI_Aint i = 2; i < b->count; i++)
        if (b->starts[i] - b->starts[i - 1] != b->starts[1])
            return false;
    return true;
}

/* From pieces to blocks of one length.  False: no memory. */
static bool cut(MPIDI_DIMMNET_blocks_t *b, const struct iovec *piece, MPI_Aint pieces)
{
    size_t bytes = 0;
    for (MPI_Aint i = 0; i < pieces; i++) {
        b->block_bytes = common_divisor(piece[i].iov_len, b->block_bytes);
        bytes += piece[i].iov_len;
    }
    if (bytes / b->block_bytes > PIECES_MAX) { /* their list takes 4 bytes each */
        b->block_bytes = 0;
        return true;
    }
    b->count = bytes / b->block_bytes;
    b->first = (MPI_Aint) piece[0].iov_base;
    b->starts = MPL_malloc(b->count * sizeof(*b->starts), MPL_MEM_DATATYPE);
    if (!b->starts)
        return false;
    uint32_t *start = b->starts;
    for (MPI_Aint i = 0; i < pieces; i++)
        for (size_t at = 0; at < piece[i].iov_len; at += b->block_bytes)
            *start++ = (uint32_t) ((MPI_Aint) piece[i].iov_base + at - b->first);
    if (steps_are_equal(b)) {
        b->step = b->count > 1 ? (int32_t) b->starts[1] : 0;
        MPL_free(b->starts);
        b->starts = NULL;
    }
    return true;
}

/* A vector of contiguous elements, perhaps duplicated or resized.  False: it is something else. */
static bool read_vector(MPIDI_DIMMNET_blocks_t *b, MPI_Datatype datatype)
{
    int *ints;
    MPI_Aint *aints, *counts, element, extent;
    MPI_Datatype *types;
    MPIR_Datatype *type, *inner;
    for (;;) {
        if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
            return false;
        MPIR_Datatype_get_ptr(datatype, type);
        if (!type->contents)
            return false;
        MPIR_Datatype_access_contents(type->contents, &ints, &aints, &counts, &types);
        if (type->contents->combiner != MPI_COMBINER_DUP &&
            type->contents->combiner != MPI_COMBINER_RESIZED)
            break;
        datatype = types[0];
    }
    bool vector = type->contents->combiner == MPI_COMBINER_VECTOR;
    if ((!vector && type->contents->combiner != MPI_COMBINER_HVECTOR) || type->contents->nr_counts)
        return false;
    MPIR_Datatype_get_size_macro(types[0], element);
    MPIR_Datatype_get_extent_macro(types[0], extent);
    if (!IS_BUILTIN(types[0])) {
        MPIR_Datatype_get_ptr(types[0], inner);
        if (!inner->is_contig || inner->true_lb || extent != element)
            return false;
    }
    MPI_Aint bytes = ints[1] * element, step = vector ? ints[2] * extent : aints[0];
    if (ints[0] < 2 || bytes == 0 || bytes == step)
        return false;
    b->count = ints[0];
    b->step = step;
    b->block_bytes = bytes;
    return true;
}

/* block_bytes stays 0 when the type is not worth it. */
static void look(MPIDI_DIMMNET_blocks_t *b, MPI_Datatype datatype)
{
    b->looked = true;
    MPI_Aint pieces, bytes;
    MPIR_Typerep_iov_len(1, datatype, b->type->size, &pieces);
    if (pieces < 1 || pieces > PIECES_MAX)
        return;
    struct iovec *piece = MPL_malloc(pieces * sizeof(*piece), MPL_MEM_DATATYPE);
    if (!piece)
        return;
    MPIR_Typerep_to_iov(NULL, 1, datatype, 0, piece, pieces, b->type->size, &pieces, &bytes);
    if (bytes == b->type->size && !cut(b, piece, merge(piece, pieces)))
        b->block_bytes = 0;
    MPL_free(piece);
}

static MPIDI_DIMMNET_blocks_t *blocks_of(MPIR_Datatype *type, MPI_Datatype datatype)
{
    MPIDI_DIMMNET_blocks_t *b;
    HASH_FIND_PTR(table, &type, b);
    if (b) {
        if (!b->looked && ++b->used == USED_BEFORE)
            look(b, datatype);
        return b;
    }
    b = MPL_calloc(1, sizeof(*b), MPL_MEM_DATATYPE);
    if (!b)
        return NULL;
    b->type = type;
    b->users = 1;
    b->looked = read_vector(b, datatype);
    HASH_ADD_PTR(table, type, b, MPL_MEM_DATATYPE);
    return b;
}

/* ---- letting it go ---- */

static void drop(MPIDI_DIMMNET_blocks_t *b)
{
    if (--b->users)
        return;
    while (b->lists) {
        list_t *list = b->lists;
        b->lists = list->next;
        dnet_ep_free(MPIDI_DIMMNET_EP(0), list->memory);
        MPL_free(list);
    }
    MPL_free(b->starts);
    MPL_free(b);
}

void MPIDI_DIMMNET_blocks_release(MPIDI_DIMMNET_blocks_t *blocks)
{
    pthread_mutex_lock(&lock);
    drop(blocks);
    pthread_mutex_unlock(&lock);
}

void MPIDI_DIMMNET_layout_forget(MPIR_Datatype *type)
{
    MPIDI_DIMMNET_blocks_t *b;
    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(table, &type, b);
    if (b) {
        HASH_DEL(table, b);
        drop(b);
    }
    pthread_mutex_unlock(&lock);
}

void MPIDI_DIMMNET_layout_finalize(void)
{
    MPIDI_DIMMNET_blocks_t *b, *next;
    pthread_mutex_lock(&lock);
    HASH_ITER(hh, table, b, next)
    {
        HASH_DEL(table, b);
        drop(b);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- layouts ---- */

static const list_t *list_for(MPIDI_DIMMNET_blocks_t *b, MPI_Aint elements)
{
    if (b->lists && b->lists->elements >= elements)
        return b->lists;
    void *memory;
    size_t bytes = elements * b->count * sizeof(uint32_t);
    list_t *list = MPL_malloc(sizeof(*list), MPL_MEM_DATATYPE);
    if (!list || dnet_ep_alloc(MPIDI_DIMMNET_EP(0), bytes, &memory) != DNET_OK) {
        MPL_free(list);
        return NULL;
    }
    *list = (list_t){.next = b->lists, .elements = elements, .memory = memory};
    dnet_ep_sodimm_offset(MPIDI_DIMMNET_EP(0), memory, bytes, &list->offset);
    uint32_t *entry = list->memory;
    for (MPI_Aint e = 0; e < elements; e++)
        for (MPI_Aint i = 0; i < b->count; i++)
            *entry++ = (uint32_t) (e * b->type->extent +
                                   (b->starts ? b->starts[i] : (uint32_t) (i * b->step)));
    b->lists = list;
    return list;
}

static bool lay_out(MPIDI_DIMMNET_blocks_t *b, MPI_Aint count, dnet_ep_layout_t *l)
{
    l->block_bytes = b->block_bytes;
    l->count = count * b->count;
    l->kind = DNET_LAYOUT_BLOCKS;
    if (b->count == 1)
        l->step = (uint32_t) b->type->extent;
    else
        l->step = (uint32_t) b->step;
    if (!b->starts && (b->count == 1 || count == 1 || b->type->extent == b->step * b->count))
        return true;
    const list_t *list = b->block_bytes >= LISTED_LEAST ? list_for(b, count) : NULL;
    if (!list)
        return false;
    l->kind = DNET_LAYOUT_LIST;
    l->step = list->offset;
    return true;
}

/* SO-DIMM offset of displacement 0, when every byte between the first and the last lies there. */
static bool find_origin(const void *buf, MPI_Aint count, const MPIR_Datatype *type,
                        uint32_t *origin_p)
{
    MPI_Aint last = (count - 1) * type->extent;
    MPI_Aint low = type->true_lb + (last < 0 ? last : 0);
    MPI_Aint high = type->true_ub + (last > 0 ? last : 0);
    uint32_t offset;
    if (!dnet_ep_sodimm_offset(MPIDI_DIMMNET_EP(0), (const char *) buf + low, high - low, &offset))
        return false;
    *origin_p = offset - (uint32_t) low;
    return true;
}

bool MPIDI_DIMMNET_layout(const void *buf, MPI_Aint count, MPI_Datatype datatype, size_t len,
                          dnet_ep_layout_t *layout_p, MPIDI_DIMMNET_blocks_t **blocks_p)
{
    uint32_t origin;
    MPIR_Datatype *type;
    if (likely(!dnet_ep_wants_layout(MPIDI_DIMMNET_EP(0), len, len)))
        return false;
    MPIR_Datatype_get_ptr(datatype, type);
    if (!find_origin(buf, count, type, &origin))
        return false;
    pthread_mutex_lock(&lock);
    MPIDI_DIMMNET_blocks_t *b = blocks_of(type, datatype);
    bool good = b && b->block_bytes &&
                dnet_ep_wants_layout(MPIDI_DIMMNET_EP(0), len, b->block_bytes) &&
                lay_out(b, count, layout_p);
    if (good) {
        b->users++;
        layout_p->offset = origin + (uint32_t) b->first;
        *blocks_p = b;
    }
    pthread_mutex_unlock(&lock);
    return good;
}
