/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication, straight in the target's memory and over active messages: put, get,
 * accumulate, get_accumulate, fetch_and_op, compare_and_swap; fence, lock, lock_all, post/start;
 * small and large, with gaps; a shared window.
 */
#include "check.h"

enum { N = 200000 };

static void fence_put_get(void)
{
    double *base, *local = check_alloc(N * sizeof(double));
    MPI_Win win;
    MPI_Win_allocate(N * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                     &win);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    static const int counts[] = {1, 7, 500, 5000, N};
    for (int c = 0; c < 5; c++) {
        int n = counts[c];
        for (int i = 0; i < n; i++) {
            base[i] = -1;
            local[i] = rank * 1e6 + i;
        }
        MPI_Win_fence(0, win);
        MPI_Put(local, n, MPI_DOUBLE, right, 0, n, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        CHECK(base[0] == left * 1e6 && base[n - 1] == left * 1e6 + n - 1, "put of %d: %g .. %g", n,
              base[0], base[n - 1]);
        memset(local, 0, n * sizeof(double));
        MPI_Get(local, n, MPI_DOUBLE, right, 0, n, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        CHECK(local[0] == rank * 1e6 && local[n - 1] == rank * 1e6 + n - 1, "get of %d: %g .. %g",
              n, local[0], local[n - 1]);
    }
    /* Every other element, both ways. */
    MPI_Datatype type;
    MPI_Type_vector(1000, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2000; i++) {
        base[i] = -1;
        local[i] = i + rank;
    }
    MPI_Win_fence(0, win);
    MPI_Put(local, 1, type, right, 0, 1, type, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 2000; i++)
        if (base[i] != (i % 2 ? -1 : i + left)) {
            CHECK(0, "strided put differs at %d: %g", i, base[i]);
            break;
        }
    memset(local, 0, 2000 * sizeof(double));
    MPI_Get(local, 1000, MPI_DOUBLE, right, 0, 1, type, win);
    MPI_Win_fence(0, win);
    CHECK(local[0] == rank && local[999] == 1998 + rank, "strided get: %g .. %g", local[0],
          local[999]);
    MPI_Type_free(&type);
    MPI_Win_free(&win);
    free(local);
}

/* 1.6 MB, as often as it takes to copy them by each way that is timed (src/common/bulk.c), and by
 * the faster one. */
static void long_ones(void)
{
    enum { TIMES = 12 };
    double *base, *local = check_alloc(N * sizeof(double));
    int right = (rank + 1) % size, left = (rank + size - 1) % size, bad = 0;
    MPI_Win win;
    MPI_Win_allocate(N * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                     &win);
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++)
            local[i] = 1e9 * t + 1e6 * rank + i;
        MPI_Win_fence(0, win);
        MPI_Put(local, N, MPI_DOUBLE, right, 0, N, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < N; i++) {
            bad += base[i] != 1e9 * t + 1e6 * left + i;
            local[i] = -1;
        }
        MPI_Win_fence(0, win);
        MPI_Get(local, N, MPI_DOUBLE, right, 0, N, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < N; i++)
            bad += local[i] != 1e9 * t + 1e6 * rank + i;
    }
    CHECK(bad == 0, "%d elements of long puts and gets differ", bad);
    MPI_Win_free(&win);
    free(local);
}

static void accumulate(void)
{
    int *base, *ones = check_alloc(N * sizeof(int));
    MPI_Win win;
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < N; i++) {
        base[i] = 0;
        ones[i] = i % 10 + 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int r = 0; r < size; r++)
        MPI_Accumulate(ones, N, MPI_INT, r, 0, N, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < N; i++)
        if (base[i] != size * (i % 10 + 1)) {
            CHECK(0, "accumulated %d at %d", base[i], i);
            break;
        }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    /* A counter on rank 0 that each rank draws numbers from. */
    enum { DRAWS = 50 };
    int one = 1, last = -1;
    base[0] = base[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < DRAWS; i++) {
        int drawn;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Fetch_and_op(&one, &drawn, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        CHECK(drawn > last, "drew %d after %d", drawn, last);
        last = drawn;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        int result, expected;
        MPI_Get_accumulate(NULL, 0, MPI_INT, &expected, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_NO_OP,
                           win);
        MPI_Win_flush(0, win);
        int wanted = expected + 1;
        MPI_Compare_and_swap(&wanted, &expected, &result, MPI_INT, 0, 1, win);
        MPI_Win_unlock(0, win);
        CHECK(result == expected, "the locked counter changed from %d to %d", expected, result);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK(base[0] == size * DRAWS && base[1] == size * DRAWS, "counters %d and %d", base[0],
              base[1]);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    free(ones);
}

static void post_start(void)
{
    int cell = -1, value = 100 + rank, peer = rank ^ 1;
    MPI_Win win;
    MPI_Group world, group;
    MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (peer < size) {
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &peer, &group);
        MPI_Win_post(group, 0, win);
        MPI_Win_start(group, 0, win);
        MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(cell == 100 + peer, "cell %d", cell);
        MPI_Group_free(&group);
        MPI_Group_free(&world);
    }
    MPI_Win_free(&win);
}

/* Ranks that run on this host. */
static int on_this_host(void)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", *all = check_alloc((size_t) size * sizeof(own));
    int length, n = 0;
    MPI_Get_processor_name(own, &length);
    MPI_Allgather(own, sizeof(own), MPI_CHAR, all, sizeof(own), MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        n += strcmp(all + (size_t) i * sizeof(own), own) == 0;
    free(all);
    return n;
}

static void shared(void)
{
    MPI_Comm node;
    MPI_Win win;
    int *mine, *theirs, node_rank, node_size, unit;
    MPI_Aint bytes;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    int want = on_this_host();
    CHECK(node_size == want, "%d of %d ranks share memory", node_size, want);
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_lock_all(0, win);
    *mine = 1000 + node_rank;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    MPI_Win_shared_query(win, (node_rank + 1) % node_size, &bytes, &unit, &theirs);
    CHECK(*theirs == 1000 + (node_rank + 1) % node_size, "the neighbour's word is %d", *theirs);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    fence_put_get();
    long_ones();
    accumulate();
    post_start();
    shared();
    return check_end();
}
