/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and closing an endpoint; counters; statistics.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint/channel.h"
#include "endpoint/compare/compare.h"
#include "endpoint/defer_recv.h"
#include "endpoint/dump.h"
#include "endpoint/flow.h"
#include "endpoint/guests.h"
#include "endpoint/inbox.h"
#include "endpoint/job.h"
#include "endpoint/memory.h"
#include "endpoint/op.h"
#include "endpoint/rndv_recv.h"
#include "endpoint/share.h"
#include "endpoint/waits.h"

/* Whoever holds the other end of a socket; 0: not known. */
static pid_t holder(int fd)
{
    struct ucred who = {.pid = 0};
    socklen_t bytes = sizeof(who);
    return fd && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 ? who.pid : 0;
}

/* A launcher that binds each rank to one keeps the whole set itself.  A script between the two is
 * bound as the rank is. */
uint32_t dnet_ep_processors(int lifeline)
{
    pid_t who[] = {0, getppid(), holder(lifeline)};
    uint32_t most = 1;
    for (unsigned i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
        cpu_set_t cpus;
        if (sched_getaffinity(who[i], sizeof(cpus), &cpus) == 0 &&
            (uint32_t) CPU_COUNT(&cpus) > most)
            most = (uint32_t) CPU_COUNT(&cpus);
    }
    return most;
}

/* Those that this rank may use; UINT32_MAX: not known. */
static uint32_t own_processors(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (uint32_t) CPU_COUNT(&cpus)
                                                          : UINT32_MAX;
}

/* May this rank not use all of the job's? */
static bool is_bound(const dnet_ep_t *ep)
{
    return own_processors() < ep->job.processors;
}

/* Where both ways are open, a message is copied twice, in and out of the ring, or once, by the
 * kernel, which looks up each page.  On processors on which that copy of 16 KB takes 2.3 us (by
 * copy_time(); docs/performance/long.md) 16 to 64 KB in a row are two to four times as fast through
 * the ring.  Where it takes 0.9 to 1.8 us, from one time to another, only collectives differ. */
#define EAGER_LIMIT 8192u
#define EAGER_LIMIT_SLOW_COPY 65536u
#define FAIR_COPY_NS 600u
#define SLOW_COPY_NS 2000u
/* Among several messages the sender's copies into the ring and the receiver's out of it are made at
 * the same time: 16 KB in a row were 1.4 times as fast, one alone takes 1.3 times as long. */
#define EAGER_LIMIT_IN_A_ROW 16384u

enum { COPIES_AUTO, COPIES_SLOW }; /* of DIMMNET_KERNEL_COPIES; fair and fast follow */

dnet_eager_near_t dnet_ep_eager_near(const dnet_options_t *options, dnet_device_t *dev)
{
    static const dnet_eager_near_t slow = {DNET_KERNEL_SLOW, EAGER_LIMIT_SLOW_COPY,
                                           EAGER_LIMIT_IN_A_ROW},
                                   fair = {DNET_KERNEL_FAIR, EAGER_LIMIT, EAGER_LIMIT_IN_A_ROW},
                                   fast = {DNET_KERNEL_FAST, EAGER_LIMIT, EAGER_LIMIT_IN_A_ROW};
    const dnet_eager_near_t *classes[] = {&slow, &fair, &fast};
    dnet_eager_near_t is;
    if (options->kernel_copies != COPIES_AUTO) {
        is = *classes[options->kernel_copies - COPIES_SLOW];
    } else {
        uint32_t ns = dev->ops->copy_time(dev);
        is = ns > SLOW_COPY_NS ? slow : ns > FAIR_COPY_NS ? fair : fast;
    }
    if (options->eager_limit != DNET_OPTION_AUTO) {
        is.alone = (uint32_t) options->eager_limit;
        is.in_a_row = 0;
    }
    return is;
}

dnet_kernel_copies_t dnet_ep_kernel_copies(const dnet_ep_t *ep)
{
    return ep->eager_near.copies;
}

/* The longer a ring, the longer its lines have been out of the second-level caches of both sides
 * when they are stored to again, and the cheaper they are to have (docs/performance/ring.md). Where
 * only this process stores to it, what the network has brought, it stays in that cache instead.
 * All that ranks of a host have together is bounded. */
