/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_vector.h"
#include "dimmnet_board.h"

static inline MPI_Datatype type_of(const MPIDI_DIMMNET_vector_t *v, int r)
{
    return v->types ? v->types[r] : v->type;
}

static inline void *block_of(const MPIDI_DIMMNET_vector_t *v, int r)
{
    return v->types ? (char *) v->buf + v->displs[r]
                    : MPIDI_DIMMNET_block_of(v->buf, 1, v->displs[r], v->type);
}

/* A block of nothing may have no type. */
static inline bool has_type(const MPIDI_DIMMNET_vector_t *v, int r)
{
    return !v->types || v->counts[r];
}

/* Types of the program's own may be freed before it has come. */
static void keep_types(MPIDI_DIMMNET_board_blocks_t *x)
{
    x->has_types = true;
    for (int r = 0; r < (x->of.types ? x->of.size : 1); r++)
        if (has_type(&x->of, r))
            MPIR_Datatype_add_ref_if_not_builtin(type_of(&x->of, r));
}

static void release_types(MPIDI_DIMMNET_board_blocks_t *x)
{
    for (int r = 0; x->has_types && r < (x->of.types ? x->of.size : 1); r++)
        if (has_type(&x->of, r))
            MPIR_Datatype_release_if_not_builtin(type_of(&x->of, r));
}

/* Copies of the program's lists, which are its own or MPI's only until the call returns; behind
 * room for so many numbers. */
static void copy_lists(MPIDI_DIMMNET_vector_t *v, MPI_Aint *to)
{
    const size_t size = (size_t) v->size;
    v->counts = memcpy(to, v->counts, size * sizeof(*to));
    if (v->displs)
        v->displs = memcpy(to + size, v->displs, size * sizeof(*to));
    if (v->types)
        v->types = memcpy(to + 2 * size, v->types, size * sizeof(*v->types));
}

/* Lengths and places, in bytes, of blocks with types of their own.  @return have none of them gaps?
 */
static bool in_bytes(const MPIDI_DIMMNET_vector_t *v, MPI_Aint *lengths, MPI_Aint *places)
{
    bool without_gaps = true;
    for (int r = 0; r < v->size; r++) {
        int contig = 1;
        size_t len = 0;
        MPI_Aint true_lb = 0;
        if (has_type(v, r))
            MPIDI_Datatype_check_contig_size_lb(v->types[r], v->counts[r], contig, len, true_lb);
        lengths[r] = (MPI_Aint) len;
        places[r] = v->displs[r] + true_lb;
        without_gaps &= contig || !len;
    }
    return without_gaps;
}

static int pack(MPIDI_DIMMNET_board_blocks_t *x, bool gives)
{
    const MPIDI_DIMMNET_vector_t *v = &x->of;
    const size_t len =
        dnet_blocks_before(&x->lie.blocks, (uint32_t) v->size) * x->lie.element_bytes;
    int mpi_errno = MPI_SUCCESS;
    x->lie.blocks.places = NULL;
    if (!(x->lie.at = x->packed = MPL_malloc(MPL_MAX(len, 1), MPL_MEM_BUFFER)))
        return MPIDI_DIMMNET_error_no_memory(len);
    char *to = x->packed;
    for (int r = 0; r < v->size && gives && mpi_errno == MPI_SUCCESS; r++) {
        MPI_Aint packed, bytes = (MPI_Aint) dnet_block_bytes(&x->lie, (uint32_t) r);
        if (bytes)
            mpi_errno = MPIR_Typerep_pack(block_of(v, r), v->counts[r], type_of(v, r), 0, to, bytes,
                                          &packed);
        to += bytes;
    }
    return mpi_errno;
}

int MPIDI_DIMMNET_board_blocks_begin(MPIDI_DIMMNET_board_blocks_t *x,
                                     const MPIDI_DIMMNET_vector_t *of, unsigned flags)
{
    const size_t size = (size_t) of->size;
    const bool lasts = flags & MPIDI_DIMMNET_VECTOR_LASTS;
    const size_t numbers = (of->types ? 2 * size : 0) + (lasts ? 2 * size : 0);
    bool without_gaps = true;
    *x = (MPIDI_DIMMNET_board_blocks_t){.of = *of};
    if (numbers) {
        size_t bytes =
            numbers * sizeof(MPI_Aint) + (lasts && of->types ? size * sizeof(MPI_Datatype) : 0);
        if (!(x->lists = MPL_malloc(bytes, MPL_MEM_COLL)))
            return MPIDI_DIMMNET_error_no_memory(bytes);
    }
    MPI_Aint *lists = x->lists;
    if (of->types) {
        x->lie = (dnet_blocks_at_t){(void *) of->buf, {lists, lists + size, 0}, 1};
        without_gaps = in_bytes(&x->of, lists, lists + size);
        lists += 2 * size;
    }
    if (lasts)
        copy_lists(&x->of, lists);
    if (!of->types) {
        MPI_Aint element;
        size_t len;
        MPIR_Datatype_get_size_macro(of->type, element);
        x->lie = (dnet_blocks_at_t){NULL, {x->of.counts, x->of.displs, 0}, (size_t) element};
        const size_t total = dnet_blocks_before(&x->lie.blocks, (uint32_t) of->size);
        x->lie.at = MPIDI_DIMMNET_contiguous(of->buf, (MPI_Aint) total, of->type, &len);
        without_gaps = x->lie.at || !len;
    }
    if (without_gaps && !(flags & MPIDI_DIMMNET_VECTOR_APART))
        return MPI_SUCCESS;
    if (lasts)
        keep_types(x);
    return pack(x, flags & MPIDI_DIMMNET_VECTOR_GIVES);
}

static int unpack(const MPIDI_DIMMNET_board_blocks_t *x)
{
    const char *from = x->packed;
    int mpi_errno = MPI_SUCCESS;
    for (int r = 0; r < x->of.size && mpi_errno == MPI_SUCCESS; r++) {
        const size_t bytes = dnet_block_bytes(&x->lie, (uint32_t) r);
        if (bytes)
            mpi_errno = MPIDI_DIMMNET_unpack(from, bytes, block_of(&x->of, r), x->of.counts[r],
                                             type_of(&x->of, r));
        from += bytes;
    }
    return mpi_errno;
}

int MPIDI_DIMMNET_board_blocks_end(MPIDI_DIMMNET_board_blocks_t *x, bool has_come)
{
    int mpi_errno = has_come && x->packed ? unpack(x) : MPI_SUCCESS;
    release_types(x);
    MPL_free(x->packed);
    MPL_free(x->lists);
    return mpi_errno;
}
