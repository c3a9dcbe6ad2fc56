/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job for attach.sh to look at: four processes on two NICs.  Rank 1 has sent 5 bytes with tag 77
 * that rank 0 has not received.  Rank 0 prints the process of each rank and waits for a line on
 * stdin; then it receives the message, and says whether it is what was sent.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/endpoint/job.h"

#define RANKS 4
#define TIMEOUT_S 60

static _Atomic int *pids; /* of the ranks */

static int check_message(dnet_job_rank_t *job, uint64_t envelope)
{
    char text[8] = "", line[8];
    if (!fgets(line, sizeof(line), stdin))
        return 1;
    long n = dnet_job_recv(job, envelope, DNET_MATCH_BITS, text, sizeof(text));
    printf("received %ld %s\n", n, text);
    return n == 5 && strcmp(text, "hell") == 0 ? 0 : 1;
}

static int rank(dnet_job_rank_t *job, void *arg)
{
    uint64_t envelope = dnet_ep_envelope(1, 1, 77);
    (void) arg;
    atomic_store(&pids[job->rank], getpid());
    if (job->rank == 1 && dnet_job_send(job, 0, envelope, "hell", 5, false) != 0)
        return 1;
    dnet_job_barrier(job);
    int result = 0;
    if (job->rank == 0) {
        printf("%d %d %d %d\n", pids[0], pids[1], pids[2], pids[3]);
        fflush(stdout);
        result = check_message(job, envelope);
    }
    dnet_job_barrier(job);
    return result;
}

int main(void)
{
    pids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return pids == MAP_FAILED ? 1 : dnet_job_run(RANKS, TIMEOUT_S, rank, NULL);
}
