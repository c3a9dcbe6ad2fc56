/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of 8 bytes between two endpoints of one process, one after the other in one order of
 * calls, so that two runs execute the same instructions.  tests/hotpath/run counts those of the
 * functions count_*().
 *
 *   messages COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint/endpoint.h"

/* More than a lap of the LH Buffer, so that rings have been used and lists have been allocated. */
#define WARM_UP 5000ul

typedef struct {
    dnet_ep_request_t req; /* first member */
    bool done;
} receive_t;

static void received(dnet_ep_request_t *req, dnet_status_t status)
{
    ((receive_t *) req)->done = status == DNET_OK;
}

/* The counted functions.  Each stays a function of its own with its own name. */

__attribute__((noinline, noclone)) dnet_status_t count_send(dnet_ep_t *ep, uint64_t envelope,
                                                            const uint64_t *value)
{
    return dnet_ep_send(ep, 1, envelope, value, sizeof(*value), false, NULL);
}

__attribute__((noinline, noclone)) dnet_status_t count_post(dnet_ep_t *ep, uint64_t envelope,
                                                            uint64_t *value, receive_t *r)
{
    return dnet_ep_recv(ep, envelope, DNET_MATCH_BITS, value, sizeof(*value), &r->req);
}

__attribute__((noinline, noclone)) dnet_status_t count_arrive(dnet_ep_t *ep)
{
    bool did;
    return dnet_ep_progress(ep, &did);
}

static int message(dnet_ep_t *const ep[2], uint64_t sent)
{
    uint64_t envelope = dnet_ep_envelope(1, 0, 1), value = 0;
    receive_t r = {.req.complete = received};
    if (count_post(ep[1], envelope, &value, &r) == DNET_IN_PROGRESS &&
        count_send(ep[0], envelope, &sent) == DNET_OK && count_arrive(ep[1]) == DNET_OK && r.done &&
        value == sent)
        return 0;
    fprintf(stderr, "message %llu has not arrived in one round\n", (unsigned long long) sent);
    return 1;
}

/* What is counted begins and ends with this function. */
__attribute__((noinline, noclone)) int count_messages(dnet_ep_t *const ep[2], unsigned long count)
{
    int failed = 0;
    for (uint64_t i = 0; i < count && !failed; i++)
        failed = message(ep, i);
    return failed;
}

static int warm_up(dnet_ep_t *const ep[2])
{
    uint64_t envelope = dnet_ep_envelope(1, 0, 1);
    for (uint64_t sent = 0; sent < WARM_UP; sent++) {
        uint64_t value = UINT64_MAX;
        bool did;
        receive_t r = {.req.complete = received};
        dnet_ep_recv(ep[1], envelope, DNET_MATCH_BITS, &value, sizeof(value), &r.req);
        if (dnet_ep_send(ep[0], 1, envelope, &sent, sizeof(sent), false, NULL) != DNET_OK)
            return 1;
        while (!r.done)
            if (dnet_ep_progress(ep[1], &did) != DNET_OK)
                return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    dnet_ep_address_t address[2];
    dnet_ep_t *ep[2];
    if (count == 0) {
        fprintf(stderr, "usage: messages COUNT\n");
        return 2;
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        dnet_ep_config_t config = {.rank = rank, .size = 2, .job = (uint64_t) getpid()};
        if (dnet_ep_open(&config, &ep[rank]) != DNET_OK)
            return 3;
        dnet_ep_address(ep[rank], &address[rank]);
    }
    for (uint32_t rank = 0; rank < 2; rank++)
        if (dnet_ep_connect(ep[rank], address) != DNET_OK)
            return 3;
    int failed = warm_up(ep) || count_messages(ep, count);
    dnet_ep_close(ep[1]);
    dnet_ep_close(ep[0]);
    return failed;
}
