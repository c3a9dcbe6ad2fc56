/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DIMMNET_FLOW, the first argument says which: rank 0 does not look at its messages before a sender
 * was refused.  Nothing is lost, order is kept, and the counters say which machinery did it.
 *
 * The second argument is what that sender does first: abort, which ends the job with status 3.
 */
#include "counter.h"

enum { MESSAGES = 4000 };

enum { STOP, RESEND, GRANTED, STALLED, RETRIES, LIMIT_EVENTS, NAMES };
static const char *const names[NAMES] = {"stop",    "resend",  "granted_others",
                                         "stalled", "retries", "limit_events"};

/* A word that all ranks see without messages. */
static volatile int *shared_word(MPI_Win *win)
{
    int *word, unit;
    MPI_Aint bytes;
    MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word,
                            win);
    MPI_Win_shared_query(*win, 0, &bytes, &unit, &word);
    if (rank == 0)
        *word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return word;
}

static void meanwhile(const char *what)
{
    if (strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

static void flood(volatile int *refused, const char *what)
{
    static MPI_Request requests[MESSAGES];
    static int numbers[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        numbers[i] = i;
        MPI_Isend(&numbers[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[i]);
        if (!*refused && counter("stop") + counter("stalled") > 0) {
            meanwhile(what);
            *refused = 1;
        }
    }
    CHECK(*refused, "%d messages, and none was refused", MESSAGES);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void drain(volatile int *refused)
{
    while (!*refused)
        ; /* computes */
    for (int i = 0; i < MESSAGES; i++)
        for (int from = 1; from < size; from++) {
            int number = -1;
            MPI_Recv(&number, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(number == i, "message %d of rank %d came as number %d", number, from, i);
        }
}

/* What the mode must have counted, on all ranks together, and what not. */
static void check_counters(const char *mode, const unsigned long long *all)
{
    int is_stop = strcmp(mode, "stop") == 0, is_stall = strcmp(mode, "stall") == 0;
    int is_limit = strcmp(mode, "limit") == 0, retries = is_limit || strcmp(mode, "rnr") == 0;
    int right = (all[GRANTED] > 0) == is_stop && (all[RESEND] > 0) == is_stop &&
                (all[STALLED] > 0) == is_stall && (all[STOP] > 0) == !is_stall &&
                (is_stop || (all[RETRIES] > 0) == retries) && (all[LIMIT_EVENTS] > 0) == is_limit;
    CHECK(
        right, "%s: stop %llu resend %llu granted %llu stalled %llu retries %llu limit_events %llu",
        mode, all[STOP], all[RESEND], all[GRANTED], all[STALLED], all[RETRIES], all[LIMIT_EVENTS]);
}

int main(int argc, char **argv)
{
    unsigned long long mine[NAMES], all[NAMES];
    MPI_Win win;
    check_begin(&argc, &argv);
    volatile int *refused = shared_word(&win);
    if (rank == 0)
        drain(refused);
    else
        flood(refused, argc > 2 ? argv[2] : "");
    for (int i = 0; i < NAMES; i++)
        mine[i] = counter(names[i]);
    MPI_Allreduce(mine, all, NAMES, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    check_counters(argc > 1 ? argv[1] : "stop", all);
    MPI_Win_free(&win);
    counters_end();
    return check_end();
}
