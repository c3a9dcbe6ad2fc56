/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job that goes on until it is told: RANKS processes, two on a node, each of which sends to the
 * next node and receives from the one before, round after round, until the file in the first
 * argument exists.  Rank 0 writes how many rounds are done into the file in the second argument.  A
 * third one is a file for a second capture of rank 0, as a second endpoint of a process has.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/endpoint/job.h"

#define RANKS 6
#define TIMEOUT_S 110

enum { DATA = 1, GO_ON = 2 }; /* tags */

static char **paths;

static bool tell(unsigned round)
{
    char part[4096];
    snprintf(part, sizeof(part), "%s.part", paths[2]);
    FILE *f = fopen(part, "w");
    bool good = f && fprintf(f, "%u\n", round) > 0;
    return f && fclose(f) == 0 && good && rename(part, paths[2]) == 0;
}

static bool exchange(dnet_job_rank_t *job, unsigned round)
{
    uint32_t next = (job->rank + 2) % RANKS, before = (job->rank + RANKS - 2) % RANKS;
    uint32_t out = round * RANKS + job->rank, in = 0;
    if (dnet_job_send(job, next, dnet_ep_envelope(1, job->rank, DATA), &out, sizeof(out), false) !=
            0 ||
        dnet_job_recv(job, dnet_ep_envelope(1, before, DATA), DNET_MATCH_BITS, &in, sizeof(in)) !=
            sizeof(in))
        return false;
    if (in == round * RANKS + before)
        return true;
    fprintf(stderr, "rank %u, round %u: %u from %u\n", job->rank, round, in, before);
    return false;
}

/* Rank 0 decides for all. */
static bool go_on(dnet_job_rank_t *job, uint8_t *on)
{
    if (job->rank != 0)
        return dnet_job_recv(job, dnet_ep_envelope(1, 0, GO_ON), DNET_MATCH_BITS, on, 1) == 1;
    *on = access(paths[1], F_OK) != 0;
    for (uint32_t r = 1; r < RANKS; r++)
        if (dnet_job_send(job, r, dnet_ep_envelope(1, 0, GO_ON), on, 1, false) != 0)
            return false;
    return true;
}

static int rank(dnet_job_rank_t *job, void *arg)
{
    uint8_t on = 1;
    dnet_emu_capture_t *second = NULL;
    (void) arg;
    if (job->rank == 0 && paths[3] &&
        dnet_emu_capture_open(paths[3], "rank 0 vci 1", 0, &second) != DNET_OK)
        return 1;
    for (unsigned round = 1; on; round++)
        if (!exchange(job, round) || (job->rank == 0 && !tell(round)) || !go_on(job, &on))
            return 1;
    if (second)
        dnet_emu_capture_close(second);
    dnet_job_barrier(job);
    return 0;
}

int main(int argc, char **argv)
{
    paths = argv;
    return argc == 3 || argc == 4 ? dnet_job_run(RANKS, TIMEOUT_S, rank, NULL) : 2;
}
