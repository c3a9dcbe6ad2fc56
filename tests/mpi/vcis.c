/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several VCIs: four threads of each process at once, each on a communicator and in a window of its
 * own, so that each has an endpoint of its own (vcis.sh counts what went through each).  Messages
 * of all sizes, wildcards, probes, cancelled receives, types with gaps, collectives, one-sided
 * operations; then one thread waits for requests of all endpoints, and a thread for what another
 * one makes happen by another endpoint.
 */
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

enum { THREADS = 4, ROUNDS = 60, MOST = 100000, GAPS = 600 };

static MPI_Comm comms[THREADS];
static MPI_Win windows[THREADS];
static int64_t *memory[THREADS]; /* of the windows: a counter, and a place for each rank */
static int *blocks[THREADS];     /* of MPI_Alloc_mem: GAPS elements in steps of 3, twice */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void expect(bool good, int t, int round, const char *what)
{
    pthread_mutex_lock(&lock);
    CHECK(good, "thread %d round %d: %s", t, round, what);
    pthread_mutex_unlock(&lock);
}

/* A message to the right, one from the left: known or not, probed for or not. */
static void exchange(int t, int round, uint32_t *random, uint8_t *out, uint8_t *in)
{
    MPI_Comm comm = comms[t];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count;
    int tag = 10 + round % 3;
    size_t len = random_length(random, MOST);
    uint32_t seed = (uint32_t) (t * 1000 + round);
    MPI_Request send;
    MPI_Message message;
    MPI_Status status;
    pattern_fill(out, len, seed + (uint32_t) rank * 100000);
    if (round % 2)
        MPI_Issend(out, (int) len, MPI_BYTE, right, tag, comm, &send);
    else
        MPI_Isend(out, (int) len, MPI_BYTE, right, tag, comm, &send);
    switch (round % 5) {
        case 0:
            MPI_Recv(in, MOST, MPI_BYTE, left, tag, comm, &status);
            break;
        case 1:
            MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status);
            break;
        case 2:
            MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            break;
        case 3:
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            MPI_Recv(in, MOST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
            break;
        case 4:
            MPI_Mprobe(left, MPI_ANY_TAG, comm, &message, &status);
            MPI_Mrecv(in, MOST, MPI_BYTE, &message, &status);
            break;
    }
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(status.MPI_SOURCE == left && status.MPI_TAG == tag && (size_t) count == len, t, round,
           "source, tag or length");
    expect(pattern_differs(in, len, seed + (uint32_t) left * 100000) == len, t, round, "content");
}

/* A receive that nothing matches is withdrawn from the endpoint that has it. */
static void cancel(int t, int round)
{
    int cancelled, never;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 99, comms[t], &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    expect(cancelled, t, round, "a receive is not cancelled");
}

/* A type with gaps, in memory where a NIC could gather and scatter it. */
static void gaps(int t, int round)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, wrong = 0;
    int *out = blocks[t], *in = out + 3 * GAPS;
    MPI_Datatype type;
    MPI_Type_vector(GAPS, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < GAPS; i++) {
        out[3 * i] = rank * 10000 + round * 7 + i;
        in[3 * i] = -1;
    }
    MPI_Sendrecv(out, 1, type, right, 20, in, 1, type, left, 20, comms[t], MPI_STATUS_IGNORE);
    for (int i = 0; i < GAPS; i++)
        wrong += in[3 * i] != left * 10000 + round * 7 + i;
    expect(wrong == 0, t, round, "a type with gaps");
    MPI_Type_free(&type);
}

static void collect(int t, int round)
{
    int64_t one = rank + t, sum = 0, *all = check_alloc((size_t) size * sizeof(*all));
    int wrong = 0, root = round % size;
    MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, comms[t]);
    expect(sum == (int64_t) size * (size - 1) / 2 + size * t, t, round, "a sum");
    one = rank * 100 + round;
    MPI_Allgather(&one, 1, MPI_INT64_T, all, 1, MPI_INT64_T, comms[t]);
    for (int r = 0; r < size; r++)
        wrong += all[r] != r * 100 + round;
    one = rank == root ? 4711 + round + t : 0;
    MPI_Bcast(&one, 1, MPI_INT64_T, root, comms[t]);
    expect(one == 4711 + round + t && wrong == 0, t, round, "an allgather or a bcast");
    free(all);
}

/* Each rank adds to the counter at rank 0 and leaves its mark at its right neighbour. */
static void operate(int t, int round)
{
    MPI_Win win = windows[t];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int64_t one = 1, before = -1, mark = rank * 1000 + round, got = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    expect(before >= round && before < (int64_t) size * (round + 1), t, round, "a counter");
    MPI_Win_fence(0, win);
    MPI_Put(&mark, 1, MPI_INT64_T, right, 1 + rank, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT64_T, rank, 1 + left, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    expect(got == left * 1000 + round, t, round, "a put or a get");
}

static void *work(void *arg)
{
    int t = (int) (intptr_t) arg;
    uint32_t random = 7u + (uint32_t) t;
    uint8_t *out = check_alloc(MOST), *in = check_alloc(MOST);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(t, round, &random, out, in);
        if (round % 4 == 0) {
            cancel(t, round);
            gaps(t, round);
        }
        collect(t, round);
        operate(t, round);
    }
    free(out);
    free(in);
    return NULL;
}

/* Requests of all endpoints in one call, of one thread. */
static void wait_for_all(void)
{
    int in[THREADS], right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[2 * THREADS];
    MPI_Status statuses[2 * THREADS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < THREADS; t++) {
            int out = rank * 100 + t;
            MPI_Irecv(&in[t], 1, MPI_INT, left, 30, comms[t], &requests[THREADS - 1 - t]);
            MPI_Send(&out, 1, MPI_INT, right, 30, comms[t]);
            requests[THREADS + t] = MPI_REQUEST_NULL;
        }
        MPI_Waitall(2 * THREADS, requests, statuses);
        for (int t = 0; t < THREADS; t++)
            CHECK(in[t] == left * 100 + t, "request %d: %d", t, in[t]);
    }
}

/* Waits by one endpoint for what the next one brings to the neighbour. */
static void *pass_on(void *arg)
{
    int t = (int) (intptr_t) arg, value = -1;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 40, comms[t], MPI_STATUS_IGNORE);
    if (t + 1 < THREADS)
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 40, comms[t + 1]);
    expect(value == 42, t, 0, "what was passed on");
    return NULL;
}

static void in_threads(void *(*what)(void *) )
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, what, (void *) (intptr_t) t);
    if (what == pass_on) {
        int first = 42;
        MPI_Send(&first, 1, MPI_INT, (rank + 1) % size, 40, comms[0]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_world();
    CHECK(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
    MPI_Aint bytes = (MPI_Aint) (1 + size) * (MPI_Aint) sizeof(int64_t);
    /* Windows have communicators of their own, and all are numbered in turn. */
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < THREADS; t++) {
        MPI_Win_allocate(bytes, sizeof(int64_t), MPI_INFO_NULL, comms[t], &memory[t], &windows[t]);
        MPI_Alloc_mem(6 * GAPS * sizeof(int), MPI_INFO_NULL, &blocks[t]);
        memset(memory[t], 0, (size_t) bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    in_threads(work);
    wait_for_all();
    in_threads(pass_on);
    for (int t = 0; t < THREADS; t++) {
        MPI_Free_mem(blocks[t]);
        MPI_Win_free(&windows[t]);
        MPI_Comm_free(&comms[t]);
    }
    return check_end();
}
