/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    atomic_uint arrived;
    atomic_uint lap;
    uint8_t memory[65536];
    dnet_ep_address_t address[];
} shared_t;

static shared_t *shared;
static uint32_t jobs = 1;

static void barrier(uint32_t size, dnet_ep_t *ep)
{
    unsigned lap = atomic_load(&shared->lap);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == size) {
        atomic_store(&shared->arrived, 0);
        atomic_store(&shared->lap, lap + 1);
        return;
    }
    while (atomic_load(&shared->lap) == lap) {
        bool did = false;
        if (ep)
            dnet_ep_progress(ep, &did);
        if (!did)
            usleep(50); /* give the processor away; the condition is the lap */
    }
}

void dnet_job_barrier(dnet_job_rank_t *job)
{
    barrier(jobs * job->size, job->ep);
}

void *dnet_job_shared(void)
{
    return shared->memory;
}

void dnet_job_stand(dnet_job_rank_t *job)
{
    barrier(jobs * job->size, NULL);
}

void dnet_job_complete(dnet_ep_request_t *req, dnet_status_t status)
{
    dnet_job_request_t *r = (dnet_job_request_t *) req;
    r->done = true;
    r->status = status;
}

dnet_status_t dnet_job_started(dnet_job_request_t *r, dnet_status_t status)
{
    if (status != DNET_IN_PROGRESS)
        dnet_job_complete(&r->req, status);
    return status;
}

dnet_status_t dnet_job_isend(dnet_job_rank_t *job, dnet_job_request_t *r, uint32_t to,
                             uint64_t envelope, const void *buf, size_t len, bool sync)
{
    *r = (dnet_job_request_t){.req.complete = dnet_job_complete};
    return dnet_job_started(r, dnet_ep_send(job->ep, to, envelope, buf, len, sync, &r->req));
}

dnet_status_t dnet_job_irecv(dnet_job_rank_t *job, dnet_job_request_t *r, uint64_t envelope,
                             uint64_t mask, void *buf, size_t len)
{
    *r = (dnet_job_request_t){.req.complete = dnet_job_complete};
    return dnet_job_started(r, dnet_ep_recv(job->ep, envelope, mask, buf, len, &r->req));
}

void dnet_job_settle(dnet_job_rank_t *job)
{
    for (unsigned idle = 0; idle < 200; idle++) {
        bool did = false;
        dnet_ep_progress(job->ep, &did);
        if (did)
            idle = 0;
    }
}

dnet_status_t dnet_job_wait(dnet_job_rank_t *job, const dnet_job_request_t *r)
{
    bool did;
    while (!r->done)
        if (dnet_ep_progress(job->ep, &did) != DNET_OK)
            return DNET_ERR_PEER_DEAD;
    return r->status;
}

long dnet_job_recv(dnet_job_rank_t *job, uint64_t envelope, uint64_t mask, void *buf, size_t len)
{
    dnet_job_request_t r;
    dnet_job_irecv(job, &r, envelope, mask, buf, len);
    return dnet_job_wait(job, &r) == DNET_OK ? (long) r.req.len_bytes : -1;
}

int dnet_job_send(dnet_job_rank_t *job, uint32_t to, uint64_t envelope, const void *buf, size_t len,
                  bool sync)
{
    dnet_job_request_t r;
    dnet_job_isend(job, &r, to, envelope, buf, len, sync);
    return dnet_job_wait(job, &r) == DNET_OK ? 0 : -1;
}

/* Envelopes of these tests hold ranks of the job. */
static uint32_t source(void *arg, uint64_t envelope)
{
    (void) arg;
    return dnet_ep_envelope_rank(envelope);
}

static const int *hosts; /* by number; NULL: all on one */

void dnet_job_hosts(const int *host)
{
    hosts = host;
}

static const int *processors; /* by rank; NULL: they are not bound */

void dnet_job_bind(const int *processor)
{
    processors = processor;
}

