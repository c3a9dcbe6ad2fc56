/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rings: what cutting the IPUSH area into rings costs (docs/flow-control.md section 6).
 *
 *   DIMMNET_RINGS=N benchmarks/rings
 *
 * Two processes; for each size the time of one way (half a round trip, best of 5) and the rate with
 * 64 messages under way (best of 5).
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "tests/endpoint/job.h"

enum { REPEATS = 5, ROUNDS = 5000, UNDER_WAY = 64, BURSTS = 200, LONGEST = 8192, TIMEOUT_S = 50 };

static char out[LONGEST], in[LONGEST];

static double now_us(void)
{
    return (double) dnet_clock_ns() / 1e3;
}

static int send(dnet_job_rank_t *job, size_t len)
{
    return dnet_job_send(job, 1 - job->rank, dnet_ep_envelope(1, job->rank, 1), out, len, false);
}

static int receive(dnet_job_rank_t *job, size_t len)
{
    return dnet_job_recv(job, dnet_ep_envelope(1, 1 - job->rank, 1), DNET_MATCH_BITS, in, len) !=
           (long) len;
}

static double one_way_us(dnet_job_rank_t *job, size_t len)
{
    double start = now_us();
    for (unsigned i = 0; i < ROUNDS; i++)
        if (job->rank == 0 ? send(job, len) || receive(job, len)
                           : receive(job, len) || send(job, len))
            return -1;
    return (now_us() - start) / ROUNDS / 2;
}

static double rate_mbs(dnet_job_rank_t *job, size_t len)
{
    static dnet_job_request_t op[UNDER_WAY];
    double start = now_us();
    for (unsigned b = 0; b < BURSTS; b++) {
        for (unsigned i = 0; i < UNDER_WAY; i++)
            if (job->rank == 0)
                dnet_job_isend(job, &op[i], 1, dnet_ep_envelope(1, 0, 2), out, len, false);
            else
                dnet_job_irecv(job, &op[i], dnet_ep_envelope(1, 0, 2), DNET_MATCH_BITS, in, len);
        for (unsigned i = 0; i < UNDER_WAY; i++)
            if (dnet_job_wait(job, &op[i]) != DNET_OK)
                return -1;
        if (job->rank == 0 ? receive(job, 0) : send(job, 0))
            return -1;
    }
    return (double) len * UNDER_WAY * BURSTS / (now_us() - start);
}

static int body(dnet_job_rank_t *job, void *arg)
{
    static const size_t lens[] = {8, 1024, 4064, LONGEST};
    (void) arg;
    for (unsigned s = 0; s < sizeof(lens) / sizeof(lens[0]); s++) {
        double best_us = 1e9, best_mbs = 0;
        for (unsigned r = 0; r < REPEATS; r++) {
            dnet_job_barrier(job);
            double us = one_way_us(job, lens[s]), mbs = rate_mbs(job, lens[s]);
            best_us = us < best_us ? us : best_us;
            best_mbs = mbs > best_mbs ? mbs : best_mbs;
        }
        if (job->rank == 0)
            printf("%6zu bytes  %8.3f us  %8.1f MB/s\n", lens[s], best_us, best_mbs);
    }
    return 0;
}

int main(void)
{
    return dnet_job_run(2, TIMEOUT_S, body, NULL);
}
