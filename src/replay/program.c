/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs: made call by call, from a trace and to a trace (replay.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "replay/replay.h"

#define NONE UINT32_MAX
#define BUCKETS 65536u

dnet_status_t dnet_replay_new(uint32_t ranks, dnet_replay_program_t *program_p)
{
    dnet_replay_program_t program = {.ranks = ranks};
    program.rank = calloc(ranks, sizeof(*program.rank));
    program.bucket = malloc(BUCKETS * sizeof(*program.bucket));
    if (program.rank == NULL || program.bucket == NULL) {
        dnet_replay_free(&program);
        return DNET_ERR_NO_MEMORY;
    }
    memset(program.bucket, 0xff, BUCKETS * sizeof(*program.bucket));
    *program_p = program;
    return DNET_OK;
}

/* One more element in an array of `used`; false, and the program has failed, without memory. */
static bool room(dnet_replay_program_t *program, void **array, uint32_t used, uint32_t *capacity,
                 size_t element)
{
    if (used < *capacity)
        return true;
    uint32_t wanted = *capacity != 0 ? 2 * *capacity : 256;
    void *grown = wanted > used ? realloc(*array, wanted * element) : NULL;
    if (grown == NULL) {
        program->failed = true;
        return false;
    }
    *array = grown;
    *capacity = wanted;
    return true;
}

uint32_t dnet_replay_channel(dnet_replay_program_t *program, uint32_t src, uint32_t dst,
                             int32_t tag)
{
    uint32_t hash = (src * 2654435761u ^ dst * 2246822519u ^ (uint32_t) tag * 3266489917u);
    uint32_t *bucket = &program->bucket[(hash ^ hash >> 16) % BUCKETS];
    for (uint32_t c = *bucket; c != NONE; c = program->channel[c].next)
        if (program->channel[c].src == src && program->channel[c].dst == dst &&
            program->channel[c].tag == tag)
            return c;
    if (!room(program, (void **) &program->channel, program->channels, &program->channel_capacity,
              sizeof(*program->channel)))
        return 0;
    program->channel[program->channels] = (dnet_replay_channel_t){src, dst, tag, *bucket};
    *bucket = program->channels;
    return program->channels++;
}

static void add(dnet_replay_program_t *program, uint32_t rank, dnet_replay_call_t call)
{
    dnet_replay_rank_t *r = &program->rank[rank];
    if (room(program, (void **) &r->call, r->count, &r->capacity, sizeof(*r->call)))
        r->call[r->count++] = call;
}

void dnet_replay_add(dnet_replay_program_t *program, uint32_t rank, dnet_replay_kind_t kind,
                     uint64_t gap_ns, uint32_t channel, uint32_t bytes)
{
    add(program, rank, (dnet_replay_call_t){gap_ns, channel, bytes, (uint8_t) kind});
    if (kind == DNET_REPLAY_SEND || kind == DNET_REPLAY_RECV)
        program->rank[rank].requests++;
}

void dnet_replay_wait_for(dnet_replay_program_t *program, uint32_t rank, uint32_t request)
{
    dnet_replay_rank_t *r = &program->rank[rank];
    if (room(program, (void **) &r->waited, r->waits, &r->wait_capacity, sizeof(*r->waited)))
        r->waited[r->waits++] = request;
}

void dnet_replay_wait(dnet_replay_program_t *program, uint32_t rank, uint64_t gap_ns)
{
    dnet_replay_rank_t *r = &program->rank[rank];
    add(program, rank,
        (dnet_replay_call_t){gap_ns, r->waits_used, r->waits - r->waits_used, DNET_REPLAY_WAIT});
    r->waits_used = r->waits;
}

dnet_status_t dnet_replay_finish(dnet_replay_program_t *program)
{
    if (!program->failed)
        return DNET_OK;
    dnet_replay_free(program);
    return DNET_ERR_NO_MEMORY;
}

void dnet_replay_free(dnet_replay_program_t *program)
{
    for (uint32_t i = 0; program->rank != NULL && i < program->ranks; i++) {
        free(program->rank[i].call);
        free(program->rank[i].waited);
    }
    free(program->rank);
    free(program->channel);
    free(program->bucket);
    memset(program, 0, sizeof(*program));
}

/* A rank's records on their way into a program. */
typedef struct {
    dnet_replay_program_t *program;
    uint32_t rank;
    const dnet_calls_rank_t *from;
    uint32_t *call_of; /* of each request: the call that made it */
    uint32_t request_capacity;
    const char *wrong;
} import_t;

static bool in_range(const import_t *m, const int64_t *where)
{
    return where[0] >= 0 && where[0] < (int64_t) m->program->ranks && where[1] >= INT32_MIN &&
           where[1] <= INT32_MAX;
}

/* Communicators have no numbers that ranks share, so all have one channel for a tag.
 * @param where  peer, tag */
static uint32_t channel_of(import_t *m, bool send, const int64_t *where)
{
    uint32_t peer = (uint32_t) where[0];
    return dnet_replay_channel(m->program, send ? m->rank : peer, send ? peer : m->rank,
                               (int32_t) where[1]);
}

/* A receive from any source has no channel until its MATCH. */
static void import_message(import_t *m, const dnet_calls_def_t *d, uint64_t gap_ns)
{
    dnet_replay_rank_t *r = &m->program->rank[m->rank];
    bool send = d->op == DNET_CALLS_SEND || d->op == DNET_CALLS_ISEND;
    bool any = d->op == DNET_CALLS_IRECV &&
               (d->argument[0] == DNET_CALLS_ANY || d->argument[1] == DNET_CALLS_ANY);
    if ((!any && !in_range(m, d->argument)) || d->argument[3] < 0) {
        m->wrong = "a partner, tag or size out of range";
        return;
    }
    uint32_t bytes = d->argument[3] < UINT32_MAX ? (uint32_t) d->argument[3] : UINT32_MAX;
    if (!room(m->program, (void **) &m->call_of, r->requests, &m->request_capacity,
              sizeof(*m->call_of)))
        return;
    m->call_of[r->requests] = r->count;
    dnet_replay_add(m->program, m->rank, send ? DNET_REPLAY_SEND : DNET_REPLAY_RECV, gap_ns,
                    any ? NONE : channel_of(m, send, d->argument), bytes);
    if (d->op == DNET_CALLS_SEND || d->op == DNET_CALLS_RECV) {
        dnet_replay_wait_for(m->program, m->rank, r->requests - 1);
        dnet_replay_wait(m->program, m->rank, 0);
    }
}

/* The request that is `age` requests old; NONE and a complaint if there is none. */
static uint32_t request_of(import_t *m, int64_t age)
{
    uint32_t made = m->program->rank[m->rank].requests;
    if (age >= 1 && age <= (int64_t) made)
        return made - (uint32_t) age;
    m->wrong = "a request that was never made";
    return NONE;
}

static void import_match(import_t *m, const dnet_calls_def_t *d)
{
    uint32_t request = request_of(m, d->argument[0]);
    const int64_t *where = d->argument + 1;
    if (m->wrong != NULL)
        return;
    dnet_replay_call_t *call = &m->program->rank[m->rank].call[m->call_of[request]];
    if (!in_range(m, where) || call->kind != DNET_REPLAY_RECV || call->where != NONE) {
        m->wrong = "a match of something that is no wildcard receive, or without a sender";
        return;
    }
    call->where = channel_of(m, false, where);
}

static void import_collective(import_t *m, const dnet_calls_def_t *d, uint64_t gap_ns)
{
    bool together = false;
    switch ((dnet_calls_coll_t) d->argument[0]) {
#define DNET_CALLS_COLL(name, code, all) \
    case DNET_CALLS_COLL_##name: \
        together = all; \
        break;
#include "replay/calls.def"
#undef DNET_CALLS_COLL
    }
    together = together && d->argument[1] == 0;
    m->program->collectives++;
    dnet_replay_add(m->program, m->rank, together ? DNET_REPLAY_SYNC : DNET_REPLAY_OTHER, gap_ns, 0,
                    0);
}

static void import_record(import_t *m, const dnet_calls_record_t *record)
{
    const dnet_calls_def_t *d = &m->from->def[record->def];
    switch ((dnet_calls_op_t) d->op) {
        case DNET_CALLS_ISEND:
        case DNET_CALLS_IRECV:
        case DNET_CALLS_SEND:
        case DNET_CALLS_RECV:
            import_message(m, d, record->gap_ns);
            break;
        case DNET_CALLS_WAIT:
            for (uint32_t i = 0; i < d->arguments && m->wrong == NULL; i++)
                dnet_replay_wait_for(m->program, m->rank, request_of(m, d->argument[i]));
            dnet_replay_wait(m->program, m->rank, record->gap_ns);
            break;
        case DNET_CALLS_MATCH:
            import_match(m, d);
            break;
        case DNET_CALLS_COLL:
            import_collective(m, d, record->gap_ns);
            break;
        case DNET_CALLS_OTHER:
            dnet_replay_add(m->program, m->rank, DNET_REPLAY_OTHER, record->gap_ns, 0, 0);
            break;
    }
}

/* A wildcard receive that never completed: in a channel without a sender. */
static void forget_unmatched(import_t *m)
{
    dnet_replay_rank_t *r = &m->program->rank[m->rank];
    for (uint32_t i = 0; i < r->count && m->wrong == NULL; i++)
        if (r->call[i].kind == DNET_REPLAY_RECV && r->call[i].where == NONE)
            r->call[i].where = dnet_replay_channel(m->program, m->rank, m->rank, DNET_CALLS_ANY);
}

static dnet_status_t import_rank(import_t *m)
{
    for (size_t i = 0; i < m->from->records && m->wrong == NULL && !m->program->failed; i++) {
        import_record(m, &m->from->record[i]);
        if (m->wrong != NULL)
            dnet_error("trace: rank %" PRIu32 ", record %zu (%s): %s", m->rank, i,
                       dnet_calls_op_title(m->from->def[m->from->record[i].def].op), m->wrong);
    }
    forget_unmatched(m);
    m->program->rank[m->rank].last_gap_ns = m->from->last_gap_ns;
    free(m->call_of);
    return m->wrong != NULL ? DNET_ERR_FORMAT : DNET_OK;
}

dnet_status_t dnet_replay_from_trace(const dnet_calls_t *trace, dnet_replay_program_t *program_p)
{
    dnet_replay_program_t program;
    dnet_status_t status = dnet_replay_new(trace->ranks, &program);
    if (status != DNET_OK)
        return status;
    for (uint32_t i = 0; i < trace->ranks && status == DNET_OK; i++) {
        import_t m = {.program = &program, .rank = i, .from = &trace->rank[i]};
        status = import_rank(&m);
    }
    if (status != DNET_OK) {
        dnet_replay_free(&program);
        return status;
    }
    status = dnet_replay_finish(&program);
    if (status == DNET_OK)
        *program_p = program;
    return status;
}

/* One call as a record; `made` counts the requests of the calls before it. */
static void export_call(const dnet_replay_program_t *program, uint32_t rank, uint32_t call,
                        uint32_t *made, dnet_calls_writer_t *w)
{
    const dnet_replay_rank_t *r = &program->rank[rank];
    const dnet_replay_call_t *c = &r->call[call];
    const dnet_replay_channel_t *where =
        c->kind <= DNET_REPLAY_RECV ? &program->channel[c->where] : NULL;
    switch ((dnet_replay_kind_t) c->kind) {
        case DNET_REPLAY_SEND:
        case DNET_REPLAY_RECV: {
            bool send = c->kind == DNET_REPLAY_SEND;
            int64_t argument[4] = {send ? where->dst : where->src, where->tag, 0, c->amount};
            dnet_calls_record(w, send ? DNET_CALLS_ISEND : DNET_CALLS_IRECV, argument, 4,
                              c->gap_ns);
            ++*made;
            break;
        }
        case DNET_REPLAY_WAIT: {
            int64_t age[c->amount != 0 ? c->amount : 1];
            for (uint32_t i = 0; i < c->amount; i++)
                age[i] = *made - r->waited[c->where + i];
            dnet_calls_record(w, c->amount != 0 ? DNET_CALLS_WAIT : DNET_CALLS_OTHER, age,
                              c->amount, c->gap_ns);
            break;
        }
        case DNET_REPLAY_SYNC: {
            int64_t argument[3] = {DNET_CALLS_COLL_BARRIER, 0, 0};
            dnet_calls_record(w, DNET_CALLS_COLL, argument, 3, c->gap_ns);
            break;
        }
        case DNET_REPLAY_OTHER:
            dnet_calls_record(w, DNET_CALLS_OTHER, NULL, 0, c->gap_ns);
            break;
    }
}

dnet_status_t dnet_replay_to_trace(const dnet_replay_program_t *program, uint32_t tick_ns,
                                   const char *name, FILE *out)
{
    dnet_status_t status = DNET_OK;
    for (uint32_t i = 0; i < program->ranks && status == DNET_OK; i++) {
        const dnet_replay_rank_t *r = &program->rank[i];
        dnet_calls_writer_t *w;
        uint32_t made = 0;
        status = dnet_calls_begin(out, i, program->ranks, tick_ns, name, &w);
        if (status != DNET_OK)
            break;
        for (uint32_t c = 0; c < r->count; c++)
            export_call(program, i, c, &made, w);
        status = dnet_calls_end(w, r->last_gap_ns, 0);
    }
    return status;
}
