/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADDRESS_VERSION 5u
#define FNV_START 0xcbf29ce484222325ull

/* FNV-1a, to make one number of the things that tell hosts apart. */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
    for (const uint8_t *p = data; len; p++, len--)
        h = (h ^ *p) * 0x100000001b3ull;
    return h;
}

/* Processes with equal ids can open each other's descriptors: same boot, same process numbers.  Of
 * one machine those count as on different hosts that see different networks, have different host
 * names, or are told so. */
uint64_t dnet_job_host_id(const dnet_ep_t *ep)
{
    static const char *const spaces[] = {"/proc/self/ns/pid", "/proc/self/ns/net",
                                         "/proc/self/ns/uts"};
    uint64_t h = FNV_START;
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        size_t n = fread(boot, 1, sizeof(boot), f);
        h = hash(h, boot, n);
        fclose(f);
    }
    struct stat st;
    for (unsigned i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (stat(spaces[i], &st) == 0)
            h = hash(h, &st.st_ino, sizeof(st.st_ino));
    if (ep->options.host)
        h = hash(h, ep->options.host, strlen(ep->options.host));
    return h;
}

void dnet_job_host(const dnet_ep_t *ep, char *host)
{
    if (ep->options.host)
        snprintf(host, DNET_EP_HOST_BYTES, "%s", ep->options.host);
    else
        (void) gethostname(host, DNET_EP_HOST_BYTES - 1);
}

dnet_profile_t dnet_job_profile(const dnet_ep_t *ep)
{
    if (ep->job.cluster)
        return ep->job.cluster->profile;
    return ep->options.profile == 0 ? DNET_PROFILE_PROTOTYPE_FLOW : DNET_PROFILE_EXTENDED;
}

/* ---- which NIC a rank is on ---- */

static uint32_t nic_of(const dnet_ep_t *ep, uint32_t rank)
{
    return ep->job.place[rank].at / DNET_PROCESSES_PER_NIC;
}

static unsigned wid_of(const dnet_ep_t *ep, uint32_t rank)
{
    return ep->job.place[rank].at % DNET_PROCESSES_PER_NIC;
}

/* The rank that brings a rank's NIC up. */
static uint32_t owner_of(const dnet_ep_t *ep, uint32_t rank)
{
    return ep->job.rank_at[nic_of(ep, rank) * DNET_PROCESSES_PER_NIC];
}

