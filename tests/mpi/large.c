/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of more than 4 GiB, with counts above 2^31 and with counts of a large type: their bytes,
 * what MPI_Probe and the status say of them, and what follows them.  The buffers are large ranges
 * of addresses that repeat a few pages, so that little memory is needed.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"

#define REPEAT ((size_t) 32 << 20)
#define WHOLE ((size_t) 4 << 30) /* bytes of the part that repeats */
#define REST ((size_t) 70000)    /* and of what follows it */
#define BLOCK ((size_t) 1 << 20)

/* The byte at a place of the part that repeats. */
static uint8_t byte_at(size_t place)
{
    return (uint8_t) (place % REPEAT * 31 >> 3);
}

static uint8_t rest_at(size_t place)
{
    return (uint8_t) (place * 7 + 5);
}

static uint8_t *range(void)
{
    int fd = memfd_create("dimmnet-large", 0);
    uint8_t *base = mmap(NULL, WHOLE + REST, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(fd >= 0 && ftruncate(fd, (off_t) REPEAT) == 0 && base != MAP_FAILED, "no buffer");
    for (size_t at = 0; at < WHOLE; at += REPEAT)
        if (mmap(base + at, REPEAT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED) {
            fprintf(stderr, "rank %d: no buffer\n", rank);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    close(fd);
    return base;
}

static void fill(uint8_t *base)
{
    for (size_t i = 0; i < REPEAT; i++)
        base[i] = byte_at(i);
    for (size_t i = 0; i < REST; i++)
        base[WHOLE + i] = rest_at(i);
}

static void compare(const uint8_t *base, const char *what)
{
    size_t wrong = 0;
    for (size_t i = 0; i < REPEAT; i++)
        wrong += base[i] != byte_at(i);
    for (size_t i = 0; i < REST; i++)
        wrong += base[WHOLE + i] != rest_at(i);
    CHECK(wrong == 0, "%s: %zu bytes differ", what, wrong);
}

static void check_status(const MPI_Status *status, const char *what)
{
    MPI_Count bytes = 0, elements = 0;
    MPI_Get_count_c(status, MPI_BYTE, &bytes);
    MPI_Get_elements_x(status, MPI_BYTE, &elements);
    CHECK(bytes == (MPI_Count) (WHOLE + REST) && elements == bytes, "%s: %lld bytes, %lld elements",
          what, (long long) bytes, (long long) elements);
}

/* A count above 2^31. */
static void by_count(uint8_t *base)
{
    MPI_Status status;
    int behind = 17;
    if (rank == 0) {
        MPI_Send_c(base, (MPI_Count) (WHOLE + REST), MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&behind, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        memset(base, 0, REPEAT);
        memset(base + WHOLE, 0, REST);
        MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
        check_status(&status, "MPI_Probe");
        MPI_Recv_c(base, (MPI_Count) (WHOLE + REST), MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        check_status(&status, "MPI_Recv_c");
        compare(base, "MPI_Recv_c");
        behind = 0;
        MPI_Recv(&behind, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(behind == 17, "%d behind the large message", behind);
    }
}

/* A small count of a large type, and a receive that waits for it. */
static void by_type(uint8_t *base)
{
    MPI_Datatype block, all;
    MPI_Status status;
    MPI_Request request;
    int lengths[2] = {(int) (WHOLE / BLOCK), (int) REST};
    MPI_Aint places[2] = {0, (MPI_Aint) WHOLE};
    MPI_Type_contiguous((int) BLOCK, MPI_BYTE, &block);
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){block, MPI_BYTE}, &all);
    MPI_Type_commit(&all);
    if (rank == 1) {
        memset(base, 0, REPEAT);
        memset(base + WHOLE, 0, REST);
        MPI_Irecv(base, 1, all, 0, 2, MPI_COMM_WORLD, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Send(base, 1, all, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Wait(&request, &status);
        check_status(&status, "MPI_Wait");
        compare(base, "MPI_Wait");
    }
    MPI_Type_free(&block);
    MPI_Type_free(&all);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    uint8_t *base = range();
    if (rank == 0)
        fill(base);
    by_count(base);
    by_type(base);
    munmap(base, WHOLE + REST);
    return check_end();
}
