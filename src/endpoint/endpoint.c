/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and closing an endpoint; counters; statistics.
 */
#include "endpoint/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADDRESS_VERSION 1u
#define CACHE_LINE 64u

/* FNV-1a, to make one number of the things that tell hosts apart. */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
    for (const uint8_t *p = data; len; p++, len--)
        h = (h ^ *p) * 0x100000001b3ull;
    return h;
}

/* Processes with equal ids can open each other's descriptors: same boot, same process numbers. */
static uint64_t host_id(void)
{
    uint64_t h = 0xcbf29ce484222325ull;
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        size_t n = fread(boot, 1, sizeof(boot), f);
        h = hash(h, boot, n);
        fclose(f);
    }
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) == 0)
        h = hash(h, &st.st_ino, sizeof(st.st_ino));
    return h;
}

static dnet_profile_t profile_of(const dnet_ep_t *ep)
{
    return ep->options.profile == 0 ? DNET_PROFILE_PROTOTYPE_FLOW : DNET_PROFILE_EXTENDED;
}

/* Processors the job may use.  A launcher that binds each rank to one keeps the whole set itself. */
static uint32_t processors(void)
{
    pid_t who[] = {0, getppid()};
    uint32_t most = 1;
    for (unsigned i = 0; i < 2; i++) {
        cpu_set_t cpus;
        if (sched_getaffinity(who[i], sizeof(cpus), &cpus) == 0 &&
            (uint32_t) CPU_COUNT(&cpus) > most)
            most = (uint32_t) CPU_COUNT(&cpus);
    }
    return most;
}

static void apply_limits(dnet_ep_t *ep)
{
    ep->packet_data = profile_of(ep) == DNET_PROFILE_EXTENDED ? DNET_NIC_PACKET_DATA_MAX : DNET_NIC_BOTF_DATA_MAX;
    ep->eager_limit = (uint32_t) ep->options.eager_limit;
    ep->chunk_bytes = (uint32_t) ep->options.chunk_bytes;
    ep->chunks = (uint32_t) ep->options.chunks;
    ep->staging_base = ep->options.ring_bytes;
    ep->budget = ep->options.unexpected_bytes;
    ep->oversubscribed = ep->size > processors();
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
    snprintf(who, sizeof(who), "rank %u", ep->rank);
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
        status = dnet_options_rank_path("DIMMNET_TRACE_FILE", o->trace_file, ep->rank, ep->size, path,
                                        sizeof(path));
    if (status == DNET_OK)
        status = dnet_trace_open(o->trace, o->trace_file ? path : NULL, (uint32_t) o->trace_events,
                                 who);
    ep->tracing = status == DNET_OK;
    return status;
}

/* Even ranks make the NIC that they share with the next rank. */
static dnet_status_t make_nic(dnet_ep_t *ep)
{
    if (ep->rank % DNET_PROCESSES_PER_NIC)
        return DNET_OK;
    dnet_emu_config_t config = {
        .profile = profile_of(ep),
        .lid = dnet_nic_target_lid(dnet_rank_target(ep->rank)),
        .start_paused = true,
    };
    dnet_status_t status = dnet_emu_create(&config, &ep->emu);
    if (status != DNET_OK)
        return status;
    status = dnet_emu_open(ep->emu, 0, true, &ep->dev);
    if (status != DNET_OK)
        return status;
    uint8_t pgid = (uint8_t) (hash(0xcbf29ce484222325ull, &ep->job, sizeof(ep->job)) % 255 + 1);
    return dnet_nic_bring_up(ep->dev, pgid);
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
    dnet_ep_t *ep;
    if (posix_memalign((void **) &ep, CACHE_LINE, sizeof(*ep)) != 0)
        return DNET_ERR_NO_MEMORY;
    memset(ep, 0, sizeof(*ep));
    ep->rank = config->rank;
    ep->size = config->size;
    ep->job = config->job;
    ep->landing_wait_tail = &ep->landing_wait;
    dnet_match_init(&ep->match);
    dnet_hold_init(ep);
    dnet_memory_start(ep);
    dnet_status_t status = dnet_options_load(&ep->options);
    if (status == DNET_OK)
        status = open_capture(ep);
    if (status == DNET_OK)
        status = open_trace(ep);
    if (status == DNET_OK) {
        apply_limits(ep);
        ep->peers = calloc(ep->size, sizeof(*ep->peers));
        ep->pids = calloc(ep->size, sizeof(*ep->pids));
        ep->scratch = malloc(DNET_PACKET_MAX_BYTES);
        status = ep->peers && ep->pids && ep->scratch ? make_nic(ep) : DNET_ERR_NO_MEMORY;
    }
    if (status != DNET_OK) {
        dnet_ep_close(ep);
        return status;
    }
    *ep_p = ep;
    return DNET_OK;
}

void dnet_ep_address(const dnet_ep_t *ep, dnet_ep_address_t *address_p)
{
    dnet_nic_target_t own = dnet_rank_target(ep->rank);
    *address_p = (dnet_ep_address_t){
        .version = ADDRESS_VERSION,
        .pid = getpid(),
        .nic_fd = -1,
        .rank = ep->rank,
        .nic_owner = ep->rank - ep->rank % DNET_PROCESSES_PER_NIC,
        .lid = dnet_nic_target_lid(own),
        .wid = (uint16_t) dnet_nic_target_wid(own),
        .host_id = host_id(),
    };
    if (ep->emu) {
        dnet_emu_locator_t locator;
        dnet_emu_locate(ep->emu, &locator);
        address_p->nic_fd = locator.fd;
        address_p->nic_id = locator.id;
    }
}

