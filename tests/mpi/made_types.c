/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types that a program makes: distributed arrays against their definition, MPI_Get_elements, and
 * external32 against bytes that are written out; by the calls with large counts, which are to say
 * the same as those without.
 */
#include "check.h"
#include <wchar.h>

enum { ROWS = 5, COLUMNS = 7, GRID = 2, ALL = ROWS * COLUMNS };

/* ---- distributed arrays ---- */

typedef struct {
    int kind, blocks; /* as MPI_Type_create_darray takes them */
} distribution_t;

/* Does the process at a place of one dimension of the grid have an index of that dimension? */
static int owns(distribution_t d, int extent, int procs, int place, int index)
{
    if (d.kind == MPI_DISTRIBUTE_NONE)
        return 1;
    if (d.kind == MPI_DISTRIBUTE_BLOCK)
        return index / ((extent + procs - 1) / procs) == place;
    return index / (d.blocks == MPI_DISTRIBUTE_DFLT_DARG ? 1 : d.blocks) % procs == place;
}

static void distributed(const distribution_t d[2], int order, int large)
{
    const int sizes[2] = {ROWS, COLUMNS}, kinds[2] = {d[0].kind, d[1].kind};
    const int blocks[2] = {d[0].blocks, d[1].blocks};
    const MPI_Count large_sizes[2] = {ROWS, COLUMNS};
    int procs[2];
    for (int k = 0; k < 2; k++)
        procs[k] = kinds[k] == MPI_DISTRIBUTE_NONE ? 1 : GRID;
    for (int r = 0; r < procs[0] * procs[1]; r++) {
        int all[ALL], due[ALL], packed[ALL], n = 0, first = -1, differs = 0;
        MPI_Count position = 0, lowest, extent;
        MPI_Datatype type;
        for (int i = 0; i < ALL; i++) {
            int row = order == MPI_ORDER_C ? i / COLUMNS : i % ROWS;
            int column = order == MPI_ORDER_C ? i % COLUMNS : i / ROWS;
            all[i] = i + 1;
            if (owns(d[0], ROWS, procs[0], r / procs[1], row) &&
                owns(d[1], COLUMNS, procs[1], r % procs[1], column)) {
                first = first < 0 ? i : first;
                due[n++] = i + 1;
            }
        }
        if (large)
            MPI_Type_create_darray_c(procs[0] * procs[1], r, 2, large_sizes, kinds, blocks, procs,
                                     order, MPI_INT, &type);
        else
            MPI_Type_create_darray(procs[0] * procs[1], r, 2, sizes, kinds, blocks, procs, order,
                                   MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Pack_c(all, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            differs += packed[i] != due[i];
        CHECK(position == n * (MPI_Count) sizeof(int) && !differs,
              "part %d of %d x %d, order %d: %d bytes for %d ints, %d differ", r, procs[0],
              procs[1], order, (int) position, n, differs);
        MPI_Type_get_true_extent_c(type, &lowest, &extent);
        CHECK(n == 0 || lowest == first * (MPI_Count) sizeof(int),
              "part %d begins at %d, not %d ints", r, (int) lowest, first);
        MPI_Type_free(&type);
    }
}

/* ---- MPI_Get_elements ---- */

static void check_elements(const char *what, MPI_Datatype *type, int bytes, int due)
{
    MPI_Status status;
    MPI_Count large;
    int elements;
    memset(&status, 0, sizeof(status));
    MPI_Status_set_elements(&status, MPI_BYTE, bytes);
    MPI_Type_commit(type);
    MPI_Get_elements(&status, *type, &elements);
    MPI_Get_elements_c(&status, *type, &large);
    CHECK(elements == due && large == due, "%d bytes of %s are %d elements, not %d", bytes, what,
          elements, due);
}

/* n1 of a, and n2 of b behind all of them. */
static MPI_Datatype pair(int n1, MPI_Datatype a, int n2, MPI_Datatype b)
{
    MPI_Aint lowest, extent;
    MPI_Datatype type;
    MPI_Type_get_extent(a, &lowest, &extent);
    MPI_Type_create_struct_c(2, (MPI_Count[]){n1, n2}, (MPI_Count[]){0, n1 * extent},
                             (MPI_Datatype[]){a, b}, &type);
    return type;
}

static void elements(void)
{
    MPI_Datatype same = pair(1, MPI_INT, 1, MPI_FLOAT), ints = pair(1, MPI_INT, 1, MPI_INT);
    MPI_Datatype mixed = pair(1, MPI_INT, 1, MPI_DOUBLE), inner, type;
    check_elements("{int, float}", &same, 20, 5);
    type = pair(2, ints, 1, MPI_CHAR);
    check_elements("{2 {int, int}, char}", &type, 34, 10);
    MPI_Type_free(&type);
    type = pair(1, MPI_DOUBLE_INT, 1, MPI_CHAR);
    check_elements("{MPI_DOUBLE_INT, char}", &type, 25, 5);
    MPI_Type_free(&type);
    MPI_Type_vector_c(3, 2, 4, mixed, &inner);
    type = pair(1, inner, 1, MPI_CHAR);
    check_elements("{vector, char}", &type, 73 + 16, 16);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, (int[]){4, 4}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, mixed,
                             &inner);
    type = pair(1, inner, 1, MPI_CHAR);
    check_elements("{subarray, char}", &type, 146, 26);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
    MPI_Type_create_darray(2, 1, 1, (int[]){6}, (int[]){MPI_DISTRIBUTE_BLOCK},
                           (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2}, MPI_ORDER_C, mixed,
                           &type);
    check_elements("darray", &type, 28, 5);
    MPI_Type_free(&type);
    MPI_Type_free(&same);
    MPI_Type_free(&ints);
    MPI_Type_free(&mixed);
}

/* ---- a gap that lower bounds hide ---- */

static void hidden_gap(void)
{
    const int in[4] = {1, 2, 3, 4};
    int packed[3] = {0};
    MPI_Count position = 0;
    MPI_Datatype shifted, type;
    MPI_Type_create_resized_c(MPI_INT, -4, 4, &shifted);
    MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 12},
                           (MPI_Datatype[]){MPI_INT, shifted}, &type);
    MPI_Type_commit(&type);
    MPI_Pack_c(in, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    CHECK(position == 12 && packed[0] == 1 && packed[1] == 2 && packed[2] == 4,
          "packed %d bytes, %d %d %d", (int) position, packed[0], packed[1], packed[2]);
    MPI_Type_free(&shifted);
    MPI_Type_free(&type);
}

