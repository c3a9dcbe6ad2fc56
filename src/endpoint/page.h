/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page of a rank: who it is, what it has sent and received, and what it waits for, for any
 * process of the same user to read (dnet-stat).  It is a part of the endpoint, laid over a memfd
 * that /proc/PID/fd shows: counters are counted there, so reading them costs the rank nothing.  The
 * rest is written when a wait has lasted for a while.
 */
#ifndef DNET_ENDPOINT_PAGE_H
#define DNET_ENDPOINT_PAGE_H

#include <stdatomic.h>

#include "endpoint/endpoint.h"

#define DNET_PAGE_MAGIC 0x4b4e4152544e4e44ull /* "DNNTRANK" */
#define DNET_PAGE_VERSION 2u
#define DNET_PAGE_BYTES 4096u
#define DNET_PAGE_MEMFD "dnet-rank"
#define DNET_PAGE_WAITS 24u
/* A rank that waits is seen to every 50 ms, if it gets a processor; one not seen for so long does
 * something else. */
#define DNET_PAGE_FRESH_NS UINT64_C(1000000000)

typedef struct {
    /* Written once. */
    uint64_t magic;   /* +0x00 */
    uint32_t version; /* +0x08 */
    int32_t pid;      /* +0x0c */
    uint64_t job;     /* +0x10 the same in all ranks of a job */
    uint32_t rank;    /* +0x18 */
    uint32_t size;    /* +0x1c ranks of the job */
    uint16_t lid;     /* +0x20 of its NIC */
    uint16_t wid;     /* +0x22 */
    uint32_t vci;     /* +0x24 a rank has a page for each */
    char host[64];    /* +0x28 */
    /* Written as things happen. */
    uint64_t unexpected_bytes; /* +0x68 kept now */
    dnet_ep_counters_t counters;
    /* Written when a wait lasts, and while it does. */
    _Atomic uint64_t seen_ns;  /* CLOCK_MONOTONIC: it still waited then; 0: it has not waited yet */
    _Atomic uint32_t sequence; /* odd while what follows is written */
    uint32_t waits;            /* how many; the first DNET_PAGE_WAITS are listed */
    uint64_t mark;             /* dnet_page_mark() at that time; another one now: it has gone on */
    uint64_t since_ns;         /* CLOCK_MONOTONIC: nothing has gone on since, or a little longer */
    uint32_t posted, unexpected, sends, senders_stopped; /* lists of the endpoint: their lengths */
    char call[32];                                       /* "MPI_Recv"; "": not known */
    dnet_wait_t wait[DNET_PAGE_WAITS];
} dnet_page_t;
_Static_assert(offsetof(dnet_page_t, unexpected_bytes) == 0x68, "page layout");
_Static_assert(sizeof(dnet_page_t) <= DNET_PAGE_BYTES, "a page is one page");

/** A number that differs once messages have come or gone. */
static inline uint64_t dnet_page_mark(const dnet_page_t *p)
{
    return p->counters.sent_messages + p->counters.received_messages + p->counters.unexpected;
}

#endif