/* Each host's ranks fill NICs of their own, in order; the last one of a host may be half full. */
static dnet_status_t place_ranks(dnet_ep_t *ep, const int *node)
{
    uint32_t most_nodes = 1;
    for (uint32_t r = 0; node && r < ep->size; r++)
        if (node[r] >= 0 && (uint32_t) node[r] >= most_nodes)
            most_nodes = (uint32_t) node[r] + 1;
    uint32_t places = DNET_PROCESSES_PER_NIC * ep->size;
    /* By node: the place of its next rank. */
    uint32_t *next = calloc(most_nodes, sizeof(*next));
    ep->job.place = calloc(ep->size, sizeof(*ep->job.place));
    ep->job.rank_at = malloc(places * sizeof(*ep->job.rank_at));
    bool memory = next && ep->job.place && ep->job.rank_at;
    for (uint32_t i = 0; memory && i < places; i++)
        ep->job.rank_at[i] = DNET_EP_NO_RANK;
    for (uint32_t r = 0; memory && r < ep->size; r++) {
        uint32_t n = node && node[r] > 0 ? (uint32_t) node[r] : 0;
        if (next[n] % DNET_PROCESSES_PER_NIC == 0)
            next[n] = ep->job.nics++ * DNET_PROCESSES_PER_NIC;
        ep->job.place[r].at = next[n];
        ep->job.rank_at[next[n]++] = r;
        ep->job.spans_hosts |= node && node[r] != node[0];
        ep->job.near += !node || node[r] == node[ep->rank];
    }
    free(next);
    return memory ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static dnet_status_t check_places(const dnet_ep_t *ep)
{
    if (ep->job.nics > DNET_NODES_MAX) {
        dnet_error(
            "%u ranks on their hosts need %u NICs, two ranks each; the NIC's addresses reach %u",
            ep->size, ep->job.nics, DNET_NODES_MAX);
        return DNET_ERR_LIMIT;
    }
    if (!ep->job.spans_hosts)
        return DNET_OK;
    if (ep->options.cluster) {
        dnet_error(
            "DIMMNET_CLUSTER=%s: a cluster is on one host, and this job's ranks are on several",
            ep->options.cluster);
        return DNET_ERR_STATE;
    }
    if (ep->options.flow != 0) {
        dnet_error(
            "DIMMNET_FLOW: ranks on several hosts have stop only; the others compare NICs of one host");
        return DNET_ERR_STATE;
    }
    return DNET_OK;
}

/* ---- cluster ---- */

/* One item of DIMMNET_CLUSTER_NODES, N or N-M: nodes of the cluster, numbered from 1. */
static bool read_range(const char **text_p, uint32_t most, uint32_t *first_p, uint32_t *last_p)
{
    const char *at = *text_p;
    char *end;
    *first_p = *last_p = (uint32_t) strtoul(at, &end, 10);
    bool good = *at >= '0' && *at <= '9';
    if (good && *end == '-') {
        at = end + 1;
        good = *at >= '0' && *at <= '9';
        *last_p = (uint32_t) strtoul(at, &end, 10);
    }
    *text_p = end + (*end == ',' && end[1]);
    return good && (*end == '\0' || *text_p > end) && *first_p >= 1 && *first_p <= *last_p &&
           *last_p <= most;
}

/* The job's nodes in the order they are listed; more than are needed stay free. */
static dnet_status_t read_nodes(dnet_ep_t *ep)
{
    const char *list = ep->options.cluster_nodes, *at = list;
    uint32_t n = 0, need = ep->job.nics, first, last;
    if (!list)
        return DNET_OK;
    bool *taken = calloc(ep->job.cluster->nodes, sizeof(*taken));
    ep->job.cluster_node = calloc(need, sizeof(*ep->job.cluster_node));
    bool good = taken && ep->job.cluster_node;
    do {
        good = good && read_range(&at, ep->job.cluster->nodes, &first, &last);
        for (uint32_t i = first; good && i <= last; i++) {
            good = !taken[i - 1];
            taken[i - 1] = true;
            if (n < need)
                ep->job.cluster_node[n] = i - 1;
            n++;
        }
    } while (good && *at);
    bool memory = taken && ep->job.cluster_node;
    free(taken);
    if (memory && good && n >= need)
        return DNET_OK;
    if (memory)
        dnet_error(
            "DIMMNET_CLUSTER_NODES=%s: want %u different nodes from 1 to %u, for example 1,3-4",
            list, need, ep->job.cluster->nodes);
    return memory ? DNET_ERR_FORMAT : DNET_ERR_NO_MEMORY;
}

/* The cluster's node that a rank is on. */
static const dnet_emu_locator_t *node_of(const dnet_ep_t *ep, uint32_t rank)
{
    uint32_t i = nic_of(ep, rank);
    return &ep->job.cluster->node[ep->job.cluster_node ? ep->job.cluster_node[i] : i];
}

/* Can this job live there? */
static dnet_status_t check_cluster(const dnet_ep_t *ep)
{
    const dnet_cluster_t *c = ep->job.cluster;
    uint32_t nodes = ep->job.nics;
    if (c->profile == DNET_PROFILE_PROTOTYPE) {
        dnet_error(
            "DIMMNET_CLUSTER: cluster %s has profile prototype, which has no flow ring; make one "
            "with: dnet-cluster up --profile extended",
            c->name);
        return DNET_ERR_STATE;
    }
    if (nodes > c->nodes) {
        dnet_error("DIMMNET_CLUSTER: %u ranks need %u nodes, cluster %s has %u", ep->size, nodes,
                   c->name, c->nodes);
        return DNET_ERR_LIMIT;
    }
    return DNET_OK;
}

dnet_status_t dnet_job_open(dnet_ep_t *ep, const int *node, bool meets_hosts)
{
    const char *name = ep->options.cluster;
    dnet_status_t status = place_ranks(ep, node);
    if (status == DNET_OK)
        status = check_places(ep);
    bool may_meet = !name && ep->options.flow == 0 && ep->options.profile != 0;
    ep->job.has_port =
        ep->job.spans_hosts || (may_meet && (meets_hosts || ep->options.connect != 0));
    if (!name || status != DNET_OK)
        return status;
    status = dnet_cluster_open(name, &ep->job.cluster);
    if (status == DNET_NOT_FOUND)
        dnet_error("DIMMNET_CLUSTER: no cluster %s of this user; make it with: dnet-cluster up "
                   "--profile extended %s",
                   name, name);
    if (status == DNET_OK)
        status = check_cluster(ep);
    return status == DNET_OK ? read_nodes(ep) : status;
}

void dnet_job_close(dnet_ep_t *ep)
{
    if (ep->job.cluster)
        dnet_cluster_close(ep->job.cluster);
    if (ep->job.port)
        dnet_emu_port_close(ep->job.port);
    if (ep->job.locality)
        dnet_locality_close(ep->job.locality);
    free(ep->job.cluster_node);
    free(ep->job.nic_of_clid);
    free(ep->job.place);
    free(ep->job.rank_at);
    free(ep->job.hosts);
    free(ep->job.addresses);
}

bool dnet_ep_may_be_several(const dnet_ep_t *ep)
{
    return !ep->job.has_port && !ep->job.cluster;
}

/* ---- NICs ---- */

/* Where each page costs its fault, all of a NIC's take longer than what the first messages of more
 * ranks than this need of them (docs/performance/ring.md, "Pages that are there"). */
#define MANY_RANKS 4u

/* A new NIC, or the node's as after power-on: both WIDs stop their senders until they are ready. */
static dnet_status_t take_nic(dnet_ep_t *ep, bool in_line)
{
    dnet_emu_config_t config = {
        .profile = dnet_job_profile(ep),
        .in_line = in_line,
        .lid = dnet_node_to_lid((uint16_t) (nic_of(ep, ep->rank) + 1)),
        .start_paused = true,
        .many_senders = ep->size > MANY_RANKS,
    };
    dnet_status_t status = ep->job.cluster ? dnet_emu_attach(node_of(ep, ep->rank), &ep->job.emu)
                                           : dnet_emu_create(&config, &ep->job.emu);
    if (status == DNET_OK)
        status = dnet_emu_open(ep->job.emu, 0, true, &ep->dev);
    return status == DNET_OK && ep->job.cluster ? dnet_emu_restart(ep->job.emu, true) : status;
}

/* The port, and of the ranks that share a NIC the first one brings it up. */
dnet_status_t dnet_job_take(dnet_ep_t *ep, bool in_line)
{
    dnet_status_t status = DNET_OK;
    if (ep->job.has_port) {
        static const char *const plugs[] = {NULL, "verbs", "tcp", "libfabric"};
        dnet_emu_port_config_t config = {
            .plug = plugs[ep->options.plug],
            .device = ep->options.verbs_device,
            .gid = ep->options.verbs_gid,
            .pkey = ep->options.verbs_pkey,
            .mtu_bytes = (uint32_t) ep->options.verbs_mtu,
            .buffers = (uint32_t) ep->options.verbs_buffers,
            .provider = ep->options.provider,
            .interface = ep->options.interface,
            .rails = ep->options.rails == DNET_OPTION_AUTO ? 0 : (uint32_t) ep->options.rails,
            .wait_s = (uint32_t) ep->options.host_wait_s,
        };
        status = dnet_emu_port_open(&config, &ep->job.port);
        if (status == DNET_OK && ep->options.eager_limit_hosts == 0)
            ep->eager_limit_hosts = dnet_emu_port_eager_bytes(ep->job.port);
    }
    if (status != DNET_OK || wid_of(ep, ep->rank) != 0)
        return status;
    status = take_nic(ep, in_line);
    if (status != DNET_OK)
        return status;
    return dnet_drv_bring_up(
        ep->dev, (uint8_t) (hash(FNV_START, &ep->job.id, sizeof(ep->job.id)) % 255 + 1));
}

static dnet_status_t join_nic(dnet_ep_t *ep, const dnet_ep_address_t *owner)
{
    ep->job.nic = (dnet_emu_locator_t){owner->pid, owner->nic_fd, owner->nic_id, owner->lid};
    if (ep->job.emu)
        return DNET_OK;
    dnet_status_t status = dnet_emu_attach(&ep->job.nic, &ep->job.emu);
    if (status != DNET_OK)
        return status;
    return dnet_emu_open(ep->job.emu, wid_of(ep, ep->rank), false, &ep->dev);
}

/* ---- addresses ---- */

/* LID of the NIC that a rank of this job is on. */
static uint16_t lid_of(const dnet_ep_t *ep, uint32_t rank)
{
    return ep->job.cluster ? node_of(ep, rank)->lid
                           : dnet_node_to_lid((uint16_t) (nic_of(ep, rank) + 1));
}

void dnet_ep_address(const dnet_ep_t *ep, dnet_ep_address_t *address_p)
{
    *address_p = (dnet_ep_address_t){
        .version = ADDRESS_VERSION,
        .pid = getpid(),
        .nic_fd = -1,
        .rank = ep->rank,
        .nic_owner = owner_of(ep, ep->rank),
        .lid = lid_of(ep, ep->rank),
        .wid = (uint16_t) wid_of(ep, ep->rank),
        .host_id = dnet_job_host_id(ep),
        .keeper = ep->job.cluster ? ep->job.cluster->keeper : 0,
        .profile = (uint16_t) dnet_job_profile(ep),
        .flow = (uint16_t) ep->options.flow,
    };
    if (ep->job.port)
        dnet_emu_port_address(ep->job.port, address_p->port);
    dnet_job_host(ep, address_p->host);
    if (ep->job.emu) {
        dnet_emu_locator_t locator;
        dnet_emu_locate(ep->job.emu, &locator);
        address_p->nic_fd = locator.fd;
        address_p->nic_id = locator.id;
    }
}

static dnet_status_t check_address(const dnet_ep_t *ep, const dnet_ep_address_t *own,
                                   const dnet_ep_address_t *a, uint32_t r)
{
    if (a->version != ADDRESS_VERSION || a->rank != r) {
        dnet_error(
            "address of rank %u is malformed (version %u); all ranks must run the same library", r,
            a->version);
        return DNET_ERR_FORMAT;
    }
    if (a->host_id != own->host_id && !ep->job.spans_hosts) {
        dnet_error("rank %u is on another host (%s), and the process manager did not say so; "
                   "start the job with a list of hosts",
                   r, a->host);
        return DNET_ERR_LIMIT;
    }
    if (a->host_id != own->host_id && owner_of(ep, r) == owner_of(ep, ep->rank)) {
        dnet_error("rank %u is on another host (%s), where the process manager counts it with this "
                   "one; processes of one node must share its network and its process numbers",
                   r, a->host);
        return DNET_ERR_STATE;
    }
    if (a->keeper != own->keeper || a->lid != lid_of(ep, r)) {
        dnet_error("rank %u is not on the cluster's node meant for it; all ranks need the same "
                   "DIMMNET_CLUSTER and DIMMNET_CLUSTER_NODES",
                   r);
        return DNET_ERR_STATE;
    }
    if (a->profile != own->profile || a->flow != own->flow) {
        dnet_error("rank %u has another %s than rank %u; all ranks need the same", r,
                   a->flow != own->flow ? "DIMMNET_FLOW" : "DIMMNET_PROFILE", ep->rank);
        return DNET_ERR_STATE;
    }
    return DNET_OK;
}

/* [nic 2] The PID-LID/WID table, and what leads back from a LID to the ranks there. */
static dnet_status_t learn_peers(dnet_ep_t *ep, const dnet_ep_address_t *addresses)
{
    for (uint32_t r = 0; r < ep->size; r++) {
        dnet_status_t status = check_address(ep, &addresses[ep->rank], &addresses[r], r);
        if (status != DNET_OK)
            return status;
        uint16_t lid = lid_of(ep, r);
        ep->peers[r].target = dnet_drv_target(lid, wid_of(ep, r));
        ep->job.pids[r] = addresses[r].pid;
        if (dnet_lid_to_clid(lid) >= ep->job.clids)
            ep->job.clids = dnet_lid_to_clid(lid) + 1u;
    }
    ep->job.nic_of_clid = calloc(ep->job.clids, sizeof(*ep->job.nic_of_clid));
    if (!ep->job.nic_of_clid)
        return DNET_ERR_NO_MEMORY;
    for (uint32_t r = 0; r < ep->size; r++)
        ep->job.nic_of_clid[dnet_lid_to_clid(lid_of(ep, r))] = (uint16_t) (1 + nic_of(ep, r));
    return DNET_OK;
}

uint32_t dnet_job_rank(const dnet_ep_t *ep, uint16_t lid, unsigned wid)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    if (clid >= ep->job.clids || ep->job.nic_of_clid[clid] == 0)
        return DNET_EP_NO_RANK;
    return ep->job.rank_at[(ep->job.nic_of_clid[clid] - 1u) * DNET_PROCESSES_PER_NIC + wid];
}

