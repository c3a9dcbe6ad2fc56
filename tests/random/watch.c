/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank counts what it has finished, in a file that all map.  A thread of each rank looks at
 * all counts; when none has changed for the limit, it prints where the threads of its rank are,
 * asks the library who waits for whom (SIGUSR2), and ends the process.
 */
#include "random.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 250
#define DUMP_S 3 /* for all ranks to see it, and to print */

typedef struct {
    _Atomic uint64_t done;
    uint64_t unused[7];
} count_t;

typedef struct {
    int step, of, peer;
    const char *what;
} place_t;

static count_t own_count;
static count_t *counts = &own_count; /* of all ranks */
static count_t *mine = &own_count;
static place_t places[THREADS_MAX];
static int job_size = 1, job_rank, limit;
static uint64_t job_seed;

void at(player_t *p, const char *what, int of, int peer)
{
    places[p->thread] = (place_t){p->step, of, peer, what};
}

void progressed(player_t *p)
{
    (void) p;
    atomic_fetch_add_explicit(&mine->done, 1, memory_order_relaxed);
}

static uint64_t all_done(void)
{
    uint64_t done = 0;
    for (int i = 0; i < job_size; i++)
        done += atomic_load_explicit(&counts[i].done, memory_order_relaxed);
    return done;
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void print_places(void)
{
    char text[1024];
    size_t used = 0;
    for (int i = 0; i < THREADS_MAX && used < sizeof(text); i++)
        if (places[i].what)
            used += (size_t) snprintf(text + used, sizeof(text) - used,
                                      "random: rank %d thread %d: step %d, %s, item %d, peer %d\n",
                                      job_rank, i, places[i].step, places[i].what, places[i].of,
                                      places[i].peer);
    fprintf(stderr, "random: seed %llu rank %d: no progress for %d s\n%s",
            (unsigned long long) job_seed, job_rank, limit, text);
}

static void *watch(void *arg)
{
    (void) arg;
    uint64_t seen = 0;
    for (int idle_ms = 0; idle_ms < limit * 1000; idle_ms += LOOK_MS) {
        sleep_ms(LOOK_MS);
        uint64_t done = all_done();
        if (done != seen)
            idle_ms = 0;
        seen = done;
    }
    print_places();
    kill(getpid(), SIGUSR2);
    sleep_ms(1000 * DUMP_S);
    _exit(3);
}

void differs(player_t *p, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const place_t *place = &places[p->thread];
    fprintf(stderr, "random: seed %llu rank %d thread %d step %d, %s, item %d, peer %d: %s\n",
            (unsigned long long) p->seed, p->rank, p->thread, p->step, place->what, place->of,
            place->peer, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void expect_ok(player_t *p, int code, const char *what)
{
    if (code == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    if (MPI_Error_string(code, text, &len) != MPI_SUCCESS)
        snprintf(text, sizeof(text), "error code %d, of which MPI knows nothing", code);
    differs(p, "%s: %s", what, text);
}

void watch_start(const char *shared, int rank, int size, uint64_t seed, int limit_s)
{
    pthread_t thread;
    job_seed = seed;
    job_rank = rank;
    limit = limit_s;
    int fd = shared ? open(shared, O_RDWR | O_CREAT, 0600) : -1;
    size_t bytes = (size_t) size * sizeof(count_t);
    if (fd >= 0 && ftruncate(fd, (off_t) bytes) == 0) {
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            counts = map;
            job_size = size;
            mine = &counts[rank];
        }
    }
    if (fd >= 0)
        close(fd);
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
}
