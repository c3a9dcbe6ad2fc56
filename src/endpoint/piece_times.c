/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/piece_times.h"

/* Where the two copies of a piece, in and out, take longer than the kernel's for both sides (the
 * processors share no cache, or others use it), messages go otherwise.  By the kernel a piece takes
 * 2.8 us at least, and moves the lines of the sender's buffer to the other processor, which the
 * sender fetches back when it stores there next; in and out take 2 us, 6 and more where that is
 * slow. */
#define SLOW_PIECE_NS 3400
#define SLOWEST_COPY_NS 8000 /* what takes longer was interrupted */
#define COUNTED 8u           /* a copy is this part of what is usual, after so many */
/* After so many pieces that went otherwise it is tried anew, after twice as many if it is still
 * slow.  A ring that was not used for a time is slow in any case: the first lap of a trial does not
 * count. */
#define TRIAL_BEGINS 64u
#define REST_LEAST 128u
#define REST_MOST 32768u

static void learn(dnet_usual_time_t *usual, uint64_t ns)
{
    int64_t here = ns < SLOWEST_COPY_NS ? (int64_t) ns : SLOWEST_COPY_NS;
    usual->counted += usual->counted < COUNTED;
    usual->ns += (here - usual->ns) / (int64_t) usual->counted;
}

void dnet_piece_sent(dnet_piece_times_t *t, uint64_t ns)
{
    t->trial += t->trial < DNET_PIECES_OF_TRIAL;
    if (ns && t->trial > TRIAL_BEGINS)
        learn(&t->sent, ns);
}

void dnet_piece_taken(dnet_piece_times_t *t, uint64_t ns)
{
    if (ns && t->trial > TRIAL_BEGINS)
        learn(&t->taken, ns);
}

static bool are_fast(const dnet_piece_times_t *t)
{
    return t->sent.ns + t->taken.ns < SLOW_PIECE_NS;
}

bool dnet_pieces_were_fast(const dnet_piece_times_t *t)
{
    return t->trial == DNET_PIECES_OF_TRIAL && !t->rest && are_fast(t);
}

bool dnet_pieces_are_fast(dnet_piece_times_t *t, uint32_t count)
{
    if (t->rest > count) {
        t->rest -= count;
        return false;
    }
    if (t->rest) {
        t->rest = t->trial = 0;
        t->sent = t->taken = (dnet_usual_time_t){0};
    }
    if (t->trial < DNET_PIECES_OF_TRIAL)
        return true;
    if (are_fast(t)) {
        t->rests = REST_LEAST;
        return true;
    }
    t->rest = t->rests ? t->rests : REST_LEAST;
    t->rests = 2 * t->rest < REST_MOST ? 2 * t->rest : REST_MOST;
    return false;
}