/* ---- the way to the others ---- */

static dnet_status_t route_near(dnet_ep_t *ep, const dnet_ep_address_t *a,
                                const dnet_ep_address_t *owner)
{
    dnet_emu_locator_t locator = {owner->pid, owner->nic_fd, owner->nic_id, owner->lid};
    dnet_status_t status = dnet_emu_route(ep->job.emu, &locator);
    return status == DNET_OK ? dnet_emu_route_process(ep->job.emu, a->lid, a->wid, a->pid) : status;
}

static dnet_status_t route_far(dnet_ep_t *ep, const dnet_ep_address_t *a)
{
    char *host = ep->job.hosts[a->rank];
    snprintf(host, DNET_EP_HOST_BYTES, "%.*s", (int) DNET_EP_HOST_BYTES - 1, a->host);
    if (host[0] == '\0')
        snprintf(host, DNET_EP_HOST_BYTES, "without a name");
    return dnet_emu_hosts_route(ep->job.emu, a->lid, a->wid, a->port, host);
}

static dnet_status_t route_all(dnet_ep_t *ep, const dnet_ep_address_t *addresses)
{
    const dnet_ep_address_t *own = &addresses[ep->rank];
    dnet_status_t status = DNET_OK;
    if (ep->job.has_port) {
        ep->job.hosts = calloc(ep->size, sizeof(*ep->job.hosts));
        ep->job.addresses = malloc(ep->size * sizeof(*addresses));
        if (!ep->job.hosts || !ep->job.addresses)
            return DNET_ERR_NO_MEMORY;
        memcpy(ep->job.addresses, addresses, ep->size * sizeof(*addresses));
        dnet_emu_hosts_join(ep->job.emu, own->wid, ep->job.port);
        ep->job.port = NULL;
        ep->flow_turns = true; /* the network is looked at in each round */
    }
    for (uint32_t r = 0; status == DNET_OK && r < ep->size; r++)
        status = addresses[r].host_id == own->host_id
                     ? route_near(ep, &addresses[r], &addresses[owner_of(ep, r)])
                     : route_far(ep, &addresses[r]);
    return status;
}