#define RING_MOST (2u << 20)
#define RING_LEAST (256u << 10)
#define RINGS_OF_HOST (64u << 20)

uint64_t dnet_ep_ring_bytes(const dnet_options_t *options, uint32_t ranks_here, uint32_t processors,
                            bool spans_hosts)
{
    if (options->ring_bytes != DNET_OPTION_AUTO)
        return options->ring_bytes;
    bool all_are_far = spans_hosts && ranks_here == 1;
    uint64_t bytes = ranks_here > processors || all_are_far ? RING_LEAST : RING_MOST;
    while (bytes > RING_LEAST && bytes * ranks_here > RINGS_OF_HOST)
        bytes /= 2;
    return bytes;
}

static void apply_limits(dnet_ep_t *ep)
{
    ep->job.processors = dnet_ep_processors(ep->progress.lifeline);
    ep->oversubscribed = ep->job.near > ep->job.processors;
    ep->options.ring_bytes =
        dnet_ep_ring_bytes(&ep->options, ep->job.near, ep->job.processors, ep->job.spans_hosts);
    ep->packet_data = dnet_job_profile(ep) == DNET_PROFILE_EXTENDED ? DNET_DRV_PACKET_DATA_MAX
                                                                    : DNET_DRV_BOTF_DATA_MAX;
    ep->eager_limit = ep->options.eager_limit == DNET_OPTION_AUTO
                          ? EAGER_LIMIT
                          : (uint32_t) ep->options.eager_limit;
    ep->eager_limit_hosts = (uint32_t) ep->options.eager_limit_hosts; /* 0: the port says */
    ep->rndv.chunk_bytes = (uint32_t) ep->options.chunk_bytes;
    ep->rndv.chunks = (uint32_t) ep->options.chunks;
    ep->rndv.staging_base = ep->options.ring_bytes;
    ep->rndv.staging_end = ep->rndv.staging_base +
                           (uint64_t) ep->rndv.chunk_bytes * ep->rndv.chunks * DNET_STAGING_AREAS;
    ep->inbox.budget = ep->options.unexpected_bytes;
    dnet_compare_apply(ep);
}

/* In the prototype profile one more chunk lies behind the areas. */
dnet_status_t dnet_ep_check_staging(const dnet_options_t *o, uint64_t ring_bytes,
                                    const dnet_device_t *dev)
{
    uint64_t chunks = o->chunks * DNET_STAGING_AREAS + (dev->sodimm ? 0 : 1);
    uint64_t end = ring_bytes + o->chunk_bytes * chunks;
    if (end <= dev->geometry.sodimm_bytes)
        return DNET_OK;
    dnet_error("DIMMNET_CHUNK_BYTES=%" PRIu64 " and DIMMNET_CHUNKS=%" PRIu64
               ": %u areas of these need %" PRIu64
               " bytes of SO-DIMM with the rings before them, and there are %" PRIu64,
               o->chunk_bytes, o->chunks, DNET_STAGING_AREAS, end, dev->geometry.sodimm_bytes);
    return DNET_ERR_LIMIT;
}

/* Pieces that a ring has room for where they are long. */
#define PIECES_OF_RING 8u

/* Where the NIC brings longer messages than a packet holds as one, and the ring has room for some.
 */
static void apply_message_bytes(dnet_ep_t *ep)
{
    uint32_t bytes = ep->dev->ops->message_bytes(ep->dev) - DNET_ENVELOPE_BYTES;
    uint64_t ring_bytes = ep->options.ring_bytes / ep->options.rings;
    if (bytes < DNET_DRV_MESSAGE_DATA_MAX || dnet_compare_flow_mode(ep) != DNET_FLOW_MODE_STOP ||
        ring_bytes < 4 * DNET_DRV_MESSAGE_DATA_MAX)
        return;
    ep->packet_data = DNET_DRV_MESSAGE_DATA_MAX;
    if (bytes >= DNET_DRV_PIECE_DATA_MAX && ring_bytes >= PIECES_OF_RING * DNET_DRV_PIECE_DATA_MAX)
        ep->piece_data = DNET_DRV_PIECE_DATA_MAX;
}

