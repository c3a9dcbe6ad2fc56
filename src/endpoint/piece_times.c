/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/piece_times.h"

/* Where the two copies of a piece, in and out, take longer than the kernel's for both sides (the
 * processors share no cache, or others use it), messages go otherwise.  By the kernel a piece takes
 * 5.6 us at least, and moves the lines of the sender's buffer to the other processor, which the
 * sender fetches back when it stores there next; in and out take 3.5 to 4 us, 5.3 and more where
 * that is slow. */
#define SLOW_PIECE_NS 5000
#define SLOWEST_COPY_NS 8000 /* what takes longer was interrupted */
#define COUNTED 8u           /* a copy is this part of what is usual, after so many */
/* After so many bytes that went otherwise it is tried anew, after twice as many if it is still
 * slow.  A ring that was not used for a time is slow in any case: the first lap of a trial does not
 * count.  Where its copies show that no cache is shared, it ends. */
#define TRIAL_BEGINS (2u << 20)
#define REST_LEAST (UINT64_C(32) << 20)
#define REST_MOST (UINT64_C(1) << 30)

static void learn(dnet_usual_time_t *usual, uint32_t bytes, uint64_t ns)
{
    uint64_t piece_ns = ns * DNET_PIECE_BYTES / bytes;
    int64_t here = piece_ns < SLOWEST_COPY_NS ? (int64_t) piece_ns : SLOWEST_COPY_NS;
    usual->counted += usual->counted < COUNTED;
    usual->ns += (here - usual->ns) / (int64_t) usual->counted;
}

void dnet_piece_sent(dnet_piece_times_t *t, uint32_t bytes, uint64_t ns)
{
    uint32_t left = DNET_TRIAL_BYTES - t->trial;
    t->trial += bytes < left ? bytes : left;
    if (ns && t->trial > TRIAL_BEGINS)
        learn(&t->sent, bytes, ns);
}

void dnet_piece_taken(dnet_piece_times_t *t, uint32_t bytes, uint64_t ns)
{
    if (ns && t->trial > TRIAL_BEGINS)
        learn(&t->taken, bytes, ns);
}

static bool are_fast(const dnet_piece_times_t *t)
{
    return t->sent.ns + t->taken.ns < SLOW_PIECE_NS;
}

bool dnet_pieces_were_fast(const dnet_piece_times_t *t)
{
    return t->trial == DNET_TRIAL_BYTES && !t->rest && are_fast(t);
}

bool dnet_pieces_are_fast(dnet_piece_times_t *t, size_t len, dnet_pace_t *pace)
{
    if (t->rest > len) {
        t->rest -= len;
        return false;
    }
    if (t->rest) {
        t->rest = 0;
        t->trial = 0;
        t->sent = t->taken = (dnet_usual_time_t){0};
        dnet_pace_anew(pace);
    }
    if (t->trial < DNET_TRIAL_BYTES && !dnet_pace_is_slow(pace))
        return true;
    if (t->trial == DNET_TRIAL_BYTES && are_fast(t)) {
        t->rests = REST_LEAST;
        return true;
    }
    t->rest = t->rests ? t->rests : REST_LEAST;
    t->rests = 2 * t->rest < REST_MOST ? 2 * t->rest : REST_MOST;
    return false;
}
