/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Accumulates of one origin to one place take effect in order, whatever their sizes: a short one
 * behind a long one, and one that fetches between them.  A long put lands in the window, in blocks
 * too.  What is fetched may go to an absolute address.
 */
#include "check.h"

enum { WORDS = 65536, ROUNDS = 50 };

static uint32_t *from, *window;

static void replace(MPI_Win win, int words, uint32_t value)
{
    for (int i = 0; i < words; i++)
        from[i] = value;
    MPI_Accumulate(from, words, MPI_UINT32_T, 1, 0, words, MPI_UINT32_T, MPI_REPLACE, win);
}

static void short_behind_long(MPI_Win win)
{
    static uint32_t last, was;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_fence(0, win);
        if (rank == 0) {
            last = 1000 + round;
            replace(win, WORDS, round);
            MPI_Accumulate(&last, 1, MPI_UINT32_T, 1, 0, 1, MPI_UINT32_T, MPI_REPLACE, win);
            MPI_Get_accumulate(NULL, 0, MPI_UINT32_T, &was, 1, MPI_UINT32_T, 1, 0, 1, MPI_UINT32_T,
                               MPI_NO_OP, win);
        }
        MPI_Win_fence(0, win);
        if (rank == 0)
            CHECK(was == last, "round %d: fetched %u instead of %u", round, was, last);
        if (rank == 1) {
            CHECK(window[0] == 1000u + round, "round %d: the last value is %u", round, window[0]);
            for (int i = 1; i < WORDS; i++)
                CHECK(window[i] == (uint32_t) round, "round %d: word %d is %u", round, i,
                      window[i]);
        }
    }
}

static void long_put(MPI_Win win)
{
    MPI_Datatype gaps;
    MPI_Type_vector(WORDS / 4, 2, 4, MPI_UINT32_T, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < WORDS; i++)
        from[i] = 77 + i;
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(from, WORDS, MPI_UINT32_T, 1, 0, WORDS, MPI_UINT32_T, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < WORDS && rank == 1; i++)
        CHECK(window[i] == 77u + i, "put: word %d is %u", i, window[i]);
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(from + 5, WORDS / 2, MPI_UINT32_T, 1, 0, 1, gaps, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < WORDS && rank == 1; i++)
        CHECK(window[i] == (i % 4 < 2 ? 82u + i / 4 * 2 + i % 4 : 77u + i),
              "put in blocks: word %d is %u", i, window[i]);
    MPI_Type_free(&gaps);
}

static void fetch_to_an_address(MPI_Win win)
{
    uint32_t got = 0, one = 1;
    int length = 1;
    MPI_Aint at;
    MPI_Datatype there;
    MPI_Get_address(&got, &at);
    MPI_Type_create_hindexed(1, &length, &at, MPI_UINT32_T, &there);
    MPI_Type_commit(&there);
    if (rank == 1)
        window[3] = 40;
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Get_accumulate(&one, 1, MPI_UINT32_T, MPI_BOTTOM, 1, there, 1, 3, 1, MPI_UINT32_T,
                           MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(rank != 0 || got == 40, "fetched %u to an address", got);
    CHECK(rank != 1 || window[3] == 41, "the sum is %u", window[3]);
    MPI_Type_free(&there);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Win win;
    from = check_alloc(WORDS * sizeof(*from));
    MPI_Win_allocate(WORDS * sizeof(*window), sizeof(*window), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &window, &win);
    short_behind_long(win);
    long_put(win);
    fetch_to_an_address(win);
    MPI_Win_free(&win);
    free(from);
    return check_end();
}
