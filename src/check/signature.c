/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The type signature of a buffer as a number: a polynomial in PRIME over the kinds of the basic
 * elements, so that parts are put together and repeated without walking over the elements.
 */
#include <stdlib.h>

#include "check/check.h"

#define PRIME UINT64_C(0x100000001b3)

typedef struct {
    dnet_check_signature_t is;
    uint64_t shift; /* PRIME to the power of elements */
} part_t;

static const part_t nothing = {{0, 0}, 1};

static part_t joined(part_t a, part_t b)
{
    return (part_t){{a.is.elements + b.is.elements, a.is.hash * b.shift + b.is.hash},
                    a.shift * b.shift};
}

static part_t repeated(part_t a, uint64_t times)
{
    part_t all = nothing;
    for (; times; times >>= 1, a = joined(a, a))
        if (times & 1)
            all = joined(all, a);
    return all;
}

/* Types of one size and class may stand for each other, as int and MPI_INT32_T do on all machines
 * of a job. */
static uint64_t kind_of(MPI_Datatype type)
{
    const MPI_Datatype real[] = {MPI_FLOAT, MPI_DOUBLE,           MPI_LONG_DOUBLE,
                                 MPI_REAL,  MPI_DOUBLE_PRECISION, MPI_REAL4,
                                 MPI_REAL8};
    const MPI_Datatype complex[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
                                    MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX};
    enum { INTEGER = 1, REAL, COMPLEX };
    uint64_t class = INTEGER;
    int size;
    PMPI_Type_size(type, &size);
    for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
        class = type == real[i] ? REAL : class;
    for (size_t i = 0; i < sizeof(complex) / sizeof(complex[0]); i++)
        class = type == complex[i] ? COMPLEX : class;
    return class << 32 | (uint32_t) size;
}

static part_t element(MPI_Datatype type)
{
    uint64_t kind = kind_of(type);
    return (part_t){{1, kind}, PRIME};
}

/* A type that is not made of others, or one of the pairs, which are as if they were (MPI 4.0,
 * 6.9.4). */
static part_t named(MPI_Datatype type)
{
    const struct {
        MPI_Datatype pair, of[2];
    } pairs[] = {
        {MPI_FLOAT_INT, {MPI_FLOAT, MPI_INT}},
        {MPI_DOUBLE_INT, {MPI_DOUBLE, MPI_INT}},
        {MPI_LONG_INT, {MPI_LONG, MPI_INT}},
        {MPI_2INT, {MPI_INT, MPI_INT}},
        {MPI_SHORT_INT, {MPI_SHORT, MPI_INT}},
        {MPI_LONG_DOUBLE_INT, {MPI_LONG_DOUBLE, MPI_INT}},
        {MPI_2REAL, {MPI_REAL, MPI_REAL}},
        {MPI_2DOUBLE_PRECISION, {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION}},
        {MPI_2INTEGER, {MPI_INTEGER, MPI_INTEGER}},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (type == pairs[i].pair)
            return joined(element(pairs[i].of[0]), element(pairs[i].of[1]));
    return element(type);
}

static part_t part_of(MPI_Datatype type);

static part_t made_of(int combiner, const MPI_Count *n, const MPI_Datatype *type,
                      MPI_Datatype whole)
{
    uint64_t times = 1;
    switch (combiner) {
        case MPI_COMBINER_CONTIGUOUS:
            times = (uint64_t) n[0];
            break;
        case MPI_COMBINER_VECTOR:
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_INDEXED_BLOCK:
        case MPI_COMBINER_HINDEXED_BLOCK:
            times = (uint64_t) n[0] * (uint64_t) n[1];
            break;
        case MPI_COMBINER_INDEXED:
        case MPI_COMBINER_HINDEXED:
            times = 0;
            for (MPI_Count i = 1; i <= n[0]; i++)
                times += (uint64_t) n[i];
            break;
        case MPI_COMBINER_SUBARRAY:
            for (MPI_Count i = 0; i < n[0]; i++)
                times *= (uint64_t) n[1 + n[0] + i];
            break;
        case MPI_COMBINER_DARRAY: {
            MPI_Count all, one;
            PMPI_Type_size_x(whole, &all);
            PMPI_Type_size_x(type[0], &one);
            times = one ? (uint64_t) (all / one) : 0;
            break;
        }
        case MPI_COMBINER_STRUCT: {
            part_t all = nothing;
            for (MPI_Count i = 0; i < n[0]; i++)
                all = joined(all, repeated(part_of(type[i]), (uint64_t) n[1 + i]));
            return all;
        }
        default: /* a duplicate, or another extent */
            break;
    }
    return repeated(part_of(type[0]), times);
}

/* Numbers of a type's arguments, as the call that made it has them. */
typedef struct {
    MPI_Count integers, addresses, large, types;
    int combiner;
} envelope_t;

static envelope_t envelope_of(MPI_Datatype type)
{
    envelope_t e;
    PMPI_Type_get_envelope_c(type, &e.integers, &e.addresses, &e.large, &e.types, &e.combiner);
    return e;
}

/* A type that was not made of others, and that nobody may free. */
static bool is_basic(const envelope_t *e)
{
    return e->types == 0 && e->combiner != MPI_COMBINER_STRUCT;
}

/* The counts among the arguments: integers, or with a large-count call behind the dimensions. */
static void put_counts(const envelope_t *e, MPI_Count *n, const int *integer,
                       const MPI_Count *large)
{
    MPI_Count used = e->large == 0 ? e->integers : e->integers != 0;
    for (MPI_Count i = 0; i < used; i++)
        n[i] = integer[i];
    for (MPI_Count i = 0; i < e->large; i++)
        n[used + i] = large[i];
}

static part_t part_of(MPI_Datatype type)
{
    envelope_t e = envelope_of(type);
    if (is_basic(&e))
        return named(type);
    MPI_Count *n = malloc(sizeof(*n) * (size_t) (e.integers + e.large + 1));
    MPI_Count *large = malloc(sizeof(*large) * (size_t) (e.large + 1));
    int *integer = malloc(sizeof(*integer) * (size_t) (e.integers + 1));
    MPI_Aint *at = malloc(sizeof(*at) * (size_t) (e.addresses + 1));
    MPI_Datatype *of = malloc(sizeof(*of) * (size_t) (e.types + 1));
    part_t part = nothing;
    if (n && large && integer && at && of) {
        PMPI_Type_get_contents_c(type, e.integers, e.addresses, e.large, e.types, integer, at,
                                 large, of);
        put_counts(&e, n, integer, large);
        part = made_of(e.combiner, n, of, type);
        for (MPI_Count i = 0; i < e.types; i++) {
            envelope_t inner = envelope_of(of[i]);
            if (!is_basic(&inner))
                PMPI_Type_free(&of[i]);
        }
    }
    free(n);
    free(large);
    free(integer);
    free(at);
    free(of);
    return part;
}

dnet_check_signature_t dnet_check_signature(MPI_Aint count, MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL || type == MPI_PACKED || count < 0)
        return DNET_CHECK_ANY;
    return repeated(part_of(type), (uint64_t) count).is;
}
