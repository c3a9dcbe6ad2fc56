/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows.  Each member's memory has a region that all add to, a counter, a region that no member
 * changes and two regions for each origin: one it puts to, one it accumulates to.  Accumulates of
 * one origin to one place are ordered, so what is there at the end, and what MPI_Get_accumulate
 * reads in between, is known.
 */
#include "random.h"

#define OPS_MAX 24

typedef struct {
    player_t *p;
    const comm_t *comm;
    MPI_Win win;
    size_t words;     /* of a region */
    uint64_t *memory; /* own */
    uint64_t id;
    bool sum; /* all accumulates are MPI_SUM, else MPI_REPLACE: same_op_no_op is the default */
    uint64_t *shadow; /* [member] what my region for accumulates there holds */
    uint64_t *put;    /* [member] what my region for puts there holds */
    uint64_t *keep;   /* buffers of operations that are not complete */
    size_t keep_used, keep_words;
    bool has_put[RANKS_MAX];   /* to each member, in this epoch */
    uint64_t added[RANKS_MAX]; /* to each member's counter, and to its sums: */
    uint64_t sums[RANKS_MAX];
} window_t;

enum { REGION_SUM, REGION_CONST, REGION_FIRST };
#define REGIONS(members) (REGION_FIRST + 2 * (size_t) (members))

static MPI_Aint at_word(const window_t *w, size_t region, size_t word)
{
    return (MPI_Aint) (1 + region * w->words + word);
}

static size_t put_region(int origin)
{
    return REGION_FIRST + 2 * (size_t) origin;
}

static size_t acc_region(int origin)
{
    return put_region(origin) + 1;
}

static uint64_t const_word(const window_t *w, int member, size_t i)
{
    return mix(w->id + (uint64_t) member * 131 + i + 1);
}

static uint64_t *keep(window_t *w, size_t words)
{
    uint64_t *at = w->keep + w->keep_used;
    w->keep_used += words;
    return at;
}

static bool keep_fits(const window_t *w)
{
    return w->keep_used + 2 * w->words <= w->keep_words;
}

static void fill_words(player_t *p, uint64_t *words, size_t n)
{
    uint64_t start = rng_next(&p->own);
    for (size_t i = 0; i < n; i++)
        words[i] = mix(start + i);
}

static void any_range(window_t *w, size_t *at, size_t *n)
{
    rng_t *rng = &w->p->own;
    *n = chance(rng, 40) ? 1 + below(rng, 4) : 1 + below(rng, (uint32_t) w->words);
    *n = *n < w->words ? *n : w->words;
    *at = below(rng, (uint32_t) (w->words - *n + 1));
}

/* What the last MPI_Get or MPI_Get_accumulate to a member has read; after a flush. */
static void compare_read(window_t *w, const uint64_t *got, const uint64_t *want, size_t n,
                         int member, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            differs(w->p, "%s of %zu words from %d: word %zu is 0x%llx instead of 0x%llx", what, n,
                    member, i, (unsigned long long) got[i], (unsigned long long) want[i]);
}

/* Once in an epoch, as two puts to one place have no order. */
static void op_put(window_t *w, int to)
{
    size_t at_, n;
    any_range(w, &at_, &n);
    if (w->has_put[to])
        return;
    w->has_put[to] = true;
    uint64_t *from = keep(w, n);
    fill_words(w->p, from, n);
    memcpy(w->put + (size_t) to * w->words + at_, from, n * 8);
    expect_ok(w->p,
              MPI_Put(from, (int) n, MPI_UINT64_T, to, at_word(w, put_region(w->comm->me), at_),
                      (int) n, MPI_UINT64_T, w->win),
              "MPI_Put");
}

static void op_get(window_t *w, int from, bool flush)
{
    size_t at_, n;
    any_range(w, &at_, &n);
    uint64_t *to = keep(w, n), *want = keep(w, n);
    for (size_t i = 0; i < n; i++)
        want[i] = const_word(w, from, at_ + i);
    expect_ok(w->p,
              MPI_Get(to, (int) n, MPI_UINT64_T, from, at_word(w, REGION_CONST, at_), (int) n,
                      MPI_UINT64_T, w->win),
              "MPI_Get");
    if (flush) {
        expect_ok(w->p, MPI_Win_flush(from, w->win), "MPI_Win_flush");
        compare_read(w, to, want, n, from, "MPI_Get");
    }
}

