/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads traces (calls.h).  A file may come from any source: every number is checked before it is
 * used, and memory grows with bytes that were there, never with a count that was only announced.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/log.h"
#include "replay/calls.h"

#define FILE_BYTES_MAX (1ull << 30)

typedef struct {
    const uint8_t *begin, *at, *end;
    const char *where;
    const char *wrong; /* the first thing found wrong */
    const uint8_t *wrong_at;
} cursor_t;

static const struct {
    uint8_t code;
    const char *title;
    uint32_t least, most;
} ops[] = {
#define DNET_CALLS_OP(name, code, least, most, title, arguments) {code, title, least, most},
#include "replay/calls.def"
#undef DNET_CALLS_OP
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

const char *dnet_calls_op_title(unsigned op)
{
    for (unsigned i = 0; i < OPS; i++)
        if (ops[i].code == op)
            return ops[i].title;
    return NULL;
}

static void wrong(cursor_t *c, const char *what)
{
    if (c->wrong != NULL)
        return;
    c->wrong = what;
    c->wrong_at = c->at;
    c->at = c->end; /* every read from here on finds nothing */
}

static uint64_t fixed(cursor_t *c, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t) (c->end - c->at) < bytes) {
        wrong(c, "the file ends inside a header");
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t) *c->at++ << 8 * i;
    return value;
}

