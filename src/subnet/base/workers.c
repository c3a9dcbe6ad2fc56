/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work on all processors (workers.h).
 */
#include "subnet/base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct crew {
    void (*work)(void *arg, int worker, int item);
    void *arg;
    int n;
    atomic_int next; /* the first item that nobody has taken */
} crew_t;

typedef struct worker {
    crew_t *crew;
    int number;
    pthread_t thread;
} worker_t;

static void *take_items(void *context)
{
    worker_t *w = context;
    crew_t *c = w->crew;
    for (int item; (item = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed)) < c->n;)
        c->work(c->arg, w->number, item);
    return NULL;
}

int dnet_workers(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n < DNET_WORKERS_MAX ? n : DNET_WORKERS_MAX;
}

void dnet_workers_run(int n, int threads, void (*work)(void *arg, int worker, int item), void *arg)
{
    crew_t crew = {.work = work, .arg = arg, .n = n};
    worker_t w[DNET_WORKERS_MAX];
    int others = 1;
    for (int i = 0; i < DNET_WORKERS_MAX; i++)
        w[i] = (worker_t){.crew = &crew, .number = i};
    /* Without a thread its share is done by those there are. */
    while (others < threads && others < n &&
           pthread_create(&w[others].thread, NULL, take_items, &w[others]) == 0)
        others++;
    take_items(&w[0]);
    while (--others > 0)
        pthread_join(w[others].thread, NULL);
}
