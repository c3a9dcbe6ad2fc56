/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small job for endpoint tests: N processes made by fork(), addresses exchanged through shared
 * memory.
 */
#ifndef DNET_TEST_JOB_H
#define DNET_TEST_JOB_H

#include "endpoint/endpoint.h"

typedef struct {
    dnet_ep_t *ep;
    uint32_t rank, size;
    uint32_t number; /* of all processes, in a test of several jobs */
} dnet_job_rank_t;

/**
 * Run body in `size` processes and wait for them, at most `timeout_s`.
 *
 * @param body  returns 0, or what went wrong (it has printed it)
 * @return 0: every process returned 0; else 1, after a line on stderr for each that did not
 */
int dnet_job_run(uint32_t size, unsigned timeout_s, int (*body)(dnet_job_rank_t *job, void *arg),
                 void *arg);

/** The same for a job in which process `victim` ends itself by SIGKILL. */
int dnet_job_run_mourning(uint32_t size, unsigned timeout_s, uint32_t victim,
                          int (*body)(dnet_job_rank_t *job, void *arg), void *arg);

/**
 * The same for a job whose ranks are on several hosts: those of one machine that have different
 * names for it and meet on its loopback.
 *
 * @param host  by rank: number of its host
 * @param victim  `size`: nobody ends itself
 */
int dnet_job_run_hosts(uint32_t size, unsigned timeout_s, const int *host, uint32_t victim,
                       int (*body)(dnet_job_rank_t *job, void *arg), void *arg);

/** The processes of the jobs that follow are on several hosts, as by dnet_job_run_hosts().  @param
 * host  by number; NULL: they are on one */
void dnet_job_hosts(const int *host);

/** Bind the processes of the jobs that follow, as a launcher does before they start.  @param
 * processor by rank; NULL: they are not bound */
void dnet_job_bind(const int *processor);

/**
 * The same for several jobs of `size` processes each, beside each other.  Barriers are of all their
 * processes, and so is `victim`, if it is below their number.
 */
int dnet_job_run_several(uint32_t jobs, uint32_t size, unsigned timeout_s, uint32_t victim,
                         int (*body)(dnet_job_rank_t *job, void *arg), void *arg);

/** Memory that the processes share: 64 KB, zeros at the beginning. */
void *dnet_job_shared(void);

/** Wait until all processes have called it; makes progress meanwhile. */
void dnet_job_barrier(dnet_job_rank_t *job);

/** The same without progress: what has come lies there unread. */
void dnet_job_stand(dnet_job_rank_t *job);

/** A send or receive under way. */
typedef struct {
    dnet_ep_request_t req; /* first member */
    bool done;
    dnet_status_t status;
} dnet_job_request_t;

/** The complete function of such a request. */
void dnet_job_complete(dnet_ep_request_t *req, dnet_status_t status);

/** A call has returned this for the request, which is over unless it is DNET_IN_PROGRESS.  @return
 * the same */
dnet_status_t dnet_job_started(dnet_job_request_t *r, dnet_status_t status);

/** As dnet_ep_send() and dnet_ep_recv(), with a fresh request. */
dnet_status_t dnet_job_isend(dnet_job_rank_t *job, dnet_job_request_t *r, uint32_t to,
                             uint64_t envelope, const void *buf, size_t len, bool sync);
dnet_status_t dnet_job_irecv(dnet_job_rank_t *job, dnet_job_request_t *r, uint64_t envelope,
                             uint64_t mask, void *buf, size_t len);

/** Make progress until there has been nothing to do for a while. */
void dnet_job_settle(dnet_job_rank_t *job);

/** Make progress until the request is over.  @return how it ended; DNET_ERR_PEER_DEAD: it may never
 * be */
dnet_status_t dnet_job_wait(dnet_job_rank_t *job, const dnet_job_request_t *r);

/** Receive and wait.  @return bytes, or -1: truncated or peer gone */
long dnet_job_recv(dnet_job_rank_t *job, uint64_t envelope, uint64_t mask, void *buf, size_t len);

/** Send and wait.  @return 0, or -1 */
int dnet_job_send(dnet_job_rank_t *job, uint32_t to, uint64_t envelope, const void *buf, size_t len,
                  bool sync);

#endif