dnet_status_t dnet_job_connect(dnet_ep_t *ep, const dnet_ep_address_t *addresses)
{
    dnet_status_t status = learn_peers(ep, addresses);
    if (status == DNET_OK)
        status = join_nic(ep, &addresses[owner_of(ep, ep->rank)]);
    if (status == DNET_OK)
        status = route_all(ep, addresses);
    if (status == DNET_OK && ep->job.cluster && ep->job.cluster->switches >= 0)
        status =
            dnet_emu_network_join(ep->job.emu, ep->job.cluster->keeper, ep->job.cluster->switches,
                                  (uint32_t) ep->options.link_wait_s);
    if (status == DNET_OK)
        dnet_emu_set_member(ep->dev, ep->rank);
    return status;
}

/* ---- how near the others are ---- */

bool dnet_job_crowds(const dnet_ep_t *ep)
{
    dnet_processors_t own, its;
    if (dnet_processors_of(0, &own) != DNET_OK)
        return false;
    uint32_t processors = dnet_processors_count(&own), ranks = 1;
    for (uint32_t r = 0; r < ep->size && ranks <= processors; r++)
        ranks += r != ep->rank && dnet_job_is_near(ep, r) &&
                 dnet_processors_of(ep->job.pids[r], &its) == DNET_OK &&
                 dnet_processors_within(&its, &own);
    return ranks > processors;
}