/* MPI_SUM or MPI_REPLACE of some words of the own region, and a look at what was there before. */
static void op_accumulate(window_t *w, int to, bool flush)
{
    player_t *p = w->p;
    size_t at_, n;
    any_range(w, &at_, &n);
    bool sum = w->sum, fetch = chance(&p->own, 30);
    uint64_t *from = keep(w, n), *was = keep(w, n);
    uint64_t *shadow = w->shadow + (size_t) to * w->words + at_;
    MPI_Aint where = at_word(w, acc_region(w->comm->me), at_);
    MPI_Op op = sum ? MPI_SUM : MPI_REPLACE;
    fill_words(p, from, n);
    int code = fetch ? MPI_Get_accumulate(from, (int) n, MPI_UINT64_T, was, (int) n, MPI_UINT64_T,
                                          to, where, (int) n, MPI_UINT64_T, op, w->win)
                     : MPI_Accumulate(from, (int) n, MPI_UINT64_T, to, where, (int) n, MPI_UINT64_T,
                                      op, w->win);
    expect_ok(p, code, fetch ? "MPI_Get_accumulate" : "MPI_Accumulate");
    if (flush) {
        expect_ok(p, MPI_Win_flush(to, w->win), "MPI_Win_flush");
        if (fetch)
            compare_read(w, was, shadow, n, to, "MPI_Get_accumulate");
    }
    for (size_t i = 0; i < n; i++)
        shadow[i] = sum ? shadow[i] + from[i] : from[i];
}

/* All add the same to the region of sums: the result tells how often. */
static void op_add_to_all(window_t *w, int to)
{
    uint64_t *ones = keep(w, w->words);
    for (size_t i = 0; i < w->words; i++)
        ones[i] = 1;
    w->sums[to]++;
    expect_ok(w->p,
              MPI_Accumulate(ones, (int) w->words, MPI_UINT64_T, to, at_word(w, REGION_SUM, 0),
                             (int) w->words, MPI_UINT64_T, MPI_SUM, w->win),
              "MPI_Accumulate");
}

static void op_count(window_t *w, int to)
{
    uint64_t *one = keep(w, 1), *was = keep(w, 1);
    *one = 1 + below(&w->p->own, 100);
    w->added[to] += *one;
    expect_ok(w->p, MPI_Fetch_and_op(one, was, MPI_UINT64_T, to, 0, MPI_SUM, w->win),
              "MPI_Fetch_and_op");
}

static void play(window_t *w, bool may_flush)
{
    player_t *p = w->p;
    int ops = 1 + (int) below(&p->own, OPS_MAX);
    for (int i = 0; i < ops && keep_fits(w); i++) {
        int to = (int) below(&p->own, (uint32_t) w->comm->members);
        bool flush = may_flush && chance(&p->own, 30);
        at(p, "operation on a window", i, to);
        switch (below(&p->own, 5)) {
            case 0:
                op_put(w, to);
                break;
            case 1:
                op_get(w, to, flush);
                break;
            case 2:
                op_count(w, to);
                break;
            default:
                op_accumulate(w, to, flush);
                break;
        }
        progressed(p);
    }
    for (int to = 0; to < w->comm->members && keep_fits(w); to++)
        if (w->words <= w->keep_words / 64)
            op_add_to_all(w, to);
}

static void epoch(window_t *w, uint32_t kind)
{
    MPI_Group all;
    switch (kind) {
        case 0:
            expect_ok(w->p, MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win), "MPI_Win_fence");
            play(w, false);
            at(w->p, "MPI_Win_fence", 0, -1);
            expect_ok(w->p, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win), "MPI_Win_fence");
            break;
        case 1:
            expect_ok(w->p, MPI_Win_lock_all(0, w->win), "MPI_Win_lock_all");
            play(w, true);
            at(w->p, "MPI_Win_unlock_all", 0, -1);
            expect_ok(w->p, MPI_Win_unlock_all(w->win), "MPI_Win_unlock_all");
            break;
        case 2:
            for (int to = 0; to < w->comm->members; to++)
                expect_ok(w->p, MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win), "MPI_Win_lock");
            play(w, true);
            at(w->p, "MPI_Win_unlock", 0, -1);
            for (int to = 0; to < w->comm->members; to++)
                expect_ok(w->p, MPI_Win_unlock(to, w->win), "MPI_Win_unlock");
            break;
        default:
            MPI_Comm_group(w->comm->comm, &all);
            expect_ok(w->p, MPI_Win_post(all, 0, w->win), "MPI_Win_post");
            expect_ok(w->p, MPI_Win_start(all, 0, w->win), "MPI_Win_start");
            play(w, false);
            at(w->p, "MPI_Win_complete and MPI_Win_wait", 0, -1);
            expect_ok(w->p, MPI_Win_complete(w->win), "MPI_Win_complete");
            expect_ok(w->p, MPI_Win_wait(w->win), "MPI_Win_wait");
            MPI_Group_free(&all);
            break;
    }
}

/* Each member tells each what it should find, by messages of which other tests show that they work.
 */
