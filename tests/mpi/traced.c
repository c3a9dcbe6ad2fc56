/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For trace.sh: calls of which a tracer must not look at every argument, communicators that are
 * freed before their requests are complete, threads that free them at once, a child that is forked
 * and exits, calls made while MPI ends, and (traced spawn) processes that this one starts.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Arguments that MPI does not read on a rank may be anything: 4, 8, 12 or 16 bytes a rank. */
static void insignificant(void)
{
    int one = rank, four[4] = {rank, rank, rank, rank};
    int *all = check_alloc((size_t) size * 4 * sizeof(int));
    int *counts = check_alloc((size_t) size * sizeof(int));
    int *places = check_alloc((size_t) size * sizeof(int));
    for (int i = 0; i < size; i++)
        counts[i] = 3, places[i] = 3 * i;
    for (int i = 0; i < 4 * size; i++)
        all[i] = i;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT,
                   MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, 0,
                    MPI_COMM_WORLD);
        MPI_Scatter(all, 4, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
        MPI_Scatterv(all, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0,
                     MPI_COMM_WORLD);
    } else {
        MPI_Gather(&one, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
        MPI_Gatherv(four, 3, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, four, 4, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, four, 3, MPI_INT, 0, MPI_COMM_WORLD);
    }
    free(all);
    free(counts);
    free(places);
}

/* Between the even and the odd ranks: only the root, of the even ones, has data. */
static void between(void)
{
    MPI_Comm half, inter;
    int data = 7;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    if (rank % 2 == 1)
        MPI_Bcast(&data, 1, MPI_INT, 0, inter);
    else if (rank == 0)
        MPI_Bcast(&data, 1, MPI_INT, MPI_ROOT, inter);
    else
        MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

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

/* Its exit writes what its parent's streams hold. */
static void child_that_exits(void)
{
    int ended = 0;
    pid_t child = fork();
    if (child == 0)
        exit(0);
    CHECK(waitpid(child, &ended, 0) == child && ended == 0, "the child ended with %d", ended);
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

static void spawn(const char *program)
{
    MPI_Comm children;
    MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
}

int main(int argc, char **argv)
{
    int provided, key;
    MPI_Comm parent;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_world();
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
    } else if (argc > 1) {
        spawn(argv[0]);
    } else {
        insignificant();
        child_that_exits();
        between();
        freed_before_its_receive();
        if (provided == MPI_THREAD_MULTIPLE)
            threads();
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    }
    return check_end();
}