static dnet_status_t join_nic(dnet_ep_t *ep, const dnet_ep_address_t *owner)
{
    if (ep->emu)
        return DNET_OK;
    dnet_emu_locator_t locator = {owner->pid, owner->nic_fd, owner->nic_id, owner->lid};
    dnet_status_t status = dnet_emu_attach(&locator, &ep->emu);
    if (status != DNET_OK)
        return status;
    return dnet_emu_open(ep->emu, ep->rank % DNET_PROCESSES_PER_NIC, false, &ep->dev);
}

static dnet_status_t learn_peers(dnet_ep_t *ep, const dnet_ep_address_t *addresses)
{
    for (uint32_t r = 0; r < ep->size; r++) {
        const dnet_ep_address_t *a = &addresses[r];
        if (a->version != ADDRESS_VERSION || a->rank != r) {
            dnet_error("address of rank %u is malformed (version %u); all ranks must run the same library",
                       r, a->version);
            return DNET_ERR_FORMAT;
        }
        if (a->host_id != addresses[ep->rank].host_id) {
            dnet_error("rank %u is on another host; the emulated NIC reaches processes of one host", r);
            return DNET_ERR_LIMIT;
        }
        ep->peers[r].target = dnet_rank_target(r);
        ep->pids[r] = a->pid;
    }
    return DNET_OK;
}

dnet_status_t dnet_ep_connect(dnet_ep_t *ep, const dnet_ep_address_t *addresses)
{
    dnet_status_t status = learn_peers(ep, addresses);
    if (status == DNET_OK)
        status = join_nic(ep, &addresses[ep->rank - ep->rank % DNET_PROCESSES_PER_NIC]);
    for (uint32_t r = 0; status == DNET_OK && r < ep->size; r += DNET_PROCESSES_PER_NIC) {
        dnet_emu_locator_t locator = {addresses[r].pid, addresses[r].nic_fd, addresses[r].nic_id,
                                      addresses[r].lid};
        status = dnet_emu_route(ep->emu, &locator);
    }
    if (status == DNET_OK && ep->capture)
        dnet_emu_capture_set(ep->emu, ep->capture);
    if (status == DNET_OK)
        status = dnet_nic_start(&ep->nic, ep->dev, (uint32_t) ep->options.ring_bytes);
    if (status == DNET_OK)
        status = dnet_flow_start(ep);
    if (status == DNET_OK)
        dnet_dump_arm();
    return status;
}

bool dnet_ep_busy(const dnet_ep_t *ep)
{
    return ep->ops_active > 0 || ep->queued_peers > 0 || ep->receiver.stopped.count > 0;
}

void dnet_ep_am_register(dnet_ep_t *ep, dnet_ep_am_fn fn, void *arg)
{
    ep->am_fn = fn;
    ep->am_arg = arg;
}

void dnet_ep_set_source(dnet_ep_t *ep, dnet_ep_source_fn fn, void *arg)
{
    ep->source_fn = fn;
    ep->source_arg = arg;
}

void dnet_ep_finish(dnet_ep_t *ep)
{
    ep->budget = UINT64_MAX / 4;
}

void dnet_ep_set_patient(dnet_ep_t *ep, bool patient)
{
    ep->impatient = !patient;
}

const dnet_ep_counters_t *dnet_ep_counters(const dnet_ep_t *ep)
{
    dnet_ep_counters_t *c = (dnet_ep_counters_t *) &ep->counters;
    c->botf = ep->nic.counters.botf;
    c->rvs = ep->nic.counters.rvs;
    c->rvl = ep->nic.counters.rvl;
    c->ipush = ep->nic.counters.ipush;
    c->vs = ep->nic.counters.vs;
    c->vl = ep->nic.counters.vl;
    return c;
}

static void print_stats(const dnet_ep_t *ep)
{
    const dnet_ep_counters_t *c = dnet_ep_counters(ep);
    char line[2048];
    int n = snprintf(line, sizeof(line), "dimmnet[rank %u] stats:", ep->rank);
#define DNET_EP_COUNTER(name, title) \
    n += snprintf(line + n, sizeof(line) - (size_t) n, " " #name " %" PRIu64, c->name);
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
    fprintf(stderr, "%s\n", line);
}

static void free_messages(dnet_ep_t *ep)
{
    while (ep->messages_free) {
        dnet_ep_message_t *m = ep->messages_free;
        ep->messages_free = m->next_free;
        free(m);
    }
    while (ep->assemblies_free) {
        dnet_assembly_t *a = ep->assemblies_free;
        ep->assemblies_free = a->next;
        free(a);
    }
    while (ep->queues_free) {
        dnet_queue_t *q = ep->queues_free;
        ep->queues_free = q->next;
        free(q);
    }
}

void dnet_ep_close(dnet_ep_t *ep)
{
    if (ep->dev && ep->nic.dev && ep->options.stats)
        print_stats(ep);
    if (ep->dev)
        ep->dev->ops->close(ep->dev);
    if (ep->emu && !dnet_memory_in_use(ep))
        dnet_emu_detach(ep->emu);
    dnet_memory_end(ep);
    if (ep->capture)
        dnet_emu_capture_close(ep->capture);
    if (ep->tracing)
        dnet_trace_close();
    dnet_hold_fini(ep);
    free_messages(ep);
    for (uint32_t base = 0; base < ep->ops_cap; base = base ? base * 2 : 256)
        free(ep->ops[base]); /* each growth is one block, and starts at the old size */
    free(ep->ops);
    dnet_fc_receiver_fini(&ep->receiver);
    free(ep->peers);
    free(ep->pids);
    free(ep->scratch);
    free(ep);
}
