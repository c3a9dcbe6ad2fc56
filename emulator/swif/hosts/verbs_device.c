/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device, port, GID, PKEY and MTU a verbs port uses: what the options name, else the active
 * port nearest to the process on the network of the first one; of a RoCE port the GID of type RoCE
 * v2, an IPv4 address first.
 */
#include "config.h"

#ifdef HAVE_STRUCT_IBV_GID_ENTRY

#include "emulator/swif/hosts/verbs_end.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/number.h"
#include "locality/adapter.h"

#define PKEY_BEST 3u
#define NO_RIGHT "; this user must be able to read and write /dev/infiniband/uverbs*"

bool dnet_emu_verbs_load(dnet_emu_verbs_lib_t *lib)
{
    bool all = true;

    lib->library = dlopen(VERBS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!lib->library)
        return false;
#define DNET_VERBS_FUNCTION(name) \
    lib->name = (__typeof__(lib->name)) dlsym(lib->library, "ibv_" #name); \
    all = all && lib->name;
#include "emulator/swif/hosts/verbs_functions.def"
#undef DNET_VERBS_FUNCTION
    lib->query_gid_ex = (__typeof__(lib->query_gid_ex)) dlsym(lib->library, "_ibv_query_gid_ex");
    return all && lib->query_gid_ex;
}

static int query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr)
{
    struct verbs_context *v = verbs_get_ctx_op(c, query_port);

    memset(attr, 0, sizeof *attr);
    return v ? v->query_port(c, port, attr, sizeof *attr) : ENOSYS;
}

/* ---- GIDs ---- */

static void gid_text(const uint8_t *gid, char *text, size_t bytes)
{
    bool v4 = dnet_emu_verbs_is_v4(gid);

    if (!inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid + 12 : gid, text, (socklen_t) bytes))
        snprintf(text, bytes, "?");
}

/* Is it of that interface, by name or address? */
static bool is_of(const struct ibv_gid_entry *g, const char *interface)
{
    char name[IF_NAMESIZE], address[INET6_ADDRSTRLEN];

    gid_text(g->gid.raw, address, sizeof address);
    return strcmp(interface, address) == 0 ||
           (g->ndev_ifindex && if_indextoname(g->ndev_ifindex, name) &&
            strcmp(interface, name) == 0);
}

/* How good a GID is for RoCE; 0: useless. */
static unsigned rank_of(const struct ibv_gid_entry *g)
{
    if (g->gid_type != IBV_GID_TYPE_ROCE_V2)
        return 0;
    if (dnet_emu_verbs_is_v4(g->gid.raw))
        return 3;
    return g->gid.raw[0] == 0xfe && (g->gid.raw[1] & 0xc0) == 0x80 ? 1 : 2;
}

/* The GID that is wanted, or else the best.  @return false: none */
static bool choose_gid(const dnet_emu_verbs_lib_t *lib, const char *wanted, const char *interface,
                       dnet_emu_verbs_port_t *p)
{
    unsigned best = 0;
    uint64_t only = 0;

    /* Address vectors have one byte for it. */
    if (wanted && !dnet_number(wanted, 0, UINT8_MAX, &only))
        return false;
    for (uint32_t i = 0; i < (uint32_t) p->attr.gid_tbl_len && i <= UINT8_MAX; i++) {
        struct ibv_gid_entry g;
        unsigned rank = 1;

        if ((wanted && i != only) ||
            lib->query_gid_ex(p->context, p->port, i, &g, 0, sizeof g) != 0)
            continue;
        if (p->roce && !wanted)
            rank = interface && !is_of(&g, interface) ? 0 : rank_of(&g);
        if (rank > best) {
            best = rank;
            p->gid_index = (uint16_t) i;
            memcpy(p->gid, g.gid.raw, sizeof p->gid);
        }
        if (!p->roce && best)
            break;
    }
    return best != 0;
}

/* ---- PKEYs and MTUs ---- */

/* How good a PKEY is; 0: useless.  A port may be a limited and a full member of a partition, and
 * limited ones do not talk to each other. */
static unsigned rank_of_pkey(uint16_t pkey, uint16_t partition, bool only_that)
{
    if ((pkey & 0x7fff) != (partition & 0x7fff))
        return (pkey & 0x7fff) && !only_that ? 1 : 0;
    return pkey & 0x8000 ? PKEY_BEST : 2;
}

