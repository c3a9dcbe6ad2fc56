/* SPDX-License-Identifier: BSD-3-Clause
 *
 * random [-s STEPS] [-p FILE] [-l SECONDS] SEED   plays the program of that seed, under mpirun
 * random -c SEED                                  prints `RANKS NAME=VALUE...`: how to start it
 */
#include "random.h"

#include <pthread.h>
#include <unistd.h>

#define LIMIT_S 20
#define LIMIT_OF_FAULTS_S 100 /* each resend that is lost costs up to a second */

/* ---- the settings of a seed ---- */

typedef struct {
    const char *name;
    uint32_t percent; /* of all seeds have one of the values, the others the default */
    const char *values[6];
} setting_t;

/* The smallest rings, budgets and windows, all ways of rendezvous, both profiles.  What follows
 * DIMMNET_FLOW must be allowed with each of its values. */
static const setting_t settings[] = {
    {"DIMMNET_RING_BYTES", 60, {"4096", "8192", "65536"}},
    {"DIMMNET_UNEXPECTED_BYTES", 50, {"4096", "4096", "16K", "256K"}},
    {"DIMMNET_EAGER_LIMIT", 40, {"0", "488", "4064", "65536"}},
    {"DIMMNET_SPLIT_LIMIT", 30, {"8192", "65536", "1G"}},
    {"DIMMNET_RENDEZVOUS", 50, {"staged", "staged", "direct"}},
    {"DIMMNET_CHUNK_BYTES", 40, {"4096", "8192"}},
    {"DIMMNET_CHUNKS", 40, {"2", "3"}},
    {"DIMMNET_STRIDED", 20, {"never"}},
    {"DIMMNET_SPIN_US", 20, {"0", "10"}},
    {"DIMMNET_FAULTS", 40, {"40", "200"}},
};

/* Other ways, with numbers of their own, so that seeds keep what they have of the above.  Of a name
 * that comes twice the last value counts. */
static const setting_t paths[] = {
    {"DIMMNET_RENDEZVOUS", 20, {"pushed DIMMNET_RING_BYTES=1M", "pushed DIMMNET_RING_BYTES=2M"}},
    {"DIMMNET_RINGS", 20, {"2 DIMMNET_RING_BYTES=8192", "4 DIMMNET_RING_BYTES=16K"}},
    {"DIMMNET_COLLECTIVES", 20, {"packets"}},
    {"DIMMNET_WINDOWS", 20, {"packets", "kernel", "asked"}},
    {"DIMMNET_KERNEL_COPIES", 60, {"slow", "fair", "fast"}},
};

static const char *any_value(rng_t *rng, const setting_t *s)
{
    uint32_t n = 0;
    while (n < 6 && s->values[n])
        n++;
    return s->values[below(rng, n)];
}

/* Seeds of threads have few ranks: each thread polls. */
static int threads_of(uint64_t seed, int ranks)
{
    rng_t rng = {mix(seed ^ 0x7468)};
    return ranks <= 4 && chance(&rng, 25) ? 2 + (int) below(&rng, THREADS_MAX - 1) : 1;
}

