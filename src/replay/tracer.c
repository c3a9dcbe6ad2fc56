/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The recorder of libdimmnet-trace (tracer.h).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "replay/tracer.h"

#define TICK_NS 16u /* keeps most gaps in two bytes */
#define BUCKETS 1024u

typedef struct known_comm {
    MPI_Comm comm;
    int64_t number;
    bool inter;
    int size;
    int *world;        /* rank in MPI_COMM_WORLD of each (remote) rank */
    unsigned requests; /* that name it */
    bool gone;         /* freed by the program; its last request frees this */
    struct known_comm *next;
} known_comm_t;

/* A request that is under way, or a persistent one. */
typedef struct open_request {
    uint64_t handle;
    uint32_t id; /* requests of this rank are numbered as they are made */
    dnet_calls_op_t op;
    int64_t argument[4];
    bool live, persistent, any, cancelled;
    known_comm_t *comm; /* NULL: there was no memory for it */
    struct open_request *next;
} open_request_t;

static struct {
    pthread_mutex_t lock;
    FILE *file;
    char path[4096];
    dnet_calls_writer_t *writer; /* NULL: not traced, or no more */
    uint64_t began_ns;
    uint32_t requests;
    open_request_t *bucket[BUCKETS];
    known_comm_t *comm;
    int64_t comms;
    int64_t *age; /* of what the current wait completed */
    uint32_t ages, age_capacity;
} tracer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    uint64_t left_ns, gap_ns;
    unsigned depth;
    bool notes; /* what the current wait completed, and holds the lock */
} thread;

static void give_up(const char *why)
{
    fprintf(stderr, "dimmnet-trace: %s: %s; this rank is not traced\n", tracer.path, why);
    if (tracer.file != NULL)
        fclose(tracer.file);
    tracer.file = NULL;
    tracer.writer = NULL;
}

void tracer_begin(void)
{
    int rank, size;
    MPI_Comm parent;
    const char *prefix = getenv("DNET_MPI_TRACE");
    if (prefix == NULL || *prefix == '\0')
        prefix = "dimmnet-trace";
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) { /* its files are those of its parents' ranks */
        if (rank == 0)
            fprintf(stderr, "dimmnet-trace: processes started by MPI_Comm_spawn are not traced\n");
        return;
    }
    snprintf(tracer.path, sizeof(tracer.path), "%s.%05d.dnt", prefix, rank);
    tracer.file = fopen(tracer.path, "wb");
    if (tracer.file == NULL)
        give_up(strerror(errno));
    else if (dnet_calls_begin(tracer.file, (uint32_t) rank, (uint32_t) size, TICK_NS,
                              program_invocation_short_name, &tracer.writer) != DNET_OK)
        give_up("not enough memory");
    tracer.began_ns = dnet_clock_read_ns(CLOCK_MONOTONIC);
    thread.left_ns = dnet_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void tracer_enter(void)
{
    if (thread.depth++ != 0)
        return;
    thread.gap_ns = dnet_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - thread.left_ns;
}

void tracer_leave(void)
{
    if (--thread.depth == 0)
        thread.left_ns = dnet_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void unlock(void)
{
    pthread_mutex_unlock(&tracer.lock);
}

/*
 * Calls that an MPI library makes to itself are part of the call it is in; those before MPI_Init
 * and in MPI_Finalize, and those of a rank that is not traced, are not recorded.
 */
static bool lock(void)
{
    if (thread.depth > 1)
        return false;
    pthread_mutex_lock(&tracer.lock);
    if (tracer.writer != NULL)
        return true;
    unlock();
    return false;
}

/* With the lock held. */
static void record(dnet_calls_op_t op, const int64_t *argument, uint32_t arguments)
{
    if (tracer.writer != NULL)
        dnet_calls_record(tracer.writer, op, argument, arguments, thread.gap_ns);
    thread.gap_ns = 0;
}

void tracer_other(void)
{
    if (!lock())
        return;
    record(DNET_CALLS_OTHER, NULL, 0);
    unlock();
}

static uint64_t key(const void *handle, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, handle, size < sizeof(value) ? size : sizeof(value));
    return value;
}

static open_request_t **bucket_of(uint64_t handle)
{
    return &tracer.bucket[(handle ^ handle >> 10 ^ handle >> 20) % BUCKETS];
}

/*
 * The oldest request of that handle which is under way, or which is a persistent one.  MPI
 * libraries give one handle to all sends that are complete at once, so a handle may be there
 * several times.
 */
static open_request_t *find(uint64_t handle)
{
    open_request_t *r = *bucket_of(handle);
    while (r != NULL && r->handle != handle)
        r = r->next;
    return r;
}

static void free_unused(known_comm_t *k)
{
    if (!k->gone || k->requests != 0)
        return;
    free(k->world);
    free(k);
}