static void compare(window_t *w)
{
    player_t *p = w->p;
    const comm_t *c = w->comm;
    int n = (int) w->words;
    size_t all = w->words * (size_t) c->members;
    uint64_t *want = malloc(2 * all * 8), counted[RANKS_MAX], added[RANKS_MAX];
    if (!want)
        abort();
    at(p, "comparing a window", 0, -1);
    expect_ok(p, MPI_Barrier(c->comm), "MPI_Barrier");
    expect_ok(p, MPI_Win_lock(MPI_LOCK_SHARED, c->me, 0, w->win), "MPI_Win_lock");
    MPI_Alltoall(w->shadow, n, MPI_UINT64_T, want, n, MPI_UINT64_T, c->comm);
    MPI_Alltoall(w->put, n, MPI_UINT64_T, want + all, n, MPI_UINT64_T, c->comm);
    MPI_Alltoall(w->added, 1, MPI_UINT64_T, counted, 1, MPI_UINT64_T, c->comm);
    MPI_Alltoall(w->sums, 1, MPI_UINT64_T, added, 1, MPI_UINT64_T, c->comm);
    uint64_t sum = 0, sums_each = 0;
    for (int from = 0; from < c->members; from++) {
        const uint64_t *acc = w->memory + at_word(w, acc_region(from), 0);
        const uint64_t *put = w->memory + at_word(w, put_region(from), 0);
        sum += counted[from];
        sums_each += added[from];
        for (size_t i = 0; i < w->words; i++) {
            if (acc[i] != want[(size_t) from * w->words + i])
                differs(p, "word %zu of %zu that %d has accumulated to is wrong", i, w->words,
                        from);
            if (put[i] != want[all + (size_t) from * w->words + i])
                differs(p, "word %zu of %zu that %d has put to is wrong", i, w->words, from);
        }
    }
    if (w->memory[0] != sum)
        differs(p, "the counter is %llu instead of %llu", (unsigned long long) w->memory[0],
                (unsigned long long) sum);
    const uint64_t *sums = w->memory + at_word(w, REGION_SUM, 0);
    for (size_t i = 0; i < w->words; i++)
        if (sums[i] != sums_each)
            differs(p, "word %zu of the sums is %llu instead of %llu", i,
                    (unsigned long long) sums[i], (unsigned long long) sums_each);
    expect_ok(p, MPI_Win_unlock(c->me, w->win), "MPI_Win_unlock");
    free(want);
}

static void window_make(window_t *w, bool allocate)
{
    size_t bytes = (1 + REGIONS(w->comm->members) * w->words) * 8;
    at(w->p, "making a window", 0, -1);
    if (allocate) {
        expect_ok(w->p,
                  MPI_Win_allocate((MPI_Aint) bytes, 8, MPI_INFO_NULL, w->comm->comm, &w->memory,
                                   &w->win),
                  "MPI_Win_allocate");
    } else {
        w->memory = malloc(bytes);
        if (!w->memory)
            abort();
        expect_ok(
            w->p,
            MPI_Win_create(w->memory, (MPI_Aint) bytes, 8, MPI_INFO_NULL, w->comm->comm, &w->win),
            "MPI_Win_create");
    }
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->comm->me, 0, w->win);
    memset(w->memory, 0, bytes);
    for (size_t i = 0; i < w->words; i++)
        w->memory[at_word(w, REGION_CONST, i)] = const_word(w, w->comm->me, i);
    MPI_Win_unlock(w->comm->me, w->win);
    expect_ok(w->p, MPI_Barrier(w->comm->comm), "MPI_Barrier");
}

void step_window(player_t *p)
{
    window_t w = {.p = p, .comm = &p->comms[below(&p->plan, (uint32_t) p->comms_count)]};
    bool allocate = chance(&p->plan, 50);
    int epochs = 1 + (int) below(&p->plan, 3);
    size_t members = (size_t) w.comm->members;
    w.words = 2 + any_size(&p->plan, p->size_max / 8) / 8;
    w.id = rng_next(&p->plan);
    w.sum = chance(&p->plan, 40);
    if (w.comm->me < 0 || w.comm->inter)
        return;
    w.keep_words = (OPS_MAX * 2 + 2) * w.words + 128;
    if (w.keep_words > 1u << 20)
        w.keep_words = (1u << 20) + 4 * w.words;
    w.keep = malloc(w.keep_words * 8);
    w.shadow = calloc(members, w.words * 8);
    w.put = calloc(members, w.words * 8);
    if (!w.keep || !w.shadow || !w.put)
        abort();
    window_make(&w, allocate);
    for (int i = 0; i < epochs; i++) {
        w.keep_used = 0;
        memset(w.has_put, 0, sizeof(w.has_put));
        epoch(&w, below(&p->plan, 4));
        expect_ok(p, MPI_Barrier(w.comm->comm), "MPI_Barrier");
        progressed(p);
    }
    compare(&w);
    at(p, "MPI_Win_free", 0, -1);
    expect_ok(p, MPI_Win_free(&w.win), "MPI_Win_free");
    if (!allocate)
        free(w.memory);
    free(w.keep);
    free(w.shadow);
    free(w.put);
    progressed(p);
}
