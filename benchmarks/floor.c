/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The floor under every latency on one host: two processes, each bound to a processor of its own,
 * that answer each other's flag, a cache line each way.  Prints the median time of one way in ns.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 25, TURNS = 20000 };

typedef struct {
    _Alignas(128) atomic_uint ping;
    _Alignas(128) atomic_uint pong;
} flags_t;

static void bind_to(const cpu_set_t *may, unsigned nth)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, may) || nth-- != 0)
            continue;
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* Who asks may be killed, and nobody would end this one then. */
static void answer(flags_t *flags, pid_t asker)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != asker)
        _exit(1);
    for (unsigned i = 1; i <= REPEATS * TURNS; i++) {
        while (atomic_load_explicit(&flags->ping, memory_order_acquire) != i)
            ;
        atomic_store_explicit(&flags->pong, i, memory_order_release);
    }
    _exit(0);
}

int main(void)
{
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof(may), &may) != 0 || CPU_COUNT(&may) < 2) {
        fprintf(stderr, "floor: wants two processors\n");
        return 1;
    }
    flags_t *flags =
        mmap(NULL, sizeof(*flags), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flags == MAP_FAILED) {
        perror("floor: mmap");
        return 1;
    }
    pid_t asker = getpid(), other = fork();
    if (other < 0) {
        perror("floor: fork");
        return 1;
    }
    bind_to(&may, other == 0);
    if (other == 0)
        answer(flags, asker);
    double one_way_ns[REPEATS];
    unsigned i = 0;
    for (int r = 0; r < REPEATS; r++) {
        double start = now_ns();
        for (int turn = 0; turn < TURNS; turn++) {
            atomic_store_explicit(&flags->ping, ++i, memory_order_release);
            while (atomic_load_explicit(&flags->pong, memory_order_acquire) != i)
                ;
        }
        one_way_ns[r] = (now_ns() - start) / TURNS / 2;
    }
    waitpid(other, NULL, 0);
    qsort(one_way_ns, REPEATS, sizeof(*one_way_ns), ascending);
    printf("%.1f\n", one_way_ns[REPEATS / 2]);
    return 0;
}