static void drop(open_request_t *gone)
{
    open_request_t **at = bucket_of(gone->handle);
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (gone->comm != NULL) {
        gone->comm->requests--;
        free_unused(gone->comm);
    }
    free(gone);
}

/* Behind all others of its handle. */
static open_request_t *keep(uint64_t handle)
{
    open_request_t **at = bucket_of(handle);
    open_request_t *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    while (*at != NULL)
        at = &(*at)->next;
    r->handle = handle;
    *at = r;
    return r;
}

static known_comm_t *learn(MPI_Comm comm)
{
    MPI_Group world, group;
    int inter = 0;
    known_comm_t *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &k->size);
    k->world = malloc(((size_t) k->size + 1) * sizeof(int));
    int *all = malloc(((size_t) k->size + 1) * sizeof(int));
    for (int i = 0; all != NULL && i < k->size; i++)
        all[i] = i;
    if (k->world == NULL || all == NULL ||
        PMPI_Group_translate_ranks(group, k->size, all, world, k->world) != MPI_SUCCESS)
        k->size = 0;
    free(all);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    k->comm = comm;
    k->inter = inter != 0;
    k->number = comm == MPI_COMM_WORLD ? 0 : ++tracer.comms;
    k->next = tracer.comm;
    tracer.comm = k;
    return k;
}

static known_comm_t *comm_of(MPI_Comm comm)
{
    known_comm_t *k = tracer.comm;
    while (k != NULL && k->comm != comm)
        k = k->next;
    return k != NULL ? k : learn(comm);
}

/* Its handle may be used again, but its requests may still be under way. */
static void unlink_comm(known_comm_t **at)
{
    known_comm_t *gone = *at;
    *at = gone->next;
    gone->gone = true;
    free_unused(gone);
}

void tracer_comm_gone(MPI_Comm comm)
{
    pthread_mutex_lock(&tracer.lock);
    for (known_comm_t **at = &tracer.comm; *at != NULL; at = &(*at)->next)
        if ((*at)->comm == comm) {
            unlink_comm(at);
            break;
        }
    unlock();
}

/* Rank in MPI_COMM_WORLD; -1: no rank, or a process of another world. */
static int64_t world_rank(const known_comm_t *k, int peer)
{
    if (k == NULL || peer < 0 || peer >= k->size || k->world[peer] == MPI_UNDEFINED)
        return -1;
    return k->world[peer];
}

static int64_t bytes_of(int64_t count, MPI_Datatype type)
{
    MPI_Count size = 0;
    int64_t bytes = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0 ||
        __builtin_mul_overflow(count, size, &bytes))
        return 0;
    return bytes;
}

/* Arguments of a message record; false when a trace does not know its partner. */
static bool describe(dnet_calls_op_t op, int count, MPI_Datatype type, int peer, int tag,
                     const known_comm_t *k, int64_t argument[4])
{
    argument[0] = world_rank(k, peer);
    argument[1] = tag == MPI_ANY_TAG ? DNET_CALLS_ANY : tag;
    argument[2] = k != NULL ? k->number : 0;
    argument[3] = bytes_of(count, type);
    return argument[0] >= 0 || (op == DNET_CALLS_IRECV && peer == MPI_ANY_SOURCE);
}

static void begin_request(open_request_t *r)
{
    record(r->op, r->argument, 4);
    r->id = tracer.requests++;
    r->live = true;
}

static void remember(dnet_calls_op_t op, const int64_t argument[4], known_comm_t *k,
                     MPI_Request request, bool persistent)
{
    open_request_t *r = keep(key(&request, sizeof(request)));
    if (r == NULL) {
        give_up("not enough memory");
        return;
    }
    r->op = op;
    memcpy(r->argument, argument, sizeof(r->argument));
    r->any = argument[0] == DNET_CALLS_ANY || argument[1] == DNET_CALLS_ANY;
    r->comm = k;
    if (k != NULL)
        k->requests++;
    r->persistent = persistent;
    if (!persistent)
        begin_request(r);
}

void tracer_message(dnet_calls_op_t op, int count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, const MPI_Request *request)
{
    int64_t argument[4];
    if (!lock())
        return;
    known_comm_t *k = comm_of(comm);
    if (!describe(op, count, type, peer, tag, k, argument)) {
        record(DNET_CALLS_OTHER, NULL, 0);
    } else if (request != NULL) {
        remember(op, argument, k, *request, false);
    } else {
        record(op, argument, 4);
        tracer.requests++;
    }
    unlock();
}

void tracer_persistent(dnet_calls_op_t op, int count, MPI_Datatype type, int peer, int tag,
                       MPI_Comm comm, MPI_Request request)
{
    int64_t argument[4];
    if (!lock())
        return;
    known_comm_t *k = comm_of(comm);
    if (describe(op, count, type, peer, tag, k, argument))
        remember(op, argument, k, request, true);
    unlock();
}