static void apply_packet_data(dnet_ep_t *ep)
{
    apply_message_bytes(ep);
    if (ep->piece_data < ep->packet_data)
        ep->piece_data = ep->packet_data;
    ep->one_packet = ep->eager_limit < ep->packet_data ? ep->eager_limit : ep->packet_data;
    if (ep->one_packet < DNET_DRV_BOTF_DATA_MAX)
        ep->one_packet = DNET_DRV_BOTF_DATA_MAX;
}

static void who_is(const dnet_ep_t *ep, char *who, size_t bytes)
{
    int n = snprintf(who, bytes, "rank %u", ep->rank);
    if (ep->vci)
        snprintf(who + n, bytes - (size_t) n, " vci %u", ep->vci);
}

/* DIMMNET_PCAP: a job that cannot write what it was asked for does not start. */
static dnet_status_t open_capture(dnet_ep_t *ep)
{
    char who[32], path[4096];
    if (!ep->options.pcap)
        return DNET_OK;
    dnet_status_t status = dnet_options_rank_path("DIMMNET_PCAP", ep->options.pcap, ep->rank,
                                                  ep->size, path, sizeof(path));
    if (status != DNET_OK)
        return status;
    who_is(ep, who, sizeof(who));
    if (ep->vci)
        snprintf(path + strlen(path), sizeof(path) - strlen(path), ".vci%u", ep->vci);
    return dnet_emu_capture_open(path, who, (uint32_t) ep->options.pcap_bytes, &ep->capture);
}

/* The trace ring: always there, so that points can be switched on later. */
static dnet_status_t open_trace(dnet_ep_t *ep)
{
    const dnet_options_t *o = &ep->options;
    char who[32], path[4096];
    dnet_status_t status = DNET_OK;
    snprintf(who, sizeof(who), "rank %u", ep->rank);
    if (o->trace_file)
        status = dnet_options_rank_path("DIMMNET_TRACE_FILE", o->trace_file, ep->rank, ep->size,
                                        path, sizeof(path));
    if (status == DNET_OK)
        status =
            dnet_trace_open(o->trace, o->trace_file ? path : NULL, (uint32_t) o->trace_events, who);
    ep->tracing = status == DNET_OK;
    return status;
}

static DNET_COLD dnet_status_t no_memory(size_t bytes, const char *what)
{
    dnet_error("no memory for %s of %zu bytes; raise the limit on address space (ulimit -v)", what,
               bytes);
    return DNET_ERR_NO_MEMORY;
}

/* An endpoint that has nothing yet.  @return NULL: no memory (logged) */
static dnet_ep_t *make(const dnet_ep_config_t *config)
{
    dnet_ep_t *ep =
        mmap(NULL, sizeof(*ep), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ep == MAP_FAILED) {
        (void) no_memory(sizeof(*ep), "an endpoint");
        return NULL;
    }
    ep->page_fd = -1;
    ep->rank = config->rank;
    ep->size = config->size;
    ep->vci = config->vci;
    ep->awaited = config->awaited;
    ep->job.id = config->job;
    ep->progress.lifeline = config->lifeline;
    ep->rndv.wait_tail = &ep->rndv.wait;
    ep->received_before = UINT64_MAX; /* no send has asked */
    ep->inbox.left = UINT32_MAX;
    ep->tx.retry_ns = UINT64_MAX;
    dnet_match_init(&ep->inbox.match);
    dnet_defer_init(ep);
    dnet_memory_start(ep);
    return ep;
}

/* Ranks of the job, and room for guests, whose pages exist when there are some. */
static size_t peers_bytes(const dnet_ep_t *ep)
{
    return (ep->size + DNET_GUESTS_MAX + 1) * sizeof(*ep->peers);
}