/* A host that hwloc cannot read is told of once; all peers are DNET_DISTANCE_OTHER then. */
static dnet_distance_t find_distance(dnet_ep_t *ep, uint32_t peer)
{
    dnet_processors_t own, its;
    if (!ep->job.locality &&
        (ep->job.no_locality || dnet_locality_open(&ep->job.locality) != DNET_OK)) {
        ep->job.no_locality = true;
        return DNET_DISTANCE_OTHER;
    }
    if (dnet_processors_of(0, &own) != DNET_OK ||
        dnet_processors_of(ep->job.pids[peer], &its) != DNET_OK)
        return DNET_DISTANCE_OTHER;
    return dnet_locality_distance(ep->job.locality, &own, &its);
}

dnet_distance_t dnet_job_distance(dnet_ep_t *ep, uint32_t peer)
{
    dnet_place_t *place = &ep->job.place[peer];
    if (!place->distance)
        place->distance = find_distance(ep, peer) + 1u;
    return (dnet_distance_t) (place->distance - 1u);
}

/* ---- the network ---- */

/* The ranks on a NIC, as text. */
static void print_ranks(const dnet_ep_t *ep, uint16_t lid, char *text, size_t bytes)
{
    uint32_t first = dnet_job_rank(ep, lid, 0);
    if (first >= ep->size)
        snprintf(text, bytes, "no rank");
    else if (first + 1 < ep->size)
        snprintf(text, bytes, "ranks %u and %u", first, first + 1);
    else
        snprintf(text, bytes, "rank %u", first);
}

