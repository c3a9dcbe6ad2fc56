/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_reduce.h"

/* MPICH's loop, for what dnet_reduce_loop() does not have. */
static void reduce_any(const void *in, const void *with, void *result, size_t count,
                       const void *how)
{
    const MPIDI_DIMMNET_reduction_t *by = how;
    MPI_Aint n = (MPI_Aint) count, element;
    MPI_Datatype datatype = by->datatype;
    MPIR_Datatype_get_size_macro(datatype, element);
    if (result != with)
        memcpy(result, with, count * (size_t) element);
    MPIR_OP_HDL_TO_FN(by->op)((void *) (uintptr_t) in, result, &n, &datatype);
}

static const struct {
    MPI_Op op;
    dnet_reduce_op_t is;
} ops[] = {{MPI_SUM, DNET_REDUCE_SUM},
           {MPI_PROD, DNET_REDUCE_PROD},
           {MPI_MIN, DNET_REDUCE_MIN},
           {MPI_MAX, DNET_REDUCE_MAX}};
static const struct {
    MPI_Datatype datatype;
    dnet_reduce_type_t is;
} types[] = {
    {MPI_DOUBLE, DNET_REDUCE_OF_DOUBLE},
    {MPI_FLOAT, DNET_REDUCE_OF_FLOAT},
    {MPI_INT, DNET_REDUCE_OF_INT32},
    {MPI_LONG, DNET_REDUCE_OF_INT64},
    {MPI_CHAR, (char) -1 < 0 ? DNET_REDUCE_OF_INT8 : DNET_REDUCE_OF_UINT8},
    {MPI_INT64_T, DNET_REDUCE_OF_INT64},
    {MPI_INT32_T, DNET_REDUCE_OF_INT32},
    {MPI_UINT64_T, DNET_REDUCE_OF_UINT64},
    {MPI_UINT32_T, DNET_REDUCE_OF_UINT32},
    {MPI_LONG_LONG, DNET_REDUCE_OF_INT64},
    {MPI_UNSIGNED, DNET_REDUCE_OF_UINT32},
    {MPI_UNSIGNED_LONG, DNET_REDUCE_OF_UINT64},
    {MPI_SHORT, DNET_REDUCE_OF_INT16},
    {MPI_UNSIGNED_SHORT, DNET_REDUCE_OF_UINT16},
    {MPI_SIGNED_CHAR, DNET_REDUCE_OF_INT8},
    {MPI_UNSIGNED_CHAR, DNET_REDUCE_OF_UINT8},
    {MPI_INT8_T, DNET_REDUCE_OF_INT8},
    {MPI_UINT8_T, DNET_REDUCE_OF_UINT8},
    {MPI_INT16_T, DNET_REDUCE_OF_INT16},
    {MPI_UINT16_T, DNET_REDUCE_OF_UINT16},
    {MPI_UNSIGNED_LONG_LONG, DNET_REDUCE_OF_UINT64},
#if defined(HAVE_FORTRAN_BINDING) && SIZEOF_F77_INTEGER == 4 && SIZEOF_F77_REAL == 4 && \
    SIZEOF_F77_DOUBLE_PRECISION == 8
    {MPI_DOUBLE_PRECISION, DNET_REDUCE_OF_DOUBLE},
    {MPI_REAL, DNET_REDUCE_OF_FLOAT},
    {MPI_INTEGER, DNET_REDUCE_OF_INT32},
#endif
};

_Static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long) == 8 &&
                   sizeof(long long) == 8,
               "types[]");

dnet_reduce_fn MPIDI_DIMMNET_reduce_loop(MPI_Op op, MPI_Datatype datatype)
{
    if (!HANDLE_IS_BUILTIN(op) || !HANDLE_IS_BUILTIN(datatype) || op == MPI_REPLACE ||
        op == MPI_NO_OP)
        return NULL;
    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        for (unsigned j = 0; op == ops[i].op && j < sizeof(types) / sizeof(types[0]); j++)
            if (datatype == types[j].datatype)
                return dnet_reduce_loop(ops[i].is, types[j].is);
    return reduce_any;
}

/* Of fewer elements MPICH's own loop is as fast. */
#define LOCAL_LEAST 32

bool MPIDI_DIMMNET_reduce_local(const void *in, void *inout, MPI_Aint count, MPI_Datatype datatype,
                                MPI_Op op)
{
    dnet_reduce_fn loop = count < LOCAL_LEAST ? NULL : MPIDI_DIMMNET_reduce_loop(op, datatype);
    if (!loop || loop == reduce_any)
        return false;
    loop(in, inout, inout, (size_t) count, NULL);
    return true;
}
