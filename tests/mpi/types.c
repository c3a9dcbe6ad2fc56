/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types with gaps, with a lower bound of their own, absolute addresses, no bytes at all: sent and
 * received at sizes from some bytes to megabytes, matched with other types of the same signature,
 * truncated, and freed while the transfer is under way.
 */
#include "check.h"

/* Every other int of `n` pairs. */
static MPI_Datatype strided(int n)
{
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void vectors(int n)
{
    int *out = check_alloc(2 * n * sizeof(int)), *in = check_alloc(2 * n * sizeof(int));
    for (int i = 0; i < 2 * n; i++) {
        out[i] = 3 * i + n;
        in[i] = -1;
    }
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Datatype type = strided(n);
    int other = 1 - rank, count;
    /* Gaps to gaps, freed before completion. */
    MPI_Irecv(in, 1, type, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, type, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&type);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    CHECK(count == n, "%d ints of %d", count, n);
    for (int i = 0; i < n; i++)
        if (in[2 * i] != out[2 * i] || in[2 * i + 1] != -1) {
            CHECK(0, "vector of %d differs at %d", n, i);
            break;
        }
    /* Gaps to contiguous, and back, synchronously. */
    type = strided(n);
    int *flat = check_alloc(n * sizeof(int));
    if (rank == 0) {
        MPI_Ssend(out, 1, type, 1, 2, MPI_COMM_WORLD);
        MPI_Recv(in, 1, type, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            if (in[2 * i] != out[2 * i] + 1) {
                CHECK(0, "vector of %d came back different at %d", n, i);
                break;
            }
    } else {
        MPI_Recv(flat, n, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            flat[i]++;
        MPI_Ssend(flat, n, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Type_free(&type);
    free(flat);
    free(out);
    free(in);
}

static void truncated(int n)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int *data = check_alloc(2 * n * sizeof(int));
    MPI_Datatype whole = strided(n), half = strided(n / 2);
    for (int i = 0; i < 2 * n; i++)
        data[i] = rank ? -1 : i;
    if (rank == 0) {
        MPI_Send(data, 1, whole, 1, 0, comm);
        MPI_Send(data, 1, half, 1, 1, comm);
    } else {
        MPI_Status status;
        int class, count;
        MPI_Error_class(MPI_Recv(data, 1, half, 0, 0, comm, &status), &class);
        CHECK(class == MPI_ERR_TRUNCATE, "%d ints into %d: error class %d", n, n / 2, class);
        for (int i = 0; i < n / 2; i++)
            if (data[2 * i] != 2 * i) {
                CHECK(0, "truncated vector of %d differs at %d", n, i);
                break;
            }
        for (int i = 1; i < 2 * n; i += 2)
            if (data[i] != -1) {
                CHECK(0, "gap %d of a truncated vector was written", i);
                break;
            }
        CHECK(data[n] == -1 || n % 2, "a truncated vector wrote behind its end");
        /* Less than the type has room for is no error. */
        MPI_Recv(data, 1, whole, 0, 1, comm, &status);
        MPI_Get_elements(&status, whole, &count);
        CHECK(count == n / 2, "%d elements of %d", count, n / 2);
    }
    MPI_Type_free(&whole);
    MPI_Type_free(&half);
    MPI_Comm_free(&comm);
    free(data);
}

/* A struct whose first byte is not where it starts: lower bound negative, true lower bound
 * positive. */
static void bounds(void)
{
    struct {
        char before[8];
        double d;
        char c[3];
        int i;
    } data[5];
    int lengths[] = {1, 3, 1};
    MPI_Aint at[] = {8, 16, 20};
    MPI_Datatype parts[] = {MPI_DOUBLE, MPI_CHAR, MPI_INT}, packed, type;
    MPI_Type_create_struct(3, lengths, at, parts, &packed);
    MPI_Type_create_resized(packed, -16, sizeof(data[0]), &type);
    MPI_Type_commit(&type);
    memset(data, 0x55, sizeof(data));
    if (rank == 0) {
        for (int k = 0; k < 5; k++) {
            data[k].d = k + 0.5;
            memcpy(data[k].c, "abc", 3);
            data[k].i = k;
        }
        MPI_Send(data, 5, type, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(data, 5, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < 5; k++)
            CHECK(data[k].d == k + 0.5 && !memcmp(data[k].c, "abc", 3) && data[k].i == k &&
                      data[k].before[0] == 0x55 && data[k].before[7] == 0x55,
                  "struct %d differs", k);
    }
    MPI_Type_free(&packed);
    MPI_Type_free(&type);
    /* Contiguous, but not from the buffer's start. */
    int numbers[10] = {0};
    int one = 4, shift = 6;
    MPI_Type_indexed(1, &one, &shift, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 10; i++)
        numbers[i] = rank ? 0 : i;
    if (rank == 0)
        MPI_Send(numbers, 1, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(numbers, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 6; i < 10; i++)
        CHECK(numbers[i] == i, "shifted int %d is %d", i, numbers[i]);
    CHECK(numbers[0] == 0 && numbers[5] == (rank ? 0 : 5),
          "a shifted receive wrote before its place");
    MPI_Type_free(&type);
}

static void absolute(void)
{
    int a = rank ? 0 : 11, b = rank ? 0 : 22;
    double c[3] = {rank ? 0 : 1.5, rank ? 0 : 2.5, rank ? 0 : 3.5};
    int lengths[] = {1, 1, 3};
    MPI_Aint at[3];
    MPI_Datatype parts[] = {MPI_INT, MPI_INT, MPI_DOUBLE}, type;
    MPI_Get_address(&a, &at[0]);
    MPI_Get_address(&b, &at[1]);
    MPI_Get_address(c, &at[2]);
    MPI_Type_create_struct(3, lengths, at, parts, &type);
    MPI_Type_commit(&type);
    if (rank == 0)
        MPI_Send(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(MPI_BOTTOM, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(a == 11 && b == 22 && c[0] == 1.5 && c[2] == 3.5, "absolute addresses: %d %d %g %g", a, b,
          c[0], c[2]);
    MPI_Type_free(&type);
}

static void empty(void)
{
    MPI_Datatype type;
    MPI_Status status;
    int count;
    MPI_Type_vector(0, 3, 7, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int n = 0; n < 3; n++) {
        if (rank == 0) {
            MPI_Send(NULL, n, type, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(NULL, n, type, 0, 0, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK(count == 0, "%d bytes of an empty type", count);
        }
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    static const int counts[] = {1, 5, 12, 13, 100, 1000, 4096, 20000, 300000};
    for (int i = 0; i < (int) (sizeof(counts) / sizeof(*counts)); i++)
        vectors(counts[i]);
    truncated(10);
    truncated(5000);
    truncated(200000);
    bounds();
    absolute();
    empty();
    return check_end();
}
