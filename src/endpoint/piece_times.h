/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is it worth it to send long messages through the receiver's ring, in pieces, where the kernel is
 * slow to copy?  Decided by how long the copies of pieces have taken, in and out.
 */
#ifndef DNET_ENDPOINT_PIECE_TIMES_H
#define DNET_ENDPOINT_PIECE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/move.h"

#define DNET_PIECE_BYTES 65536u
#define DNET_TRIAL_BYTES (3u << 20)

/** Is the piece of a message with this number, from 0, one of those that are timed?  While all
 * pieces of 32 KB were, reading the clock had 5 % of the samples of osu_bw.  @param bytes  of each
 * piece; of those of less than 16 KB, or more than DNET_PIECE_BYTES, none is */
static inline bool dnet_piece_is_timed(uint32_t piece, uint32_t bytes)
{
    return bytes >= 16384 && bytes <= DNET_PIECE_BYTES &&
           piece % (2 * DNET_PIECE_BYTES / bytes) == 1;
}

/* What copying a whole piece usually takes: the mean of the first ones, then the latest count most.
 */
typedef struct {
    int64_t ns;
    uint32_t counted; /* copies, up to a number */
} dnet_usual_time_t;

typedef struct {
    uint32_t trial;     /* bytes sent since they were found slow, up to those of a trial */
    uint64_t announced; /* bytes that shall go as pieces in this trial */
    uint64_t rest;      /* bytes to go otherwise before the next trial */
    uint64_t rests;     /* and after the next one */
    dnet_usual_time_t sent, taken; /* a piece copied in, and out */
} dnet_piece_times_t;

/* The same bytes by the kernel, of which each side copies a half where both do. */
typedef struct {
    dnet_usual_time_t own, told; /* by this process and by receivers, since the last trial began */
    int64_t known_ns;            /* that, as soon as it says something; 0: nothing is known */
    uint64_t copied;             /* bytes since then */
    uint64_t trial, messages;    /* bytes that went so only to know, and in how many messages */
    uint64_t pause;              /* bytes to go before the next ones do */
    uint64_t pauses;             /* and after these */
} dnet_kernel_times_t;

/** Are pieces fast, or tried, and is the kernel not?  Asked once for each message.
 *
 * @param len   its bytes
 * @param pace  of copies into rings: where it is slow, pieces are not tried to the end
 * @param k     what they are compared with; NULL: a constant, and the kernel is not tried */
bool dnet_pieces_are_fast(dnet_piece_times_t *t, size_t len, dnet_pace_t *pace,
                          dnet_kernel_times_t *k);

/** Were pieces fast as far as is known, and has a trial ended? */
bool dnet_pieces_were_fast(const dnet_piece_times_t *t, const dnet_kernel_times_t *k);

/** Another process would send a message as pieces to this one, whose own go otherwise.
 *
 * @param len  its bytes, which count for the pause as own ones
 * @return whether it shall go otherwise, too */
bool dnet_pieces_rest(dnet_piece_times_t *t, size_t len);

/** The kernel has copied so many bytes between processes, for this one. */
void dnet_kernel_copied(dnet_kernel_times_t *k, uint64_t bytes, uint64_t ns);

/** A receiver of so many bytes tells what a piece usually takes it.  0: it does not say. */
void dnet_kernel_told(dnet_kernel_times_t *k, uint64_t bytes, uint32_t piece_ns);

/** A piece has been sent; it took so long.  0: it was not timed. */
void dnet_piece_sent(dnet_piece_times_t *t, uint32_t bytes, uint64_t ns);

/** So long a receiver has taken to copy so many bytes out; 0: it does not say. */
void dnet_piece_taken(dnet_piece_times_t *t, uint32_t bytes, uint64_t ns);

#endif