static void print_settings(uint64_t seed)
{
    rng_t rng = {mix(seed ^ 0x7365)};
    bool prototype = chance(&rng, 25), faults = false;
    printf("%u", 2 + below(&rng, RANKS_MAX - 1));
    for (uint32_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (chance(&rng, settings[i].percent)) {
            printf(" %s=%s", settings[i].name, any_value(&rng, &settings[i]));
            faults |= strcmp(settings[i].name, "DIMMNET_FAULTS") == 0;
        }
    if (prototype)
        printf(" DIMMNET_PROFILE=prototype");
    if (chance(&rng, 25)) /* `stall` needs apertures, and knows no stops that could be lost */
        printf(" DIMMNET_FLOW=%s",
               (const char *const[]){"rnr", "limit",
                                     "stall"}[below(&rng, prototype || faults ? 2 : 3)]);
    rng.state = mix(seed ^ 0x7065); /* of which the seeds 41 and 140 get none */
    for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (chance(&rng, paths[i].percent))
            printf(" %s=%s", paths[i].name, any_value(&rng, &paths[i]));
    putchar('\n');
}

/* ---- the program ---- */

typedef struct {
    const char *name;
    uint32_t weight;
    void (*play)(player_t *);
} step_kind_t;

static const step_kind_t kinds[] = {
    {"messages", 50, step_messages}, {"collectives", 15, step_collectives},
    {"exchange", 10, step_exchange}, {"partitioned", 5, step_partitioned},
    {"window", 15, step_window},     {"communicator", 5, step_comm},
};

static void play_step(player_t *p)
{
    uint32_t pick = below(&p->plan, 100), i = 0;
    while (pick >= kinds[i].weight)
        pick -= kinds[i++].weight;
    at(p, kinds[i].name, 0, -1);
    kinds[i].play(p);
}

static int steps_wanted;

static void *play(void *arg)
{
    player_t *p = arg;
    rng_t program = {mix(p->seed + (uint64_t) p->thread)};
    int steps = steps_wanted ? steps_wanted : 2 + (int) below(&program, 7);
    for (p->step = 1; p->step <= steps; p->step++) {
        p->plan.state = rng_next(&program);
        play_step(p);
    }
    at(p, "all steps done", 0, -1);
    return NULL;
}

static void play_all(player_t *players, int threads)
{
    pthread_t others[THREADS_MAX];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, play, &players[i]) != 0)
            abort();
    play(&players[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
}

static void players_make(player_t *players, int threads, uint64_t seed, int rank, int size)
{
    for (int i = 0; i < threads; i++) {
        MPI_Comm world;
        player_t *p = &players[i];
        *p = (player_t){.seed = seed, .thread = i, .threads = threads, .rank = rank, .size = size};
        p->plan.state = mix(seed + 1000 + (uint64_t) i);
        p->own.state = mix(seed + 2000 + (uint64_t) (i + rank * THREADS_MAX));
        p->size_max = chance(&p->plan, 30) ? 2u << 20 : chance(&p->plan, 50) ? 100000 : 12000;
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
        comms_make(p, world);
        MPI_Comm_free(&world);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: random [-s STEPS] [-p FILE] [-l SECONDS] SEED, or random -c SEED\n");
    return 2;
}

int main(int argc, char **argv)
{
    static player_t players[THREADS_MAX];
    const char *shared = NULL;
    int option, rank, size, provided;
    int limit_s = getenv("DIMMNET_FAULTS") ? LIMIT_OF_FAULTS_S : LIMIT_S;
    bool only_settings = false;
    while ((option = getopt(argc, argv, "s:p:l:c")) != -1) {
        switch (option) {
            case 's':
                steps_wanted = atoi(optarg);
                break;
            case 'p':
                shared = optarg;
                break;
            case 'l':
                limit_s = atoi(optarg);
                break;
            case 'c':
                only_settings = true;
                break;
            default:
                return usage();
        }
    }
    if (optind + 1 != argc)
        return usage();
    uint64_t seed = strtoull(argv[optind], NULL, 0);
    if (only_settings) {
        print_settings(seed);
        return 0;
    }
    /* how many threads is a matter of the ranks, which only MPI knows: ask for all */
    rng_t level = {mix(seed ^ 0x6c65)};
    bool multiple = chance(&level, 50);
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    /* calls for several requests, or for a message, have no communicator of their own */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || size > RANKS_MAX) {
        fprintf(stderr, "random: 2 to %d ranks, not %d\n", RANKS_MAX, size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int threads = provided == MPI_THREAD_MULTIPLE && multiple ? threads_of(seed, size) : 1;
    watch_start(shared, rank, size, seed, limit_s);
    players_make(players, threads, seed, rank, size);
    play_all(players, threads);
    for (int i = 0; i < threads; i++)
        comms_free(&players[i]);
    at(&players[0], "MPI_Finalize", 0, -1);
    MPI_Finalize();
    return 0;
}