void tracer_start(MPI_Request request)
{
    if (!lock())
        return;
    open_request_t *r = find(key(&request, sizeof(request)));
    if (r != NULL && r->persistent)
        begin_request(r);
    else
        record(DNET_CALLS_OTHER, NULL, 0);
    unlock();
}

void tracer_forget(MPI_Request request)
{
    if (!lock())
        return;
    open_request_t *r = find(key(&request, sizeof(request)));
    if (r != NULL)
        drop(r);
    record(DNET_CALLS_OTHER, NULL, 0);
    unlock();
}

void tracer_cancel(MPI_Request request)
{
    if (!lock())
        return;
    open_request_t *r = find(key(&request, sizeof(request)));
    if (r != NULL)
        r->cancelled = true;
    record(DNET_CALLS_OTHER, NULL, 0);
    unlock();
}

bool tracer_wants_status(const MPI_Request *requests, int count)
{
    bool wanted = false;
    if (!lock())
        return false;
    for (int i = 0; i < count && !wanted; i++) {
        const open_request_t *r = find(key(&requests[i], sizeof(requests[i])));
        wanted = r != NULL && (r->any || r->cancelled);
    }
    unlock();
    return wanted;
}

void tracer_wait_begin(void)
{
    thread.notes = lock();
    if (thread.notes)
        tracer.ages = 0;
}

/* The sender a wildcard receive was matched with.  @return false: one that a trace does not know */
static bool matched(const open_request_t *r, const MPI_Status *status)
{
    int64_t peer = world_rank(r->comm, status->MPI_SOURCE);
    int64_t argument[3] = {tracer.requests - r->id, peer, status->MPI_TAG};
    if (peer < 0)
        return false;
    record(DNET_CALLS_MATCH, argument, 3);
    return true;
}

void tracer_completed(MPI_Request request, const MPI_Status *status)
{
    open_request_t *r = thread.notes ? find(key(&request, sizeof(request))) : NULL;
    if (r == NULL || !r->live)
        return;
    int cancelled = 0;
    if (r->cancelled)
        PMPI_Test_cancelled(status, &cancelled);
    bool wait = !cancelled && (!r->any || matched(r, status));
    if (wait && tracer.ages == tracer.age_capacity) {
        uint32_t capacity = tracer.age_capacity != 0 ? 2 * tracer.age_capacity : 64;
        int64_t *age = realloc(tracer.age, capacity * sizeof(*age));
        if (age == NULL) {
            give_up("not enough memory");
            return;
        }
        tracer.age = age;
        tracer.age_capacity = capacity;
    }
    if (wait)
        tracer.age[tracer.ages++] = tracer.requests - r->id;
    r->live = r->cancelled = false;
    if (!r->persistent)
        drop(r);
}

/* A record names so many requests at most (calls.def). */
#define AGES_MAX 65536u

void tracer_wait_end(void)
{
    if (!thread.notes)
        return;
    thread.notes = false;
    for (uint32_t i = 0; i < tracer.ages; i += AGES_MAX)
        record(DNET_CALLS_WAIT, tracer.age + i,
               tracer.ages - i < AGES_MAX ? tracer.ages - i : AGES_MAX);
    if (tracer.ages == 0)
        record(DNET_CALLS_OTHER, NULL, 0);
    unlock();
}

void tracer_collective(dnet_calls_coll_t kind, MPI_Comm comm, int64_t count, MPI_Datatype type)
{
    if (!lock())
        return;
    const known_comm_t *k = comm_of(comm);
    int64_t bytes = k == NULL || k->inter ? 0 : bytes_of(count, type);
    int64_t argument[3] = {kind, k != NULL ? k->number : 0, bytes};
    record(DNET_CALLS_COLL, argument, 3);
    unlock();
}

static void free_tables(void)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        while (tracer.bucket[b] != NULL)
            drop(tracer.bucket[b]);
    while (tracer.comm != NULL)
        unlink_comm(&tracer.comm);
    free(tracer.age);
    tracer.age = NULL;
    tracer.ages = tracer.age_capacity = 0;
}

void tracer_end(void)
{
    pthread_mutex_lock(&tracer.lock);
    if (tracer.writer != NULL) {
        uint64_t gap_ns = dnet_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - thread.left_ns;
        dnet_status_t status = dnet_calls_end(
            tracer.writer, gap_ns, dnet_clock_read_ns(CLOCK_MONOTONIC) - tracer.began_ns);
        tracer.writer = NULL;
        if (status != DNET_OK)
            give_up(status == DNET_ERR_SYSTEM ? strerror(errno) : "not enough memory");
        else if (fclose(tracer.file) != 0) {
            tracer.file = NULL;
            give_up(strerror(errno));
        }
    }
    free_tables();
    unlock();
}
