/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/piece_times.h"

/* Where the two copies of a piece, in and out, take longer than the kernel's for both sides (the
 * processors share no cache, or others use it), messages go otherwise.  Not only the copies count:
 * a piece is a packet, and the kernel moves the lines of the sender's buffer to the other
 * processor, which the sender fetches back when it stores there next. */
#define PIECE_MORE_NS 300
/* As long as nothing is known: on Zen 4, where in and out take 3.5 to 4 us, those are faster. */
#define KERNEL_NS 5300
#define SLOWEST_COPY_NS 8000 /* what takes longer was interrupted */
#define SLOWEST_KERNEL_NS 20000
/* A copy is this part of what is usual, after so many; and counts for no more than twice that, or
 * one that was interrupted would be enough to find pieces slow. */
#define COUNTED 8u
/* After so many bytes that went otherwise it is tried anew, after twice as many if it is still
 * slow.  A ring that was not used for a time is slow in any case: the first lap of a trial does not
 * count.  Where its copies show that no cache is shared, it ends. */
#define TRIAL_BEGINS (2u << 20)
#define REST_LEAST (UINT64_C(256) << 20)
/* Where copies of pieces take more than 9/8 of the kernel's. */
#define REST_CLEAR (UINT64_C(2) << 30)
/* Of a window of 64 messages of 4 MB, all announced before a piece of the first one is sent, no
 * more belong to a trial; those behind so many do when it has not come to an end by then. */
#define TRIAL_ANNOUNCED (UINT64_C(16) << 20)
#define TRIAL_ANNOUNCED_AGAIN (UINT64_C(48) << 20)
#define REST_MOST (UINT64_C(8) << 30)
/* While pieces are fast the kernel is tried, for so many bytes, or messages where these are more:
 * as many as programs have under way, or the trial is one of copies beside pieces.  The first
 * copies do not count, for their bytes are in no cache yet.  The pauses between trials are many
 * times as long, and double as long as pieces stay faster. */
#define KERNEL_TRIAL_BYTES (16u << 20)
#define KERNEL_TRIAL_MESSAGES 64u
#define KERNEL_TRIAL_MOST (256u << 20)
#define KERNEL_PAUSE_TRIALS 16u
#define KERNEL_BEGINS (4u << 20)
#define KERNEL_PAUSE_LEAST (UINT64_C(256) << 20)
#define KERNEL_PAUSE_MOST (UINT64_C(4) << 30)

static void learn(dnet_usual_time_t *usual, uint64_t bytes, uint64_t ns, int64_t most)
{
    uint64_t piece_ns = ns * DNET_PIECE_BYTES / bytes;
    if (usual->counted == COUNTED && most > 2 * usual->ns)
        most = 2 * usual->ns;
    int64_t here = piece_ns < (uint64_t) most ? (int64_t) piece_ns : most;
    usual->counted += usual->counted < COUNTED;
    usual->ns += (here - usual->ns) / (int64_t) usual->counted;
}

void dnet_piece_sent(dnet_piece_times_t *t, uint32_t bytes, uint64_t ns)
{
    uint32_t left = DNET_TRIAL_BYTES - t->trial;
    t->trial += bytes < left ? bytes : left;
    if (ns && t->trial > TRIAL_BEGINS)
        learn(&t->sent, bytes, ns, SLOWEST_COPY_NS);
}

void dnet_piece_taken(dnet_piece_times_t *t, uint32_t bytes, uint64_t ns)
{
    if (ns && t->trial > TRIAL_BEGINS)
        learn(&t->taken, bytes, ns, SLOWEST_COPY_NS);
}

/* Two that copy at the same time have as many pieces done as one that takes so long and another
 * that does, too. */
static int64_t of_both(const dnet_usual_time_t *one, const dnet_usual_time_t *other)
{
    if (one->counted < COUNTED || other->counted < COUNTED)
        return one->counted == COUNTED ? one->ns : other->counted == COUNTED ? other->ns : 0;
    return 2 * one->ns * other->ns / (one->ns + other->ns + 1);
}