static dnet_peer_t *peers_make(const dnet_ep_t *ep)
{
    void *peers =
        mmap(NULL, peers_bytes(ep), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return peers == MAP_FAILED ? NULL : peers;
}

/* What the environment asks for, as far as it can be judged before there is a NIC. */
static dnet_status_t read_settings(dnet_ep_t *ep, const dnet_ep_config_t *config)
{
    dnet_status_t status = dnet_options_load(ep->rank, ep->size, &ep->options);
    if (status == DNET_OK)
        status = dnet_job_open(ep, config->node, config->meets_hosts);
    return status == DNET_OK ? dnet_compare_check(ep) : status;
}

dnet_status_t dnet_ep_check(uint32_t size, dnet_options_t *options_p)
{
    dnet_ep_config_t config = {.size = size};
    dnet_ep_t *ep = make(&config);
    if (!ep)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t status = read_settings(ep, &config);
    *options_p = ep->options;
    dnet_ep_close(ep);
    return status;
}

dnet_status_t dnet_ep_open(const dnet_ep_config_t *config, dnet_ep_t **ep_p)
{
    char who[32];
    snprintf(who, sizeof(who), "rank %u", config->rank);
    dnet_log_init();
    dnet_log_identity(who);
    if (config->size > DNET_NODES_MAX * DNET_PROCESSES_PER_NIC) {
        if (config->rank == 0)
            dnet_error("%u ranks; the NIC's addresses reach %u (%u nodes of %u processes)",
                       config->size, DNET_NODES_MAX * DNET_PROCESSES_PER_NIC, DNET_NODES_MAX,
                       DNET_PROCESSES_PER_NIC);
        return DNET_ERR_LIMIT;
    }
    dnet_ep_t *ep = make(config);
    if (!ep)
        return DNET_ERR_NO_MEMORY;
    if (config->rank == 0)
        dnet_options_warn_unknown();
    dnet_status_t status = read_settings(ep, config);
    if (status == DNET_OK)
        status = open_capture(ep);
    if (status == DNET_OK)
        status = open_trace(ep);
    if (status == DNET_OK) {
        apply_limits(ep);
        ep->peers = peers_make(ep);
        ep->job.pids = calloc(ep->size, sizeof(*ep->job.pids));
        ep->inbox.scratch = malloc(DNET_DRV_MESSAGE_DATA_MAX);
        status = ep->peers && ep->job.pids && ep->inbox.scratch
                     ? dnet_job_take(ep, dnet_compare_in_line(ep))
                     : no_memory(peers_bytes(ep), "a table of the job's ranks");
    }
    if (status != DNET_OK) {
        dnet_ep_close(ep);
        return status;
    }
    *ep_p = ep;
    return DNET_OK;
}

dnet_status_t dnet_ep_connect(dnet_ep_t *ep, const dnet_ep_address_t *addresses)
{
    dnet_status_t status = dnet_job_connect(ep, addresses);
    if (status == DNET_OK)
        status = dnet_ep_check_staging(&ep->options, ep->options.ring_bytes, ep->dev);
    if (status == DNET_OK && !ep->oversubscribed && is_bound(ep))
        ep->oversubscribed = dnet_job_crowds(ep);
    if (status == DNET_OK && ep->capture)
        dnet_emu_capture_set(ep->job.emu, ep->capture);
    if (status == DNET_OK && ep->options.faults)
        status = dnet_emu_faults_set(ep->job.emu, (uint32_t) ep->options.faults, ep->rank + 1);
    if (status == DNET_OK && ep->options.fault_packet && !ep->vci &&
        ep->options.fault_rank == ep->rank)
        status =
            dnet_emu_fault_point_set(ep->job.emu, (uint32_t) ep->options.fault_packet,
                                     (uint32_t) ep->options.fault_step, ep->options.fault_signal);
    if (status == DNET_OK)
        status = dnet_drv_start(&ep->drv, ep->dev, (uint32_t) ep->options.ring_bytes,
                                (uint32_t) ep->options.rings, dnet_compare_flow_mode(ep),
                                dnet_srq_limit_refill(ep));
    if (status == DNET_OK) {
        ep->eager_near = dnet_ep_eager_near(&ep->options, ep->dev);
        apply_packet_data(ep);
        status = dnet_flow_start(ep);
    }
    if (status == DNET_OK)
        status = dnet_srq_limit_start(ep);
    if (status == DNET_OK) {
        dnet_page_open(ep);
        dnet_dump_arm(ep);
    }
    return status;
}

bool dnet_ep_busy(const dnet_ep_t *ep)
{
    return ep->ops.active > 0 || ep->tx.open_channels > 0 || ep->receiver.stopped.count > 0 ||
           ep->holding || (ep->job.has_port && dnet_emu_hosts_busy(ep->job.emu));
}

void dnet_ep_am_register(dnet_ep_t *ep, dnet_ep_am_fn fn, void *arg)
{
    ep->am_fn = fn;
    ep->am_arg = arg;
}

void dnet_ep_am_register_long(dnet_ep_t *ep, const dnet_ep_am_long_t *functions)
{
    ep->am_long = *functions;
}

void dnet_ep_set_source(dnet_ep_t *ep, dnet_ep_source_fn fn, void *arg)
{
    ep->source_fn = fn;
    ep->source_arg = arg;
}

void dnet_ep_set_names(dnet_ep_t *ep, const dnet_ep_names_t *names)
{
    ep->names = *names;
}

void dnet_ep_finish(dnet_ep_t *ep)
{
    ep->inbox.budget = UINT64_MAX / 4;
}

void dnet_ep_set_patient(dnet_ep_t *ep, bool patient)
{
    ep->impatient = !patient;
}

bool dnet_ep_oversubscribed(const dnet_ep_t *ep)
{
    return ep->oversubscribed;
}

uint32_t dnet_ep_own_processors(const dnet_ep_t *ep)
{
    uint32_t share = ep->job.processors / ep->job.near, own = own_processors();
    share = share < own ? share : own;
    return share ? share : 1;
}

/* The caller may have several threads here that hold no lock. */
static inline void count(const dnet_ep_t *ep, uint64_t *counter)
{
    if (ep->impatient)
        atomic_fetch_add_explicit((_Atomic uint64_t *) (void *) counter, 1, memory_order_relaxed);
    else
        (*counter)++;
}

void dnet_ep_count_board(dnet_ep_t *ep)
{
    count(ep, &ep->page.counters.boards);
}

void dnet_ep_count_far_board(dnet_ep_t *ep)
{
    count(ep, &ep->page.counters.boards_far);
}

void dnet_ep_count_board_collective(dnet_ep_t *ep)
{
    count(ep, &ep->page.counters.board_collectives);
}

void dnet_ep_count_window(dnet_ep_t *ep)
{
    count(ep, &ep->page.counters.windows);
}

void dnet_ep_count_window_op(dnet_ep_t *ep)
{
    count(ep, &ep->page.counters.window_ops);
}

void dnet_ep_count_window_ask(dnet_ep_t *ep)
{
    count(ep, &ep->page.counters.window_asks);
}

const dnet_ep_counters_t *dnet_ep_counters(const dnet_ep_t *ep)
{
    dnet_ep_counters_t *c = (dnet_ep_counters_t *) &ep->page.counters;
    c->botf = ep->drv.counters.botf;
    c->rvs = ep->drv.counters.rvs;
    c->rvl = ep->drv.counters.rvl;
    c->ipush = ep->drv.counters.ipush;
    c->vs = ep->drv.counters.vs;
    c->vl = ep->drv.counters.vl;
    c->limit_events = atomic_load_explicit(&ep->compare.limit.events, memory_order_relaxed);
    c->limit_ns = atomic_load_explicit(&ep->compare.limit.ns, memory_order_relaxed);
    return c;
}

dnet_ep_lengths_t dnet_ep_lengths(const dnet_ep_t *ep)
{
    const dnet_match_t *m = &ep->inbox.match;
    return (dnet_ep_lengths_t){m->posted_count, m->unexpected_count, ep->page.unexpected_bytes};
}

void dnet_ep_set_unexpected(dnet_ep_t *ep, dnet_ep_unexpected_fn fn)
{
    ep->inbox.unexpected_fn = fn;
}

static void print_stats(const dnet_ep_t *ep)
{
    const dnet_ep_counters_t *c = dnet_ep_counters(ep);
    char line[2048], who[32];
    who_is(ep, who, sizeof(who));
    int n = snprintf(line, sizeof(line), "dimmnet[%s] stats:", who);
#define DNET_EP_COUNTER(name, title) \
    n += snprintf(line + n, sizeof(line) - (size_t) n, " " #name " %" PRIu64, c->name);
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
    fprintf(stderr, "%s\n", line);
}

/* Rail of the messages to a rank; -1: there is one only, or none yet; -2: it is near. */
static int rail_of(const dnet_ep_t *ep, uint32_t rank)
{
    dnet_drv_target_t target = ep->peers[rank].target;
    return dnet_job_is_near(ep, rank)
               ? -2
               : dnet_emu_hosts_rail(ep->job.emu, dnet_drv_target_lid(target),
                                     dnet_drv_target_wid(target));
}

/* What has gone by each of several rails. */
static void write_rails(const dnet_emu_hosts_stats_t *h, char *text, size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t r = 0; r < h->rails && n < room; r++)
        n += (size_t) snprintf(text + n, room - n, "%s %s %" PRIu64 " bytes sent, %" PRIu64 " read",
                               r ? "," : "; rails:", h->rail[r].network, h->rail[r].sent_bytes,
                               h->rail[r].read_bytes);
}

/* By which plug each rank is reached. */
static void print_plugs(const dnet_ep_t *ep)
{
    dnet_emu_hosts_stats_t h;
    char line[1024], rnr[64] = "", rails[512];
    size_t n = 0;
    dnet_emu_hosts_stats(ep->job.emu, &h);
    write_rails(&h, rails, sizeof(rails));
    if (h.rnr >= 0)
        snprintf(rnr, sizeof(rnr), "; RNR NAKs of the adapter: %" PRId64, h.rnr);
    for (uint32_t first = 0, next; first < ep->size && n < sizeof(line); first = next) {
        int rail = rail_of(ep, first);
        for (next = first + 1; next < ep->size && rail_of(ep, next) == rail;)
            next++;
        n += (size_t) snprintf(line + n, sizeof(line) - n, "%s %u", first ? "," : "", first);
        if (n < sizeof(line) && next > first + 1)
            n += (size_t) snprintf(line + n, sizeof(line) - n, "-%u", next - 1);
        if (n < sizeof(line))
            n += rail == -2
                     ? (size_t) snprintf(line + n, sizeof(line) - n, " shm")
                     : (size_t) snprintf(line + n, sizeof(line) - n, " %s (%s)", h.plug, h.network);
        if (n < sizeof(line) && rail >= 0)
            n += (size_t) snprintf(line + n, sizeof(line) - n, " messages by %s",
                                   h.rail[rail].network);
    }
    fprintf(stderr,
            "dimmnet[rank %u] plugs:%s; %u of %u connected, %u bytes each; messages: %" PRIu64
            " sent, %" PRIu64 " of them again, %" PRIu64 " received, %" PRIu64
            " stopped here, %" PRIu64 " read; memory: %" PRIu64 " times registered, %" PRIu64
            " times found registered%s%s\n",
            ep->rank, line, h.connected, h.routes, h.connection_bytes, h.sent, h.again, h.received,
            h.stops, h.reads, h.registered, h.reused, rnr, rails);
}

void dnet_ep_close(dnet_ep_t *ep)
{
    dnet_srq_limit_end(ep);
    dnet_dump_disarm(ep);
    if (ep->dev && ep->drv.dev && ep->options.stats)
        print_stats(ep);
    if (ep->dev && ep->job.hosts && ep->options.stats)
        print_plugs(ep);
    if (ep->dev)
        ep->dev->ops->close(ep->dev);
    dnet_guests_leave(ep);
    if (ep->job.emu)
        dnet_emu_hosts_leave(ep->job.emu);
    if (ep->job.emu && !dnet_memory_in_use(ep))
        dnet_emu_detach(ep->job.emu);
    dnet_job_close(ep);
    dnet_memory_end(ep);
    if (ep->capture)
        dnet_emu_capture_close(ep->capture);
    if (ep->tracing)
        dnet_trace_close();
    dnet_defer_fini(ep);
    dnet_channels_free(ep);
    dnet_rndv_recvs_free(ep);
    dnet_inbox_free(ep);
    dnet_ops_free(ep);
    dnet_fc_receiver_fini(&ep->receiver);
    if (ep->peers)
        munmap(ep->peers, peers_bytes(ep));
    free(ep->job.pids);
    dnet_page_close(ep);
    munmap(ep, sizeof(*ep));
}