static int rank_main(uint32_t number, uint32_t size, int (*body)(dnet_job_rank_t *, void *),
                     void *arg)
{
    uint32_t rank = number % size;
    dnet_ep_config_t config = {.rank = rank,
                               .size = size,
                               .job = (uint64_t) getppid() + ((uint64_t) (number / size) << 32),
                               .node = hosts ? &hosts[number - rank] : NULL};
    dnet_job_rank_t job = {.rank = rank, .size = size, .number = number};
    if (processors) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(processors[rank], &cpus);
        sched_setaffinity(0, sizeof(cpus), &cpus);
    }
    if (hosts) {
        char name[16];
        snprintf(name, sizeof(name), "host-%d", hosts[number]);
        setenv("DIMMNET_HOST", name, 1);
    }
    if (dnet_ep_open(&config, &job.ep) != DNET_OK)
        return 2;
    dnet_ep_address(job.ep, &shared->address[number]);
    dnet_ep_set_source(job.ep, source, NULL);
    barrier(jobs * size, NULL);
    if (dnet_ep_connect(job.ep, &shared->address[number - rank]) != DNET_OK)
        return 3;
    int result = body(&job, arg);
    dnet_ep_finish(job.ep);
    bool did;
    while (dnet_ep_busy(job.ep))
        dnet_ep_progress(job.ep, &did);
    barrier(jobs * size, job.ep);
    dnet_ep_close(job.ep);
    return result;
}

static bool ended_well(int status, bool victim)
{
    return victim ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                  : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int dnet_job_run(uint32_t size, unsigned timeout_s, int (*body)(dnet_job_rank_t *job, void *arg),
                 void *arg)
{
    return dnet_job_run_mourning(size, timeout_s, UINT32_MAX, body, arg);
}

int dnet_job_run_hosts(uint32_t size, unsigned timeout_s, const int *host, uint32_t victim,
                       int (*body)(dnet_job_rank_t *job, void *arg), void *arg)
{
    hosts = host;
    int failed = dnet_job_run_mourning(size, timeout_s, victim, body, arg);
    hosts = NULL;
    return failed;
}

int dnet_job_run_several(uint32_t several, uint32_t size, unsigned timeout_s, uint32_t victim,
                         int (*body)(dnet_job_rank_t *job, void *arg), void *arg)
{
    jobs = several;
    int failed = dnet_job_run_mourning(size, timeout_s, victim, body, arg);
    jobs = 1;
    return failed;
}

/* Those that have not been waited for. */
static void kill_all(const pid_t *pids, uint32_t begun)
{
    for (uint32_t k = 0; k < begun; k++)
        if (pids[k] > 0)
            kill(pids[k], SIGKILL);
}

int dnet_job_run_mourning(uint32_t size, unsigned timeout_s, uint32_t victim,
                          int (*body)(dnet_job_rank_t *job, void *arg), void *arg)
{
    uint32_t all = jobs * size;
    size_t bytes = sizeof(*shared) + all * sizeof(shared->address[0]);
    shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    pid_t pids[all];
    uint32_t begun = 0;
    int failed = 0;
    fflush(NULL);
    for (uint32_t r = 0; r < all; r++) {
        pids[r] = fork();
        if (pids[r] < 0) {
            perror("fork");
            failed = 1;
            break;
        }
        if (pids[r] == 0) {
            alarm(timeout_s);
            int result = rank_main(r, size, body, arg);
            fflush(NULL);
            _exit(result);
        }
        begun++;
    }
    if (failed) /* the others would wait for the rest */
        kill_all(pids, begun);
    for (uint32_t r = 0; r < begun; r++) {
        int status;
        waitpid(pids[r], &status, 0);
        pids[r] = 0;
        if (ended_well(status, r == victim))
            continue;
        fprintf(stderr, "rank %u: %s %d\n", r,
                WIFEXITED(status) ? "exit status" : "ended by signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        failed = 1;
        kill_all(pids, begun);
    }
    munmap(shared, bytes);
    return failed;
}