/* The one wanted; else the default partition's, or else the first that is in use. */
static bool choose_pkey(const dnet_emu_verbs_lib_t *lib, const char *wanted,
                        dnet_emu_verbs_port_t *p)
{
    uint64_t only = 0x7fff;
    unsigned best = 0;

    if (wanted && !dnet_number(wanted, 1, UINT16_MAX, &only))
        return false;
    for (uint16_t i = 0; i < p->attr.pkey_tbl_len && best < PKEY_BEST; i++) {
        __be16 raw;
        unsigned rank;

        if (lib->query_pkey(p->context, p->port, i, &raw) != 0)
            continue;
        rank = rank_of_pkey(ntohs(raw), (uint16_t) only, wanted);
        if (rank > best) {
            best = rank;
            p->pkey_index = i;
            p->pkey = ntohs(raw);
        }
    }
    return best != 0;
}

static unsigned mtu_bytes(unsigned mtu)
{
    return 128u << mtu;
}

/* ---- ports ---- */

/* Mbit/s of the link. */
static uint32_t rate_of(const struct ibv_port_attr *a)
{
    static const uint32_t lane[] = {2500, 5000, 10000, 10000, 14063, 25781, 53125, 106250};
    unsigned speed = a->active_speed ? (unsigned) __builtin_ctz(a->active_speed) : 0;
    unsigned lanes = a->active_width == 2    ? 4
                     : a->active_width == 4  ? 8
                     : a->active_width == 8  ? 12
                     : a->active_width == 16 ? 2
                                             : 1;

    return lane[speed < 8 ? speed : 7] * lanes;
}

/* "name" or "name:port"; port 0: any of that device */
static bool is_wanted(const char *wanted, const char *name, uint8_t port)
{
    size_t n = strlen(name);

    return !wanted ||
           (strncmp(wanted, name, n) == 0 &&
            (!wanted[n] || (wanted[n] == ':' && (port == 0 || atoi(wanted + n + 1) == port))));
}

static void describe(dnet_emu_verbs_port_t *p)
{
    char gid[INET6_ADDRSTRLEN];

    gid_text(p->gid, gid, sizeof gid);
    if (p->roce)
        snprintf(p->text, sizeof p->text, "%s:%u RoCE %s", p->name, p->port, gid);
    else
        snprintf(p->text, sizeof p->text, "%s:%u InfiniBand LID %u", p->name, p->port, p->attr.lid);
}

/* Can that port be used?  `text` says what it is, or why not. */
static bool look_at(const dnet_emu_verbs_lib_t *lib, const dnet_emu_port_config_t *config,
                    dnet_emu_verbs_port_t *p)
{
    if (query_port(p->context, p->port, &p->attr) != 0) {
        snprintf(p->text, sizeof p->text, "it cannot be queried");
        return false;
    }
    p->roce = p->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    p->mbits_per_s = rate_of(&p->attr);
    if (p->attr.state != IBV_PORT_ACTIVE) {
        snprintf(p->text, sizeof p->text, "its state is %s", lib->port_state_str(p->attr.state));
        return false;
    }
    if (!choose_gid(lib, config->gid, config->interface, p)) {
        if (config->gid)
            snprintf(p->text, sizeof p->text, "DIMMNET_VERBS_GID=%s is no entry of its GID table",
                     config->gid);
        else if (config->interface)
            snprintf(p->text, sizeof p->text, "it has no GID of type RoCE v2 on interface %s",
                     config->interface);
        else
            snprintf(p->text, sizeof p->text, "it has no GID%s",
                     p->roce ? " of type RoCE v2: its interface needs an IP address" : "");
        return false;
    }
    if (!choose_pkey(lib, config->pkey, p)) {
        snprintf(p->text, sizeof p->text, "its PKEY table has no %s",
                 config->pkey ? config->pkey : "entry");
        return false;
    }
    p->mtu = (uint8_t) p->attr.active_mtu;
    while (p->mtu > IBV_MTU_256 && mtu_bytes(p->mtu) > config->mtu_bytes)
        p->mtu--;
    describe(p);
    return true;
}

/* Call for each port of each device, until it returns true. */
typedef bool visit_t(void *arg, const dnet_emu_verbs_lib_t *lib, dnet_emu_verbs_port_t *p);

/* @param least  where there are fewer devices nothing is called  @return devices there are; -1: not
 * to be said (errno) */
