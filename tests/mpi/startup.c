/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last rank of a node opens the segment that its ranks share 1 s late; the others, which wait
 * for it in MPI_Init, sleep meanwhile.
 *
 * The function that is late is defined here: the library's calls find it.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MOST \
    0.12 /* part of its time that a rank may have a processor; 0.015 of it if it sleeps */

static bool is_last, is_late;

static int open_late(const char *path, int flags, int mode)
{
    bool is_segment = strncmp(path, "/proc/", 6) == 0 ? strstr(path, "/fd/") != NULL
                                                      : strstr(path, "mpich_shar") != NULL;
    if (is_last && is_segment && !is_late) {
        is_late = true;
        sleep(1);
    }
    return openat(AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return open_late(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    is_last = atoi(getenv("PMI_RANK")) == atoi(getenv("PMI_SIZE")) - 1;
    double start = seconds(CLOCK_MONOTONIC), start_busy = seconds(CLOCK_PROCESS_CPUTIME_ID);
    check_begin(&argc, &argv);
    double took = seconds(CLOCK_MONOTONIC) - start;
    double busy = seconds(CLOCK_PROCESS_CPUTIME_ID) - start_busy;
    CHECK(!is_last || is_late, "the last rank was not late");
    CHECK(took > 0.9, "MPI_Init took %.2f s", took);
    CHECK(busy < BUSY_MOST * took, "had a processor for %.2f of %.2f s", busy, took);
    printf("rank %d: %.2f s, a processor for %.3f s\n", rank, took, busy);
    return check_end();
}
