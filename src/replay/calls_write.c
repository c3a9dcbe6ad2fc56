/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes sections of a trace (calls.h): definitions are found again by a hash, records are kept
 * until a block is full.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/calls.h"

#define BLOCK_RECORDS 4096u
#define NONE UINT32_MAX

typedef struct {
    uint8_t *at;
    size_t used, capacity;
} bytes_t;

typedef struct {
    size_t at; /* in `known`: op byte, number of arguments, arguments, as in the file */
    size_t size;
    uint32_t next; /* of the same hash */
} known_t;

struct dnet_calls_writer {
    FILE *out;
    uint32_t tick_ns;
    uint64_t rest_ns; /* of gaps, less than a tick */
    bytes_t known;
    known_t *def;
    uint32_t defs, defs_capacity;
    size_t block_known; /* definitions before this byte are written */
    uint32_t block_defs;
    uint32_t bucket[1024];
    uint32_t records;
    bytes_t column[2]; /* of the block: definitions, gaps */
    dnet_status_t status;
    int error; /* errno of DNET_ERR_SYSTEM */
};

static void put(dnet_calls_writer_t *w, bytes_t *b, uint8_t byte)
{
    if (b->used == b->capacity) {
        size_t capacity = b->capacity != 0 ? 2 * b->capacity : 1024;
        uint8_t *at = realloc(b->at, capacity);
        if (at == NULL) {
            w->status = DNET_ERR_NO_MEMORY;
            return;
        }
        b->at = at;
        b->capacity = capacity;
    }
    b->at[b->used++] = byte;
}

static void put_v(dnet_calls_writer_t *w, bytes_t *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(w, b, (uint8_t) (value | 0x80));
    put(w, b, (uint8_t) value);
}

static void put_s(dnet_calls_writer_t *w, bytes_t *b, int64_t value)
{
    put_v(w, b, ((uint64_t) value << 1) ^ (uint64_t) (value >> 63));
}

static void flush(dnet_calls_writer_t *w, const bytes_t *b, size_t from)
{
    if (w->status == DNET_OK && b->used > from &&
        fwrite(b->at + from, b->used - from, 1, w->out) != 1) {
        w->status = DNET_ERR_SYSTEM;
        w->error = errno;
    }
}

/* Nothing stays behind in the stream: a child that the program forks would write it once more when
 * it exits. */
static void flush_stream(dnet_calls_writer_t *w)
{
    if (w->status == DNET_OK && fflush(w->out) != 0) {
        w->status = DNET_ERR_SYSTEM;
        w->error = errno;
    }
}

dnet_status_t dnet_calls_begin(FILE *out, uint32_t rank, uint32_t ranks, uint32_t tick_ns,
                               const char *name, dnet_calls_writer_t **w_p)
{
    dnet_calls_writer_t *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return DNET_ERR_NO_MEMORY;
    w->out = out;
    w->tick_ns = tick_ns;
    memset(w->bucket, 0xff, sizeof(w->bucket));
    uint8_t header[DNET_CALLS_HEADER] = {0};
    const struct {
        unsigned at, bytes;
        uint32_t value;
    } field[] = {{8, 2, DNET_CALLS_VERSION},
                 {10, 2, DNET_CALLS_HEADER},
                 {12, 4, rank},
                 {16, 4, ranks},
                 {20, 4, tick_ns}};
    memcpy(header, DNET_CALLS_MAGIC, 8);
    for (unsigned f = 0; f < sizeof(field) / sizeof(field[0]); f++)
        for (unsigned i = 0; i < field[f].bytes; i++)
            header[field[f].at + i] = (uint8_t) (field[f].value >> 8 * i);
    bytes_t head = {0};
    for (unsigned i = 0; i < sizeof(header); i++)
        put(w, &head, header[i]);
    size_t length = strnlen(name, 255);
    put_v(w, &head, length);
    for (size_t i = 0; i < length; i++)
        put(w, &head, (uint8_t) name[i]);
    flush(w, &head, 0);
    flush_stream(w);
    free(head.at);
    *w_p = w;
    return DNET_OK;
}

/* The number of the definition whose bytes stand at the end of `known` from `at` on. */
static uint32_t define(dnet_calls_writer_t *w, size_t at)
{
    uint32_t hash = 2166136261u;
    size_t size = w->known.used - at;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ w->known.at[at + i]) * 16777619u;
    uint32_t *bucket = &w->bucket[(hash ^ hash >> 16) % 1024];
    for (uint32_t d = *bucket; d != NONE; d = w->def[d].next)
        if (w->def[d].size == size &&
            memcmp(w->known.at + w->def[d].at, w->known.at + at, size) == 0) {
            w->known.used = at;
            return d;
        }
    if (w->defs == w->defs_capacity) {
        uint32_t capacity = w->defs_capacity != 0 ? 2 * w->defs_capacity : 256;
        known_t *def = realloc(w->def, capacity * sizeof(*def));
        if (def == NULL) {
            w->status = DNET_ERR_NO_MEMORY;
            return 0;
        }
        w->def = def;
        w->defs_capacity = capacity;
    }
    w->def[w->defs] = (known_t){at, size, *bucket};
    *bucket = w->defs;
    return w->defs++;
}

static void write_block(dnet_calls_writer_t *w)
{
    bytes_t head = {0};
    put_v(w, &head, w->records);
    if (w->records != 0)
        put_v(w, &head, w->defs - w->block_defs);
    flush(w, &head, 0);
    free(head.at);
    flush(w, &w->known, w->block_known);
    w->block_known = w->known.used;
    w->block_defs = w->defs;
    for (unsigned i = 0; i < 2; i++) {
        flush(w, &w->column[i], 0);
        w->column[i].used = 0;
    }
    flush_stream(w);
    w->records = 0;
}

/* Whole ticks of a gap and of what earlier gaps left over. */
static uint64_t ticks(dnet_calls_writer_t *w, uint64_t gap_ns)
{
    gap_ns += w->rest_ns;
    w->rest_ns = gap_ns % w->tick_ns;
    return gap_ns / w->tick_ns;
}

void dnet_calls_record(dnet_calls_writer_t *w, dnet_calls_op_t op, const int64_t *argument,
                       uint32_t arguments, uint64_t gap_ns)
{
    size_t at = w->known.used;
    put(w, &w->known, (uint8_t) op);
    put_v(w, &w->known, arguments);
    for (uint32_t i = 0; i < arguments; i++)
        put_s(w, &w->known, argument[i]);
    if (w->status == DNET_OK)
        put_v(w, &w->column[0], define(w, at));
    put_v(w, &w->column[1], ticks(w, gap_ns));
    if (++w->records == BLOCK_RECORDS)
        write_block(w);
}

dnet_status_t dnet_calls_end(dnet_calls_writer_t *w, uint64_t gap_ns, uint64_t wall_ns)
{
    bytes_t tail = {0};
    if (w->records != 0)
        write_block(w);
    write_block(w);
    put_v(w, &tail, ticks(w, gap_ns));
    put_v(w, &tail, wall_ns);
    flush(w, &tail, 0);
    flush_stream(w);
    dnet_status_t status = w->status;
    int error = w->error;
    free(tail.at);
    free(w->known.at);
    free(w->def);
    free(w->column[0].at);
    free(w->column[1].at);
    free(w);
    if (status == DNET_ERR_SYSTEM)
        errno = error;
    return status;
}