static uint64_t v(cursor_t *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at;
        if (shift == 63 && byte > 1) {
            wrong(c, "a number of more than 64 bits");
            return 0;
        }
        c->at++;
        value |= (uint64_t) (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    wrong(c, "the file ends inside a section; did the run reach MPI_Finalize?");
    return 0;
}

static int64_t s(cursor_t *c)
{
    uint64_t value = v(c);
    return (int64_t) (value >> 1) ^ -(int64_t) (value & 1);
}

/* Room for `more` further elements; false without memory. */
static bool grow(void **array, size_t used, size_t more, size_t *capacity, size_t element)
{
    if (used + more <= *capacity)
        return true;
    size_t wanted = *capacity != 0 ? *capacity : 256;
    while (wanted < used + more)
        wanted *= 2;
    void *grown = realloc(*array, wanted * element);
    if (grown == NULL)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

typedef struct {
    dnet_calls_rank_t *rank;
    uint32_t tick_ns;
    size_t arguments, argument_capacity, def_capacity, record_capacity;
    bool no_memory;
} section_t;

static bool plausible(cursor_t *c, uint8_t op, uint64_t arguments)
{
    for (unsigned i = 0; i < OPS; i++)
        if (ops[i].code == op) {
            if (arguments < ops[i].least || arguments > ops[i].most)
                wrong(c, "a definition with too few or too many arguments");
            return c->wrong == NULL;
        }
    wrong(c, "a definition of an unknown kind");
    return false;
}

static void definition(cursor_t *c, section_t *n)
{
    dnet_calls_rank_t *r = n->rank;
    uint8_t op = (uint8_t) fixed(c, 1);
    uint64_t arguments = v(c);
    if (c->wrong != NULL || !plausible(c, op, arguments))
        return;
    if (!grow((void **) &r->def, r->defs, 1, &n->def_capacity, sizeof(*r->def)) ||
        !grow((void **) &r->arguments, n->arguments, arguments, &n->argument_capacity,
              sizeof(*r->arguments))) {
        n->no_memory = true;
        return;
    }
    r->def[r->defs++] = (dnet_calls_def_t){op, (uint32_t) arguments, NULL};
    for (uint64_t i = 0; i < arguments; i++)
        r->arguments[n->arguments++] = s(c);
}

/* A gap of a trace that a clock could have counted. */
static uint64_t gap(cursor_t *c, const section_t *n)
{
    uint64_t ticks = v(c);
    if (ticks > (UINT64_MAX >> 8) / n->tick_ns)
        wrong(c, "a gap of more than two years");
    return ticks * n->tick_ns;
}

/* @return false behind the last block */
static bool block(cursor_t *c, section_t *n)
{
    dnet_calls_rank_t *r = n->rank;
    uint64_t records = v(c);
    if (records == 0)
        return false;
    uint64_t defs = v(c), left = (uint64_t) (c->end - c->at);
    if (records > left / 2 || defs > left / 2) {
        wrong(c, "the file ends inside a block; did the run reach MPI_Finalize?");
        return false;
    }
    for (uint64_t i = 0; i < defs && c->wrong == NULL && !n->no_memory; i++)
        definition(c, n);
    if (c->wrong != NULL || n->no_memory)
        return false;
    if (!grow((void **) &r->record, r->records, records, &n->record_capacity, sizeof(*r->record))) {
        n->no_memory = true;
        return false;
    }
    for (uint64_t i = 0; i < records && c->wrong == NULL; i++) {
        uint64_t def = v(c);
        if (def >= r->defs && c->wrong == NULL)
            wrong(c, "a record with a definition that is not there");
        r->record[r->records + i].def = (uint32_t) def;
    }
    for (uint64_t i = 0; i < records && c->wrong == NULL; i++)
        r->record[r->records + i].gap_ns = gap(c, n);
    if (c->wrong != NULL)
        return false;
    r->records += records;
    return true;
}

/* Fixed fields of a section.  @return its rank's place, NULL when something is wrong or missing */
static dnet_calls_rank_t *header(cursor_t *c, dnet_calls_t *trace, section_t *n)
{
    if (c->end - c->at < 8 || memcmp(c->at, DNET_CALLS_MAGIC, 8) != 0) {
        wrong(c, "no section of a dimmnet trace begins here");
        return NULL;
    }
    c->at += 8;
    uint64_t version = fixed(c, 2), bytes = fixed(c, 2), rank = fixed(c, 4), ranks = fixed(c, 4);
    n->tick_ns = (uint32_t) fixed(c, 4);
    fixed(c, 8);
    if (c->wrong == NULL && version != DNET_CALLS_VERSION)
        wrong(c, "another version of the format than 1");
    if (bytes < DNET_CALLS_HEADER || (size_t) (c->end - c->at) < bytes - DNET_CALLS_HEADER)
        wrong(c, "a header of an impossible size");
    if (ranks == 0 || ranks > DNET_CALLS_RANKS_MAX || rank >= ranks || n->tick_ns == 0)
        wrong(c, "a rank, number of ranks or tick out of range");
    if (trace->ranks != 0 && ranks != trace->ranks)
        wrong(c, "another number of ranks than the sections before it");
    if (c->wrong != NULL)
        return NULL;
    c->at += bytes - DNET_CALLS_HEADER;
    if (trace->ranks == 0) {
        trace->rank = calloc(ranks, sizeof(*trace->rank));
        n->no_memory = trace->rank == NULL;
        trace->ranks = n->no_memory ? 0 : (uint32_t) ranks;
    }
    if (n->no_memory)
        return NULL;
    if (trace->rank[rank].here)
        wrong(c, "a second section of a rank that was there before");
    return c->wrong != NULL ? NULL : &trace->rank[rank];
}

static void section(cursor_t *c, dnet_calls_t *trace, section_t *n)
{
    dnet_calls_rank_t *r = n->rank = header(c, trace, n);
    if (r == NULL)
        return;
    r->here = true;
    uint64_t length = v(c);
    if (c->wrong == NULL && (length > 255 || (uint64_t) (c->end - c->at) < length))
        wrong(c, "a name of an impossible length");
    if (c->wrong != NULL)
        return;
    memcpy(r->name, c->at, length);
    c->at += length;
    while (block(c, n))
        ;
    r->last_gap_ns = c->wrong == NULL ? gap(c, n) : 0;
    r->wall_ns = v(c);
    size_t at = 0; /* where no definition has arguments there is no array */
    for (uint32_t d = 0; d < r->defs && r->arguments != NULL && c->wrong == NULL; d++) {
        r->def[d].argument = r->arguments + at;
        at += r->def[d].arguments;
    }
}

dnet_status_t dnet_calls_parse(dnet_calls_t *trace, const uint8_t *data, size_t size,
                               const char *where)
{
    cursor_t c = {.begin = data, .at = data, .end = data + size, .where = where};
    if (size == 0)
        wrong(&c, "the file is empty; did the run reach MPI_Init?");
    while (c.at < c.end && c.wrong == NULL) {
        section_t n = {0};
        section(&c, trace, &n);
        if (n.no_memory)
            return DNET_ERR_NO_MEMORY;
    }
    if (c.wrong == NULL)
        return DNET_OK;
    dnet_error("trace %s, byte %zu: %s", where, (size_t) (c.wrong_at - data), c.wrong);
    return DNET_ERR_FORMAT;
}

dnet_status_t dnet_calls_load(dnet_calls_t *trace, const char *path)
{
    gzFile in = gzopen(path, "rb");
    if (in == NULL) {
        dnet_error("trace %s: %s", path, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    void *data = NULL;
    size_t size = 0, capacity = 0;
    dnet_status_t status = DNET_OK;
    for (int got = 1; got > 0 && status == DNET_OK;) {
        if (!grow(&data, size, 1 << 16, &capacity, 1)) {
            status = DNET_ERR_NO_MEMORY;
            break;
        }
        got = gzread(in, (uint8_t *) data + size, 1 << 16);
        size += got > 0 ? (size_t) got : 0;
        int zlib_code;
        const char *text = gzerror(in, &zlib_code);
        if (got < 0 || zlib_code == Z_BUF_ERROR) {
            dnet_error("trace %s: %s", path, zlib_code == Z_ERRNO ? strerror(errno) : text);
            status = DNET_ERR_FORMAT;
        } else if (size > FILE_BYTES_MAX) {
            dnet_error("trace %s: more than %llu bytes; trace fewer iterations", path,
                       (unsigned long long) FILE_BYTES_MAX);
            status = DNET_ERR_FORMAT;
        }
    }
    gzclose(in);
    if (status == DNET_OK)
        status = dnet_calls_parse(trace, data, size, path);
    free(data);
    return status;
}

dnet_status_t dnet_calls_complete(const dnet_calls_t *trace)
{
    uint32_t missing = 0, first = 0;
    for (uint32_t i = trace->ranks; i-- > 0;)
        if (!trace->rank[i].here) {
            missing++;
            first = i;
        }
    if (missing == 0)
        return DNET_OK;
    dnet_error("trace: %" PRIu32 " of %" PRIu32 " ranks have no section, rank %" PRIu32
               " is the first; name the files of all ranks",
               missing, trace->ranks, first);
    return DNET_ERR_FORMAT;
}

void dnet_calls_free(dnet_calls_t *trace)
{
    for (uint32_t i = 0; i < trace->ranks; i++) {
        free(trace->rank[i].def);
        free(trace->rank[i].arguments);
        free(trace->rank[i].record);
    }
    free(trace->rank);
    memset(trace, 0, sizeof(*trace));
}

void dnet_calls_print(const dnet_calls_t *trace, FILE *out)
{
    fprintf(out, "# rank gap_ns op arguments\n");
    for (uint32_t i = 0; i < trace->ranks; i++) {
        const dnet_calls_rank_t *r = &trace->rank[i];
        for (size_t k = 0; k < r->records; k++) {
            const dnet_calls_def_t *d = &r->def[r->record[k].def];
            fprintf(out, "%" PRIu32 " %" PRIu64 " %s", i, r->record[k].gap_ns,
                    dnet_calls_op_title(d->op));
            for (uint32_t a = 0; a < d->arguments; a++)
                fprintf(out, " %" PRId64, d->argument[a]);
            fputc('\n', out);
        }
    }
}
