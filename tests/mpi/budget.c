/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The store for unexpected messages has a budget (DIMMNET_UNEXPECTED_BYTES, set small by the list
 * of tests), and a receive is completed all the same: each sender starts very many messages, then
 * one with another tag, which is received (or probed for) first.  The receiver's memory stays flat,
 * what it took at most is told by a performance variable, and the order of each tag is kept.
 * Arguments: messages of all senders together (1000000), how the last ones are received: source,
 * any, probe, mprobe, first (posted first).
 */
#include "counter.h"

enum { BULK = 1, LAST = 5 };

static long resident_kb(void)
{
    long kb = -1;
    char line[200];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmRSS: %ld kB", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static void send_all(int messages)
{
    int *numbers = check_alloc((messages + 1) * sizeof(*numbers));
    MPI_Request *requests = check_alloc((messages + 1) * sizeof(*requests));
    for (int i = 0; i <= messages; i++) {
        numbers[i] = i;
        MPI_Isend(&numbers[i], 1, MPI_INT, 0, i < messages ? BULK : LAST, MPI_COMM_WORLD,
                  &requests[i]);
    }
    MPI_Waitall(messages + 1, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(numbers);
}

static void receive_last(const char *how, int from, int messages)
{
    int number = -1, any = strcmp(how, "source") != 0;
    MPI_Message message;
    MPI_Status status;
    from = any ? MPI_ANY_SOURCE : from;
    if (strcmp(how, "mprobe") == 0) {
        MPI_Mprobe(from, LAST, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&number, 1, MPI_INT, &message, &status);
    } else {
        if (strcmp(how, "probe") == 0) {
            MPI_Probe(from, LAST, MPI_COMM_WORLD, &status);
            from = status.MPI_SOURCE;
        }
        MPI_Recv(&number, 1, MPI_INT, from, LAST, MPI_COMM_WORLD, &status);
    }
    CHECK(number == messages && status.MPI_TAG == LAST, "number %d, tag %d", number,
          status.MPI_TAG);
}

static void receive_all(const char *how, int messages)
{
    for (int s = 1; s < size; s++)
        receive_last(how, s, messages);
    long before = resident_kb();
    for (int i = 0; i < messages; i++)
        for (int s = 1; s < size; s++) {
            int number = -1;
            MPI_Recv(&number, 1, MPI_INT, s, BULK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(number == i, "message %d of rank %d came as number %d", number, s, i);
        }
    /* A store of all would take more than 100 bytes a message. */
    unsigned long long most = counter("unexpected_bytes_max");
    long grown = resident_kb() - before;
    CHECK(most < 2000000, "%llu bytes of unexpected messages were kept", most);
    CHECK(grown < 8192, "receiving took %ld KB", grown);
    printf("budget: at most %llu bytes of unexpected messages, %ld KB grown\n", most, grown);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int messages = (argc > 1 ? atoi(argv[1]) : 1000000) / (size - 1);
    const char *how = argc > 2 ? argv[2] : "source";
    if (strcmp(how, "first") != 0 && rank == 0)
        for (int i = 0, flag; i < 100000; i++) /* let the flood come */
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (rank == 0)
        receive_all(how, messages);
    else
        send_all(messages);
    counters_end();
    return check_end();
}
