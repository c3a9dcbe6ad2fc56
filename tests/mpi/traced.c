/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For trace.sh: communicators that are freed before their requests are complete, threads that free
 * them at once, and calls made while MPI ends.
 */
#include <pthread.h>

#include "check.h"

static void freed_before_its_receive(void)
{
    MPI_Comm comm;
    MPI_Request request[2];
    MPI_Status status;
    int got = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, comm, &request[1]);
    MPI_Comm_free(&comm);
    MPI_Wait(&request[0], &status);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size, "got %d", got);
}

/* Communicators of this thread's own, made and freed beside those of the other threads. */
static void *makes_and_frees(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *) arg, copy;
    for (int i = 0; i < 200; i++) {
        int sum;
        MPI_Comm_dup(comm, &copy);
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, copy);
        MPI_Comm_free(&copy);
    }
    return NULL;
}

static void threads(void)
{
    MPI_Comm own[2];
    pthread_t thread[2];
    for (int t = 0; t < 2; t++) {
        MPI_Comm_dup(MPI_COMM_SELF, &own[t]);
        pthread_create(&thread[t], NULL, makes_and_frees, &own[t]);
    }
    for (int t = 0; t < 2; t++) {
        pthread_join(thread[t], NULL);
        MPI_Comm_free(&own[t]);
    }
}

/* Called by MPI_Finalize. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *extra)
{
    MPI_Request request[200];
    int from[100], to[100];
    (void) key, (void) value, (void) extra;
    for (int i = 0; i < 100; i++) {
        MPI_Irecv(&to[i], 1, MPI_INT, MPI_ANY_SOURCE, i, comm, &request[i]);
        from[i] = i;
        MPI_Isend(&from[i], 1, MPI_INT, 0, i, comm, &request[100 + i]);
    }
    return MPI_Waitall(200, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int provided, key;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_world();
    freed_before_its_receive();
    if (provided == MPI_THREAD_MULTIPLE)
        threads();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    return check_end();
}
