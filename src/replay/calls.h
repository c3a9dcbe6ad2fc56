/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces of MPI programs: what libdimmnet-trace writes and dnet-replay reads.
 *
 * A file is one section per traced rank, one after the other, in any order; files may be joined
 * with cat, and compressed with gzip.  Fixed numbers are little endian; v is an unsigned LEB128
 * number of at most 10 bytes (7 bits a byte, lowest first, bit 7: more follow), s is a v that
 * holds a signed number (0, -1, 1, -2 ... are 0, 1, 2, 3 ...).  A section:
 *
 *   header, 32 bytes
 *      0  8 bytes  44 4e 43 41 4c 4c 53 1a ("DNCALLS" and 1a)
 *      8  u16      version, 1
 *     10  u16      bytes of the header, 32; a reader skips what it does not know
 *     12  u32      rank in MPI_COMM_WORLD
 *     16  u32      ranks of MPI_COMM_WORLD
 *     20  u32      tick: gaps are counted in so many ns
 *     24  u64      0
 *   v n, n bytes: name of the program
 *   blocks, until one with no records:
 *      v records
 *      v definitions that are new in this block; each: one byte op, v n, n times s argument
 *      records times v: number of the record's definition, in the order of definition from 0
 *      records times v: gap, ticks of processor time of the calling thread since its last MPI call
 *   v ticks from the last call to MPI_Finalize, v ns from MPI_Init to MPI_Finalize on the clock
 *
 * calls.def lists ops and arguments; a MATCH stands before the WAIT for its request.  A peer
 * is a rank of MPI_COMM_WORLD (-1 and tag -1: any), a communicator a number of its rank's own: 0
 * is MPI_COMM_WORLD, others count by first use.  Definitions repeat in programs that iterate, and
 * columns of small numbers compress well.
 *
 * Threads: independent objects may be used by different threads.
 */
#ifndef DNET_REPLAY_CALLS_H
#define DNET_REPLAY_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dimmnet/status.h"

#define DNET_CALLS_MAGIC "DNCALLS\x1a"
#define DNET_CALLS_VERSION 1
#define DNET_CALLS_HEADER 32u
#define DNET_CALLS_RANKS_MAX 65536u
#define DNET_CALLS_ANY (-1)

typedef enum {
#define DNET_CALLS_OP(name, code, least, most, title, arguments) DNET_CALLS_##name = code,
#include "replay/calls.def"
#undef DNET_CALLS_OP
} dnet_calls_op_t;

typedef enum {
#define DNET_CALLS_COLL(name, code, together) DNET_CALLS_COLL_##name = code,
#include "replay/calls.def"
#undef DNET_CALLS_COLL
} dnet_calls_coll_t;

/** Name of an op ("isend"), NULL if there is none of that code. */
const char *dnet_calls_op_title(unsigned op);

/* Writing: one section at a time. */

typedef struct dnet_calls_writer dnet_calls_writer_t;

/**
 * Begin a section in `out`, which stays the caller's and must outlive the writer.
 *
 * @param tick_ns  unit of gaps, 1..; what a gap loses is added to the next one
 * @param name     of the program, at most 255 bytes are kept
 * @return DNET_OK; ERR_NO_MEMORY
 */
dnet_status_t dnet_calls_begin(FILE *out, uint32_t rank, uint32_t ranks, uint32_t tick_ns,
                               const char *name, dnet_calls_writer_t **w_p);

/** One record, `gap_ns` of processor time before it.  Lack of memory or disk shows at the end. */
void dnet_calls_record(dnet_calls_writer_t *w, dnet_calls_op_t op, const int64_t *argument,
                       uint32_t arguments, uint64_t gap_ns);

/**
 * Close the section and free the writer.
 *
 * @return DNET_OK; ERR_NO_MEMORY, ERR_SYSTEM (errno): the file is not complete
 */
dnet_status_t dnet_calls_end(dnet_calls_writer_t *w, uint64_t gap_ns, uint64_t wall_ns);

/* Reading. */

typedef struct {
    uint8_t op;
    uint32_t arguments; /* entries of argument[] */
    const int64_t *argument;
} dnet_calls_def_t;

typedef struct {
    uint32_t def;    /* number of the definition */
    uint64_t gap_ns; /* processor time before it */
} dnet_calls_record_t;

typedef struct {
    char name[256]; /* of the program */
    dnet_calls_def_t *def;
    uint32_t defs;      /* entries of def[] */
    int64_t *arguments; /* of all definitions */
    dnet_calls_record_t *record;
    size_t records; /* entries of record[] */
    uint64_t last_gap_ns, wall_ns;
    bool here; /* a section of this rank has been read */
} dnet_calls_rank_t;

typedef struct {
    uint32_t ranks; /* 0 before the first section */
    dnet_calls_rank_t *rank;
} dnet_calls_t;

/**
 * Add the sections of a file, plain or compressed by gzip.  The trace must be zeroed before the
 * first.
 *
 * @return DNET_OK; ERR_FORMAT, ERR_SYSTEM: a line on standard error names file, byte and cause;
 *         ERR_NO_MEMORY
 */
dnet_status_t dnet_calls_load(dnet_calls_t *trace, const char *path);

/** Add the sections in memory; `where` names them in error lines. */
dnet_status_t dnet_calls_parse(dnet_calls_t *trace, const uint8_t *data, size_t size,
                               const char *where);

/** After the last file: every rank must be there.  @return DNET_OK; ERR_FORMAT, with a line */
dnet_status_t dnet_calls_complete(const dnet_calls_t *trace);

/** Free what a trace holds, and make it empty. */
void dnet_calls_free(dnet_calls_t *trace);

/** Every record in words, one a line: rank, gap in ns, op, arguments. */
void dnet_calls_print(const dnet_calls_t *trace, FILE *out);

#endif
