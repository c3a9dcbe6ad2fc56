/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job for stat.sh to look at: three processes.  Rank 1 has become a frequent partner of rank 0,
 * and is stopped by it.  Rank 0 prints the process of each rank, does nothing until a line comes on
 * stdin, and then receives.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/endpoint/job.h"

enum { CONTEXT = 1, WARM = 1000, BULK = 100, LEN = 3000, RANKS = 3, TIMEOUT_S = 60 };

typedef struct {
    _Atomic int pid[RANKS];
    atomic_bool stopped;
} shared_t;
static shared_t *shared;

static int flood(dnet_job_rank_t *job)
{
    static dnet_job_request_t r[BULK];
    static char data[LEN];
    int bad = 0;
    for (unsigned i = 0; i < BULK; i++)
        dnet_job_isend(job, &r[i], 0, dnet_ep_envelope(CONTEXT, 1, 1), data, LEN, false);
    atomic_store(&shared->stopped, true);
    for (unsigned i = 0; i < BULK && !bad; i++)
        bad = dnet_job_wait(job, &r[i]) != DNET_OK;
    return bad;
}

static int receive(dnet_job_rank_t *job, unsigned count)
{
    static char data[LEN];
    for (unsigned i = 0; i < count; i++)
        if (dnet_job_recv(job, dnet_ep_envelope(CONTEXT, 1, 1), DNET_MATCH_BITS, data, LEN) != LEN)
            return 1;
    return 0;
}

static int rank(dnet_job_rank_t *job, void *arg)
{
    static char data[LEN], line[8];
    int bad = 0;
    (void) arg;
    atomic_store(&shared->pid[job->rank], getpid());
    dnet_job_barrier(job);
    for (unsigned i = 0; job->rank == 1 && i < WARM; i++)
        bad |= dnet_job_send(job, 0, dnet_ep_envelope(CONTEXT, 1, 1), data, LEN, false);
    if (job->rank == 0)
        bad |= receive(job, WARM);
    dnet_job_barrier(job);
    if (job->rank == 1)
        bad |= flood(job);
    if (job->rank == 0) {
        while (!atomic_load(&shared->stopped))
            usleep(100); /* the condition is the word */
        printf("%d %d %d\n", shared->pid[0], shared->pid[1], shared->pid[2]);
        fflush(stdout);
        bad |= !fgets(line, sizeof(line), stdin) || receive(job, BULK);
    }
    dnet_job_barrier(job);
    return bad;
}

int main(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : dnet_job_run(RANKS, TIMEOUT_S, rank, NULL);
}
