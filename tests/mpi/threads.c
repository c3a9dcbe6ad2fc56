/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_THREAD_MULTIPLE: four threads of each process exchange messages of all sizes with their
 * partners at once, each on its own tag, with blocking, waiting and probing calls mixed; and one
 * thread waits for a message that only another thread of the same process can make happen, also on
 * a communicator of one process.  Threads
 * are in collectives of different communicators at once, in another order on each rank.
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 150, MOST = 100000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fail(int tag, int round, const char *what)
{
    pthread_mutex_lock(&lock);
    CHECK(0, "thread %d round %d: %s", tag, round, what);
    pthread_mutex_unlock(&lock);
}

static void *exchange(void *arg)
{
    int tag = (int) (intptr_t) arg, other = rank ^ 1;
    uint32_t random = 7 + tag;
    uint8_t *out = malloc(MOST), *in = malloc(MOST);
    for (int round = 0; round < ROUNDS; round++) {
        size_t len = random_length(&random, MOST);
        uint32_t seed = tag * 1000 + round;
        MPI_Status status;
        MPI_Request requests[2];
        int count;
        pattern_fill(out, len, seed);
        switch (round % 3) {
            case 0:
                MPI_Sendrecv(out, (int) len, MPI_BYTE, other, tag, in, MOST, MPI_BYTE, other, tag,
                             MPI_COMM_WORLD, &status);
                break;
            case 1:
                MPI_Irecv(in, MOST, MPI_BYTE, other, tag, MPI_COMM_WORLD, &requests[0]);
                MPI_Issend(out, (int) len, MPI_BYTE, other, tag, MPI_COMM_WORLD, &requests[1]);
                MPI_Wait(&requests[0], &status);
                MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
                break;
            case 2:
                MPI_Isend(out, (int) len, MPI_BYTE, other, tag, MPI_COMM_WORLD, &requests[1]);
                MPI_Probe(other, tag, MPI_COMM_WORLD, &status);
                MPI_Recv(in, MOST, MPI_BYTE, other, tag, MPI_COMM_WORLD, &status);
                MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
                break;
        }
        MPI_Get_count(&status, MPI_BYTE, &count);
        if ((size_t) count != len)
            fail(tag, round, "wrong length");
        else if (pattern_differs(in, len, seed) != len)
            fail(tag, round, "wrong content");
    }
    free(out);
    free(in);
    return NULL;
}

/* Waits in MPI for what main() sends later. */
typedef struct {
    MPI_Comm comm;
    int rank, value;
} message_t;

static void *wait_for_message(void *arg)
{
    message_t *m = arg;
    MPI_Recv(&m->value, 1, MPI_INT, m->rank, 500, m->comm, MPI_STATUS_IGNORE);
    return NULL;
}

static void *wait_for_receiver(void *arg)
{
    message_t *m = arg;
    MPI_Ssend(&m->value, 1, MPI_INT, m->rank, 500, m->comm);
    return NULL;
}

static void to_another_thread(MPI_Comm comm)
{
    pthread_t thread;
    message_t m = {.comm = comm};
    int sent = 77, got = 0;
    MPI_Request request;
    MPI_Comm_rank(comm, &m.rank);
    pthread_create(&thread, NULL, wait_for_message, &m);
    usleep(20000); /* it waits; if it does not yet, that is another case, and as good */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&sent, 1, MPI_INT, m.rank, 500, comm);
    pthread_join(thread, NULL);
    CHECK(m.value == 77, "a thread got %d", m.value);
    m.value = 78;
    pthread_create(&thread, NULL, wait_for_receiver, &m);
    usleep(20000);
    MPI_Irecv(&got, 1, MPI_INT, m.rank, 500, comm, &request);
    if (comm == MPI_COMM_SELF)
        pthread_join(thread, NULL); /* it has been received, without a look at the request */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (comm != MPI_COMM_SELF)
        pthread_join(thread, NULL);
    CHECK(got == 78, "got %d from a thread", got);
}

/* What a thread has its collectives on. */
static MPI_Comm comms[THREADS];

static void *collect(void *arg)
{
    int t = (int) (intptr_t) arg;
    for (int round = 0; round < ROUNDS / 3; round++) {
        int one = 1, sum = 0;
        /* the ranks come to their communicators at different times */
        if ((rank + t + round) % 3 == 0)
            usleep(200);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
        if (sum != size)
            fail(t, round, "wrong sum");
        MPI_Barrier(comms[t]);
    }
    return NULL;
}

static void collect_at_once(void)
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < THREADS; t++) {
        int which = rank % 2 ? THREADS - 1 - t : t;
        pthread_create(&threads[t], NULL, collect, (void *) (intptr_t) which);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&comms[t]);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_world();
    CHECK(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
    pthread_t threads[THREADS];
    if ((rank ^ 1) < size) {
        for (int t = 0; t < THREADS; t++)
            pthread_create(&threads[t], NULL, exchange, (void *) (intptr_t) t);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
    }
    collect_at_once();
    to_another_thread(MPI_COMM_WORLD);
    to_another_thread(MPI_COMM_SELF);
    return check_end();
}
