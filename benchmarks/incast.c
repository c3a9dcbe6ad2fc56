/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What benchmarks/incast runs, in one of two ways; results are lines of NAME VALUE.
 *
 *   incast load MESSAGES BYTES PAUSE_US ROUNDS     senders + 3 ranks
 *   incast episode ROUNDS                          2 ranks
 *
 * load: rank 0 receives from ranks 2.. and pauses after each batch, as if it computed (it sleeps,
 * so that on a machine of two processors its computing takes nothing from the others).  Rank 1,
 * which shares its NIC, and the last rank are bystanders: they exchange messages with each other,
 * once with the incast and once without, in pairs of turns. They have processors of their own, so
 * that what they lose they lose in the NIC.
 *
 * episode: rank 1 sends until the NIC of rank 0 refuses a packet; rank 0 looks for messages from
 * then on.  The episode ends when rank 0 has the packet that was refused.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, BATCHES = 100, ROUNDS_MAX = 1000, EPISODE_MESSAGES = 4096, EXCHANGE = 128 };

typedef unsigned long long count_t;

static int rank, size;
static MPI_T_pvar_session session;

/* ---- helpers ---- */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static void *memory(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) {
        fprintf(stderr, "incast: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return p;
}

static MPI_T_pvar_handle counter_open(const char *name)
{
    MPI_T_pvar_handle handle;
    int index, elements;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) {
        fprintf(stderr, "incast: this MPI library has no variable %s; it is not one of dimmnet\n",
                name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &elements);
    return handle;
}

static count_t counter(MPI_T_pvar_handle handle)
{
    count_t value = 0;
    MPI_T_pvar_read(session, handle, &value);
    return value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t) count, sizeof(*values), by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- load ---- */

typedef struct {
    int messages, bytes, pause_us, rounds;
} load_t;

static void send_all(const load_t *l)
{
    MPI_Request requests[WINDOW];
    char *buf = memory((size_t) l->bytes);
    for (int sent = 0; sent < l->messages; sent += WINDOW) {
        int n = l->messages - sent < WINDOW ? l->messages - sent : WINDOW;
        for (int i = 0; i < n; i++)
            MPI_Isend(buf, l->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
    free(buf);
}

/* @return us from the start to the last message */
static double receive_all(const load_t *l)
{
    int total = l->messages * (size - 3), batch = (total + BATCHES - 1) / BATCHES;
    const struct timespec pause = {l->pause_us / 1000000, l->pause_us % 1000000 * 1000l};
    char *buf = memory((size_t) l->bytes);
    double start = now_us();
    for (int got = 0; got < total; got++) {
        if (got % batch == 0)
            nanosleep(&pause, NULL);
        MPI_Recv(buf, l->bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    double took = now_us() - start;
    free(buf);
    return took;
}

static int is_bystander(void)
{
    return rank == 1 || rank == size - 1;
}

static double stand_by(int exchanges)
{
    int other = rank == 1 ? size - 1 : 1;
    char word[8] = "";
    double start = now_us();
    for (int i = 0; i < exchanges; i++) {
        for (int k = 0; k < EXCHANGE && rank == 1; k++)
            MPI_Send(word, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        for (int k = 0; k < EXCHANGE; k++)
            MPI_Recv(word, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < EXCHANGE && rank != 1; k++)
            MPI_Send(word, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    }
    return now_us() - start;
}

/* Half of the processors, or one, for the bystanders; the others for the others. */
static void share_processors(void)
{
    cpu_set_t all, own;
    if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2) {
        if (rank == 0)
            fprintf(
                stderr,
                "incast: bystanders have no processor of their own here; their times say little\n");
        return;
    }
    int seen = 0, first = CPU_COUNT(&all) / 2;
    CPU_ZERO(&own);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && (seen++ < first) == is_bystander())
            CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof(own), &own);
}

/* So many exchanges that the bystanders are at it for half of the time the receiver pauses
 * altogether. */
static int choose_exchanges(const load_t *l)
{
    int exchanges = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_bystander()) {
        double each = stand_by(200) / 200;
        exchanges = (int) (0.5 * BATCHES * l->pause_us / each) + 1;
    }
    MPI_Bcast(&exchanges, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return exchanges;
}

static void report_counters(void)
{
    static const char *const names[] = {"stop", "resend", "retries", "stalled", "limit_events"};
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof(name), "dimmnet_%s", names[i]);
        count_t mine = counter(counter_open(name)), all = 0;
        MPI_Reduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%s %llu\n", names[i], all);
    }
    count_t kept = counter(counter_open("dimmnet_unexpected_bytes_max"));
    if (rank == 0)
        printf("unexpected_bytes %llu\n", kept);
}

static double quiet_turn(int exchanges)
{
    double took = is_bystander() ? stand_by(exchanges) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return took;
}

/* @return of a bystander, or of the receiver: us */
static double busy_turn(const load_t *l, int exchanges)
{
    double took = 0;
    if (is_bystander())
        took = stand_by(exchanges);
    else if (rank == 0)
        took = receive_all(l);
    else
        send_all(l);
    MPI_Barrier(MPI_COMM_WORLD);
    return took;
}

/* Of the median of the sorted values the 95 % interval: with that probability or more it lies
 * between two of them, by the binomial distribution; of less than 6 values between all. */
static void report_spread(const char *name, const double *sorted, int count)
{
    int aside = 0;
    double term = 1, below; /* that just, and that at most, `aside` values are below the median */
    for (int i = 0; i < count; i++)
        term /= 2;
    below = term;
    while (aside + 1 < count / 2) {
        term *= (double) (count - aside) / (aside + 1);
        if (below + term > 0.025)
            break;
        below += term;
        aside++;
    }
    printf("%s_low %.2f\n%s_high %.2f\n", name, sorted[aside], name, sorted[count - 1 - aside]);
}

/* The two turns of a pair follow each other, in changing order, so that what changes slowly is in
 * both. */
static void load(const load_t *l)
{
    static double quiet[ROUNDS_MAX], busy[ROUNDS_MAX], loss[ROUNDS_MAX], incast[ROUNDS_MAX];
    share_processors();
    int exchanges = choose_exchanges(l);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < l->rounds; r++) {
        if (r % 2 == 0)
            quiet[r] = quiet_turn(exchanges);
        busy[r] = incast[r] = busy_turn(l, exchanges);
        if (r % 2 != 0)
            quiet[r] = quiet_turn(exchanges);
        MPI_Bcast(&quiet[r], 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        MPI_Bcast(&busy[r], 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        loss[r] = 100 * (busy[r] / quiet[r] - 1);
    }
    report_counters();
    if (rank != 0)
        return;
    double took = median(incast, l->rounds);
    printf("goodput_mb_s %.3f\n", (double) l->messages * (size - 3) * l->bytes / took);
    printf("incast_ms %.3f\n", took / 1000);
    printf("bystander_quiet_ms %.3f\n", median(quiet, l->rounds) / 1000);
    printf("bystander_ms %.3f\n", median(busy, l->rounds) / 1000);
    printf("bystander_loss_percent %.2f\n", median(loss, l->rounds));
    report_spread("bystander_loss", loss, l->rounds);
}

/* ---- episode ---- */

/* Words that both ranks see without messages. */
typedef struct {
    volatile int refused; /* number of the message that was refused; 0: none yet */
    volatile double sent_us;
} shared_t;

static shared_t *share(MPI_Win *win)
{
    shared_t *s;
    int unit;
    MPI_Aint bytes;
    MPI_Win_allocate_shared(rank == 0 ? sizeof(*s) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &s, win);
    MPI_Win_shared_query(*win, 0, &bytes, &unit, &s);
    return s;
}

/* Messages are numbered from 1; the number is the tag.  @return how many were sent */
static int overflow(shared_t *s, MPI_T_pvar_handle stop, MPI_T_pvar_handle stalled)
{
    static MPI_Request requests[EPISODE_MESSAGES];
    count_t before = counter(stop) + counter(stalled);
    int n = 0;
    do {
        double at = now_us();
        MPI_Isend(NULL, 0, MPI_BYTE, 0, n + 1, MPI_COMM_WORLD, &requests[n]);
        n++;
        s->sent_us = at;
    } while (n < EPISODE_MESSAGES && counter(stop) + counter(stalled) == before);
    s->refused = n;
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    return n;
}

static double await_refused(shared_t *s)
{
    int found = 0;
    while (!s->refused)
        ; /* makes no progress */
    while (!found)
        MPI_Iprobe(1, s->refused, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    double took = now_us() - s->sent_us;
    for (int tag = 1; tag <= s->refused; tag++)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return took;
}

/* Limit events while the receiver looks for messages all the time, and while it sleeps: us each on
 * average. */
static double limit_event(int looks, MPI_T_pvar_handle events, MPI_T_pvar_handle ns)
{
    const struct timespec pause = {0, 2000000};
    count_t events_before = counter(events), ns_before = counter(ns);
    for (int i = 0; i < 8000; i++) {
        if (i % 40 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0 && !looks)
                nanosleep(&pause, NULL);
        }
        if (rank == 1)
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    count_t n = counter(events) - events_before;
    return n ? (double) (counter(ns) - ns_before) / (double) n / 1000 : 0;
}

static void report_limit(void)
{
    MPI_T_pvar_handle events = counter_open("dimmnet_limit_events"),
                      ns = counter_open("dimmnet_limit_ns");
    double polling = limit_event(1, events, ns);
    MPI_Bcast(&polling, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (polling == 0)
        return; /* not in this mode */
    double sleeping = limit_event(0, events, ns);
    if (rank == 0)
        printf("limit_event_us %.3f\nlimit_event_asleep_us %.3f\n", polling, sleeping);
}

/* A processor of its own for each of the two, where there are two: else an episode is mostly the
 * wait for a processor. */
static void take_processor(void)
{
    cpu_set_t all, own;
    int seen = 0;
    if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
        return;
    CPU_ZERO(&own);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ == rank)
            CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof(own), &own);
}

static void episode(int rounds)
{
    static double took[ROUNDS_MAX];
    take_processor();
    MPI_T_pvar_handle stop = counter_open("dimmnet_stop"),
                      stalled = counter_open("dimmnet_stalled");
    MPI_Win win;
    shared_t *s = share(&win);
    for (int r = 0; r < rounds; r++) {
        if (rank == 0)
            s->refused = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            took[r] = await_refused(s);
        else
            overflow(s, stop, stalled);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    report_limit();
    if (rank == 0)
        printf("refused_us %.3f\n", median(took, rounds));
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 6 && strcmp(argv[1], "load") == 0 && size >= 4) {
        load_t l = {atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5])};
        load(&l);
    } else if (argc == 3 && strcmp(argv[1], "episode") == 0 && size == 2) {
        episode(atoi(argv[2]));
    } else {
        if (rank == 0)
            fprintf(stderr, "usage: incast load MESSAGES BYTES PAUSE_US ROUNDS (4 ranks or more)\n"
                            "       incast episode ROUNDS (2 ranks)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