static int each_port(const dnet_emu_verbs_lib_t *lib, int least, visit_t *visit, void *arg)
{
    int count = 0;
    struct ibv_device **list = lib->get_device_list(&count);
    bool done = false;

    if (!list)
        return -1;
    for (int i = 0; i < count && count >= least && !done; i++) {
        struct ibv_device_attr attr;
        dnet_emu_verbs_port_t p = {.port = 1};

        snprintf(p.name, sizeof p.name, "%s", lib->get_device_name(list[i]));
        p.distance = (uint8_t) dnet_adapter_distance(list[i]->ibdev_path);
        p.context = lib->open_device(list[i]);
        if (!p.context) {
            (void) visit(arg, lib, &p);
            continue;
        }
        if (lib->query_device(p.context, &attr) == 0)
            for (p.port = 1; p.port <= attr.phys_port_cnt && !done; p.port++)
                done = visit(arg, lib, &p);
        if (!done)
            lib->close_device(p.context);
    }
    lib->free_device_list(list);
    return count;
}

/* ---- which port ---- */

typedef struct {
    const dnet_emu_port_config_t *config;
    dnet_emu_verbs_port_t *chosen;
    bool found;
    char why[320]; /* the first that was wanted is not to be had */
} choice_t;

static bool try_port(void *arg, const dnet_emu_verbs_lib_t *lib, dnet_emu_verbs_port_t *p)
{
    choice_t *c = arg;

    if (!is_wanted(c->config->device, p->name, p->context ? p->port : 0))
        return false;
    if (p->context && look_at(lib, c->config, p)) {
        *c->chosen = *p;
        return c->found = true;
    }
    if (c->why[0])
        return false;
    if (p->context)
        snprintf(c->why, sizeof c->why, "port %u of %s cannot be used: %s", p->port, p->name,
                 p->text);
    else
        snprintf(c->why, sizeof c->why, "%s cannot be opened: %s%s", p->name, strerror(errno),
                 errno == EACCES || errno == EPERM ? NO_RIGHT : "");
    return false;
}

/* Name of the count differs by driver: rxe, mlx5. */
int64_t dnet_emu_verbs_rnr(const dnet_emu_verbs_port_t *p)
{
    static const char *const names[] = {"rcvd_rnr_err", "rnr_nak_retry_err"};
    char path[192];
    int64_t n = -1;

    for (unsigned i = 0; i < sizeof names / sizeof *names && n < 0; i++) {
        FILE *f;

        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%u/hw_counters/%s", p->name,
                 p->port, names[i]);
        f = fopen(path, "re");
        if (f && fscanf(f, "%" SCNd64, &n) != 1)
            n = -1;
        if (f)
            fclose(f);
    }
    return n;
}

/* Ports of one network: of InfiniBand they have one subnet prefix, of RoCE IPv6 addresses with one
 * prefix, or IPv4 addresses that the interface of the first can reach by itself. */
static bool is_one_network(const dnet_emu_verbs_port_t *a, const dnet_emu_verbs_port_t *b)
{
    struct ifaddrs *list;
    uint32_t at_a, at_b, mask = UINT32_MAX;

    if (a->roce != b->roce)
        return false;
    if (!dnet_emu_verbs_is_v4(a->gid) || !dnet_emu_verbs_is_v4(b->gid))
        return memcmp(a->gid, b->gid, 8) == 0;
    memcpy(&at_a, a->gid + 12, sizeof at_a);
    memcpy(&at_b, b->gid + 12, sizeof at_b);
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        const struct sockaddr_in *own = (const void *) i->ifa_addr;
        const struct sockaddr_in *net = (const void *) i->ifa_netmask;

        if (own && net && own->sin_family == AF_INET && own->sin_addr.s_addr == at_a)
            mask = net->sin_addr.s_addr;
    }
    freeifaddrs(list);
    return (at_a & mask) == (at_b & mask);
}

typedef struct {
    const dnet_emu_port_config_t *config;
    dnet_emu_verbs_port_t first, best;
    bool found;
} search_t;

/* The nearest, then the fastest, on the network of the first that can be used. */
static bool compare_port(void *arg, const dnet_emu_verbs_lib_t *lib, dnet_emu_verbs_port_t *p)
{
    search_t *s = arg;

    if (!p->context || !look_at(lib, s->config, p))
        return false;
    if (!s->found) {
        s->first = s->best = *p;
    } else if (is_one_network(&s->first, p) &&
               (p->distance < s->best.distance ||
                (p->distance == s->best.distance && p->mbits_per_s > s->best.mbits_per_s))) {
        s->best = *p;
    }
    s->found = true;
    return false;
}