static void learn_kernel(dnet_kernel_times_t *k, dnet_usual_time_t *usual, uint64_t bytes,
                         uint64_t ns)
{
    int64_t now;
    k->copied += bytes;
    if (k->copied > KERNEL_BEGINS)
        learn(usual, bytes, ns, SLOWEST_KERNEL_NS);
    now = of_both(&k->own, &k->told);
    k->known_ns = now ? now : k->known_ns;
}

void dnet_kernel_copied(dnet_kernel_times_t *k, uint64_t bytes, uint64_t ns)
{
    learn_kernel(k, &k->own, bytes, ns);
}

void dnet_kernel_told(dnet_kernel_times_t *k, uint64_t bytes, uint32_t piece_ns)
{
    if (piece_ns && bytes)
        learn_kernel(k, &k->told, bytes, piece_ns * bytes / DNET_PIECE_BYTES);
}

static bool are_fast(const dnet_piece_times_t *t, const dnet_kernel_times_t *k)
{
    int64_t kernel_ns = k && k->known_ns ? k->known_ns : KERNEL_NS;
    return t->sent.ns + t->taken.ns + PIECE_MORE_NS < kernel_ns;
}

static bool are_clearly_slow(const dnet_piece_times_t *t, const dnet_kernel_times_t *k)
{
    return k && k->known_ns && t->sent.ns + t->taken.ns > k->known_ns + k->known_ns / 8;
}

bool dnet_pieces_were_fast(const dnet_piece_times_t *t, const dnet_kernel_times_t *k)
{
    return t->trial == DNET_TRIAL_BYTES && !t->rest && are_fast(t, k);
}

bool dnet_pieces_rest(dnet_piece_times_t *t, size_t len)
{
    bool rest = t->rest > len;
    t->rest -= rest ? len : 0;
    return rest;
}

/* Shall a message, while pieces are fast, go by the kernel so that its time is known? */
static bool tries_kernel(dnet_kernel_times_t *k, size_t len)
{
    if (k->pause > len) {
        k->pause -= len;
        return false;
    }
    if (k->pause)
        *k = (dnet_kernel_times_t){.known_ns = k->known_ns, .pauses = k->pauses};
    k->trial += len;
    k->messages++;
    if (k->trial < KERNEL_TRIAL_BYTES ||
        (k->messages < KERNEL_TRIAL_MESSAGES && k->trial < KERNEL_TRIAL_MOST))
        return true;
    k->pause = k->pauses ? k->pauses : KERNEL_PAUSE_LEAST;
    if (k->pause < KERNEL_PAUSE_TRIALS * k->trial)
        k->pause = KERNEL_PAUSE_TRIALS * k->trial;
    k->pauses = 2 * k->pause < KERNEL_PAUSE_MOST ? 2 * k->pause : KERNEL_PAUSE_MOST;
    return false;
}

/* Does a message, in a trial, belong to it? */
static bool is_tried(dnet_piece_times_t *t, size_t len)
{
    bool tried = t->announced < TRIAL_ANNOUNCED;
    t->announced += len;
    if (t->announced > TRIAL_ANNOUNCED_AGAIN)
        t->announced = 0;
    return tried;
}

bool dnet_pieces_are_fast(dnet_piece_times_t *t, size_t len, dnet_pace_t *pace,
                          dnet_kernel_times_t *k)
{
    if (t->rest > len) {
        t->rest -= len;
        return false;
    }
    if (t->rest) {
        t->rest = t->announced = 0;
        t->trial = 0;
        t->sent = t->taken = (dnet_usual_time_t){0};
        dnet_pace_anew(pace);
    }
    if (t->trial < DNET_TRIAL_BYTES && !dnet_pace_is_slow(pace))
        return is_tried(t, len);
    if (k && t->trial == DNET_TRIAL_BYTES && are_fast(t, k) && tries_kernel(k, len))
        return false;
    if (t->trial == DNET_TRIAL_BYTES && are_fast(t, k)) {
        t->rests = REST_LEAST;
        return true;
    }
    if (k)
        k->pauses = KERNEL_PAUSE_LEAST;
    t->rest = t->rests ? t->rests : REST_LEAST;
    if (are_clearly_slow(t, k) && t->rest < REST_CLEAR)
        t->rest = REST_CLEAR;
    t->rests = 2 * t->rest < REST_MOST ? 2 * t->rest : REST_MOST;
    return false;
}