/* ---- external32 ---- */

static void check_external(const char *what, const void *in, size_t bytes, int n, MPI_Datatype type,
                           const void *due, int due_bytes)
{
    char packed[64] = {0}, out[64] = {0};
    MPI_Count size, position = 0;
    MPI_Type_commit(&type);
    MPI_Pack_external_size_c("external32", n, type, &size);
    MPI_Pack_external_c("external32", in, n, type, packed, sizeof(packed), &position);
    CHECK(size == due_bytes && position == due_bytes && !memcmp(packed, due, (size_t) due_bytes),
          "%s: size %d, packed %d of %d bytes", what, (int) size, (int) position, due_bytes);
    position = 0;
    MPI_Unpack_external_c("external32", due, due_bytes, &position, out, n, type);
    CHECK(position == due_bytes && !memcmp(in, out, bytes), "%s: unpacked %d of %d bytes", what,
          (int) position, due_bytes);
}

static void external(void)
{
    struct mixed {
        int a;
        float b;
        double c;
        short d, e;
        int f;
    } mixed[2] = {{1, 2.5f, -3, 4, -5, 0}, {6, 0, 1, 7, 8, 0}};
    const unsigned long large[2] = {3000000000ul, 1};
    const double complex_ones[2] = {1, -2};
    const int two[2] = {1, -2};
    const wchar_t wide[2] = {L'a', 0x20ac};
    MPI_Datatype type, resized;
    MPI_Type_create_struct(4, (int[]){1, 1, 1, 2}, (MPI_Aint[]){0, 4, 8, 16},
                           (MPI_Datatype[]){MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_SHORT}, &type);
    MPI_Type_create_resized_c(type, 0, sizeof(struct mixed), &resized);
    MPI_Type_commit(&resized);
    check_external("struct", mixed, sizeof(mixed), 2, resized,
                   "\0\0\0\1\x40\x20\0\0\xc0\x08\0\0\0\0\0\0\0\4\xff\xfb"
                   "\0\0\0\6\0\0\0\0\x3f\xf0\0\0\0\0\0\0\0\7\0\10",
                   40);
    check_external("unsigned long", large, sizeof(large), 2, MPI_UNSIGNED_LONG,
                   "\xb2\xd0\x5e\0\0\0\0\1", 8);
    check_external("MPI_DOUBLE_COMPLEX", complex_ones, sizeof(complex_ones), 1, MPI_DOUBLE_COMPLEX,
                   "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16);
    check_external("MPI_2INT", two, sizeof(two), 1, MPI_2INT, "\0\0\0\1\xff\xff\xff\xfe", 8);
    check_external("wchar_t", wide, sizeof(wide), 2, MPI_WCHAR, "\0a\x20\xac", 4);
    MPI_Type_free(&type);
    MPI_Type_free(&resized);
}

/* More than 32 bits count. */
static void large_sizes(void)
{
    MPI_Count size;
    MPI_Datatype type;
    MPI_Type_contiguous(1 << 30, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external_size_c("external32", 3, type, &size);
    CHECK(size == (MPI_Count) 3 << 32, "%lld bytes of external32", (long long) size);
    MPI_Pack_size_c(3, type, MPI_COMM_WORLD, &size);
    CHECK(size >= (MPI_Count) 3 << 32, "%lld bytes packed", (long long) size);
    MPI_Type_free(&type);
}

/* A type made with large counts says so, and what it was made of. */
static void contents(void)
{
    MPI_Count ints, addresses, counts, types, count[3];
    MPI_Aint address[1];
    int combiner, integer[1];
    MPI_Datatype type, made_of;
    MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &type);
    MPI_Type_get_envelope_c(type, &ints, &addresses, &counts, &types, &combiner);
    CHECK(ints == 0 && addresses == 0 && counts == 3 && types == 1 &&
              combiner == MPI_COMBINER_HVECTOR,
          "envelope: %d ints, %d addresses, %d counts, %d types", (int) ints, (int) addresses,
          (int) counts, (int) types);
    MPI_Type_get_contents_c(type, 0, 0, 3, 1, integer, address, count, &made_of);
    CHECK(count[0] == 3 && count[1] == 2 && count[2] == 20 && made_of == MPI_INT,
          "contents: %d %d %d", (int) count[0], (int) count[1], (int) count[2]);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    static const distribution_t kinds[] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG},
                                           {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG},
                                           {MPI_DISTRIBUTE_CYCLIC, 2},
                                           {MPI_DISTRIBUTE_CYCLIC, 4},
                                           {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG}};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    check_begin(&argc, &argv);
    for (int i = 0; i < KINDS * KINDS * 2; i++) {
        const distribution_t d[2] = {kinds[i / 2 / KINDS], kinds[i / 2 % KINDS]};
        distributed(d, MPI_ORDER_C, i % 2);
        distributed(d, MPI_ORDER_FORTRAN, i % 2);
    }
    elements();
    hidden_gap();
    external();
    large_sizes();
    contents();
    return check_end();
}