const char *dnet_ep_why(dnet_ep_t *ep, dnet_status_t status)
{
    char ranks[48];
    dnet_emu_lost_way_t lost;
    if (status != DNET_ERR_NO_ROUTE || !ep->job.emu)
        return dnet_status_text(status);
    dnet_emu_network_lost(ep->job.emu, &lost);
    bool told = ep->job.why[0];
    /* What this process fetches comes from the other side. */
    bool from = lost.lid == lid_of(ep, ep->rank);
    uint16_t lid = from ? lost.from : lost.lid;
    print_ranks(ep, lid, ranks, sizeof(ranks));
    snprintf(ep->job.why, sizeof(ep->job.why),
             "no way %s %s (LID %#x) for %u s: switch %s port %u is cut%s", from ? "from" : "to",
             ranks, lid, lost.waited_s, lost.switch_name, lost.port,
             lost.keeper_ended ? ", and the cluster is gone" : "");
    if (!told) /* MPI may make "Failure during collective" of it */
        dnet_error("%s", ep->job.why);
    return ep->job.why;
}

bool dnet_job_way_lost(const dnet_ep_t *ep)
{
    dnet_emu_lost_way_t lost;
    dnet_emu_network_lost(ep->job.emu, &lost);
    return lost.lid != 0;
}

void dnet_job_tell_lost(const dnet_ep_t *ep, uint32_t rank)
{
    const char *why = dnet_emu_hosts_why(ep->job.emu, lid_of(ep, rank), wid_of(ep, rank));
    if (why)
        dnet_error("rank %u on host %s %s", rank, ep->job.hosts[rank], why);
    else
        dnet_error("rank %u (pid %d) has ended without leaving the job", rank, ep->job.pids[rank]);
}