dnet_status_t dnet_emu_verbs_choose(const dnet_emu_verbs_lib_t *lib,
                                    const dnet_emu_port_config_t *config, dnet_emu_verbs_port_t *p)
{
    search_t s = {.config = config};
    dnet_emu_port_config_t one = *config;
    choice_t c = {.config = &one, .chosen = p};
    char name[DNET_RAIL_NAME];
    int devices = config->device ? 1 : each_port(lib, 2, compare_port, &s);

    if (s.found) {
        snprintf(name, sizeof name, "%s:%u", s.best.name, s.best.port);
        one.device = name;
    }
    if (devices > 0)
        devices = each_port(lib, 1, try_port, &c);

    if (c.found)
        return DNET_OK;
    if (devices < 0)
        dnet_error("verbs: no list of devices: %s", strerror(errno));
    else if (devices == 0)
        dnet_error("verbs: this host has no RDMA device (ibv_devices lists them; Soft-RoCE: rdma "
                   "link add rxe0 type rxe netdev eth0)");
    else if (c.why[0])
        dnet_error("verbs: %s", c.why);
    else
        dnet_error(
            "verbs: no device and port %s here (DIMMNET_VERBS_DEVICE); ibv_devices lists them",
            config->device);
    return DNET_NOT_FOUND;
}

typedef struct {
    const dnet_emu_port_config_t *config;
    uint32_t most, count, mbits_per_s;
    char (*name)[DNET_RAIL_NAME];
} rails_t;

/* Ports with the rate of the first one, whatever their networks. */
static bool add_rail(void *arg, const dnet_emu_verbs_lib_t *lib, dnet_emu_verbs_port_t *p)
{
    rails_t *r = arg;

    if (r->count == r->most || !p->context || !is_wanted(r->config->device, p->name, p->port) ||
        !look_at(lib, r->config, p))
        return false;
    if (r->count == 0)
        r->mbits_per_s = p->mbits_per_s;
    if (p->mbits_per_s == r->mbits_per_s)
        snprintf(r->name[r->count++], DNET_RAIL_NAME, "%s:%u", p->name, p->port);
    return false;
}

uint32_t dnet_emu_verbs_choose_rails(const dnet_emu_port_config_t *config, uint32_t most,
                                     dnet_emu_port_config_t *rail, char (*name)[DNET_RAIL_NAME])
{
    rails_t r = {.config = config, .most = most, .name = name};
    dnet_emu_verbs_lib_t lib;

    if (!dnet_emu_verbs_load(&lib) || each_port(&lib, 1, add_rail, &r) < 0)
        return 0;
    for (uint32_t i = 0; i < r.count; i++) {
        rail[i] = *config;
        rail[i].device = name[i];
    }
    return r.count;
}

/* ---- what there is, for people ---- */

typedef struct {
    char *text;
    size_t bytes, used;
    bool found;
    unsigned distance; /* the ports of this one */
    char why[320];
} listing_t;

static bool list_port(void *arg, const dnet_emu_verbs_lib_t *lib, dnet_emu_verbs_port_t *p)
{
    static const dnet_emu_port_config_t any = {.mtu_bytes = 4096};
    listing_t *l = arg;

    if (!p->context) {
        snprintf(l->why, sizeof l->why, "%s cannot be opened: %s", p->name, strerror(errno));
    } else if (!look_at(lib, &any, p)) {
        snprintf(l->why, sizeof l->why, "%s:%u: %s", p->name, p->port, p->text);
    } else if (p->distance == l->distance && l->used < l->bytes) {
        l->used += (size_t) snprintf(l->text + l->used, l->bytes - l->used, "%s%s%s",
                                     l->found ? ", " : VERBS_LIBRARY ", ", p->text,
                                     dnet_adapter_distance_text(p->distance));
        l->found = true;
    }
    return false;
}

bool dnet_emu_verbs_found(char *text, size_t bytes)
{
    dnet_emu_verbs_lib_t lib;
    listing_t l = {.text = text, .bytes = bytes, .distance = DNET_ADAPTER_NEAR};
    int devices = 1;

    if (!dnet_emu_verbs_load(&lib)) {
        snprintf(text, bytes, lib.library ? "%s is too old" : "%s is not installed", VERBS_LIBRARY);
        return false;
    }
    for (; l.distance <= DNET_ADAPTER_FAR && devices > 0; l.distance++)
        devices = each_port(&lib, 1, list_port, &l);
    if (devices <= 0)
        snprintf(text, bytes, "%s: no RDMA device", VERBS_LIBRARY);
    else if (!l.found)
        snprintf(text, bytes, "%s: %s", VERBS_LIBRARY, l.why);
    return l.found;
}

#endif
