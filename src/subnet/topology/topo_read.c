/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reader of wiring files: ibsim net files and the output of ibnetdiscover, which share a syntax.
 *
 *   Switch  PORTS  "id"                          record header; also Hca, Ca, Rt
 *   [port]  "peer id"[peer port]                 one cable, named at both ends
 *   switchguid=0x...(0x...)   caguid=0x...       of the record that follows; of one without such a
 *                                                line the next after those of the one before
 *   # comment; behind a header: "name" base port 0 lid N; behind a cable: "name" lid N 4xQDR
 *
 * Records may come in any order, so cables are kept until the end of the file and then matched:
 * a cable named at one end only is accepted (ibsim does), one named differently at its two ends is
 * an error.  Adapters with several cables become one server per port.
 */
#include "subnet/topology/topo.h"

#include "common/log.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LMC_MAX 7
#define PORTS_MAX 254

typedef struct node {
    char id[64];
    char name[64]; /* what people call it: its description where it has one of its own, else id */
    bool shared;   /* others have the same description */
    int ports, line, number; /* number: switch, NONE for adapters */
    uint64_t guid;
    uint16_t lid;
    uint8_t lmc;
    bool is_switch;
    int order; /* among adapters */
} node_t;

typedef struct cable {
    int node, port, line, peer_port, peer;
    char peer_id[64];
    uint64_t port_guid;
    uint16_t lid; /* of the adapter port that names the cable */
    uint8_t lmc;
    dnet_topo_rate_t rate;
} cable_t;

typedef enum { ADAPTER, SWITCH, ROUTER, KINDS } kind_t;

typedef struct reader {
    const char *where;
    int line;
    node_t *node;
    cable_t *cable;
    int nodes, cables, node_cap, cable_cap;
    uint64_t next_guid[KINDS]; /* ibsim's: one for the node, and of all but switches one a port */
} reader_t;

static bool grow(void **array, int n, int *cap, size_t size)
{
    if (n < *cap)
        return true;
    void *p = realloc(*array, (size_t) (*cap ? 2 * *cap : 64) * size);
    if (!p) {
        dnet_error("subnet: no memory while reading a topology");
        return false;
    }
    *array = p;
    *cap = *cap ? 2 * *cap : 64;
    return true;
}

/* "text" into out; the place behind the closing quote, or NULL. */
static const char *quoted(const char *p, char *out, size_t size)
{
    while (isspace((unsigned char) *p))
        p++;
    const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
    if (!end || end == p + 1 || (size_t) (end - p - 1) >= size)
        return NULL;
    memcpy(out, p + 1, (size_t) (end - p - 1));
    out[end - p - 1] = '\0';
    return end + 1;
}

/* The number behind a word between two places of a comment, where it stands alone; 0: none. */
static unsigned long number_in(const char *from, const char *to, const char *word)
{
    for (const char *p = from; (p = strstr(p, word)) && p < to; p++)
        if (p == from || isspace((unsigned char) p[-1]))
            return strtoul(p + strlen(word), NULL, 10);
    return 0;
}

/* Base LID and LMC that a comment says of a header's node, behind its description, or of the
 * adapter port that a line is of, before the peer's. */
static void take_lids(const char *comment, bool header, uint16_t *lid, uint8_t *lmc)
{
    if (!comment)
        return;
    const char *first = strchr(comment, '"'), *last = strrchr(comment, '"');
    const char *from = header && last ? last + 1 : comment;
    const char *to = header || !first ? comment + strlen(comment) : first;
    unsigned long n = number_in(from, to, "lid "), bits = number_in(from, to, "lmc ");
    *lid = n <= UINT16_MAX ? (uint16_t) n : 0;
    *lmc = bits <= LMC_MAX ? (uint8_t) bits : 0;
}

/* Signalling rates of a lane; a name that begins another stands behind it. */
static const struct {
    const char *name;
    double lane_gbps;
} speeds[] = {{"SDR", 2.5},       {"DDR", 5},       {"QDR", 10},
              {"FDR10", 10.3125}, {"FDR", 14.0625}, {"EDR", 25.78125},
              {"HDR", 53.125},    {"NDR", 106.25},  {"XDR", 212.5}};

/* "4xQDR" and the like: lanes times the lane's signalling rate. */
static dnet_topo_rate_t rate_in(const char *comment)
{
    const char *last = comment ? strrchr(comment, '"') : NULL;
    for (const char *p = last ? last : comment; p && (p = strchr(p, 'x')); p++) {
        const char *digits = p;
        while (digits > comment && isdigit((unsigned char) digits[-1]))
            digits--;
        if (digits == p)
            continue;
        for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
            if (strncmp(p + 1, speeds[i].name, strlen(speeds[i].name)) == 0)
                return (dnet_topo_rate_t){atoi(digits), speeds[i].lane_gbps};
    }
    return (dnet_topo_rate_t){0, 0};
}

const char *dnet_topo_speed(double lane_gbps)
{
    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (fabs(speeds[i].lane_gbps - lane_gbps) < 0.2)
            return speeds[i].name;
    return "?";
}

/* ibnetdiscover names nodes by their GUIDs, "S-0000000000200000", and says what people call them
 * behind the header. */
static void take_description(node_t *n, const char *comment)
{
    char text[sizeof(n->name)];
    bool by_guid =
        strlen(n->id) == 18 && n->id[1] == '-' && strspn(n->id + 2, "0123456789abcdef") == 16;
    snprintf(n->name, sizeof(n->name), "%s", n->id);
    if (by_guid && comment && quoted(comment, text, sizeof(text)))
        memcpy(n->name, text, sizeof(text));
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(node_t *const *) a)->name, (*(node_t *const *) b)->name);
}

/* A description that several nodes share names none of them. */
static dnet_status_t name_nodes(reader_t *r)
{
    node_t **sorted = dnet_subnet_alloc((size_t) r->nodes, sizeof(node_t *));
    if (!sorted)
        return DNET_ERR_NO_MEMORY;
    for (int i = 0; i < r->nodes; i++)
        sorted[i] = &r->node[i];
    if (r->nodes)
        qsort(sorted, (size_t) r->nodes, sizeof(*sorted), by_name);
    for (int i = 0, end; i < r->nodes; i = end) {
        for (end = i + 1; end < r->nodes && by_name(&sorted[i], &sorted[end]) == 0;)
            end++;
        for (int k = i; k < end; k++)
            sorted[k]->shared = end - i > 1;
    }
    for (int i = 0; i < r->nodes; i++)
        if (r->node[i].shared)
            snprintf(r->node[i].name, sizeof(r->node[i].name), "%s", r->node[i].id);
    free(sorted);
    return DNET_OK;
}

static dnet_status_t read_header(reader_t *r, char *p, kind_t kind, const char *comment)
{
    char *after_word = p + strcspn(p, " \t");
    char *end;
    long ports = strtol(after_word, &end, 10);
    if (!grow((void **) &r->node, r->nodes, &r->node_cap, sizeof(node_t)))
        return DNET_ERR_NO_MEMORY;
    node_t *n = &r->node[r->nodes];
    *n = (node_t){.ports = (int) ports,
                  .line = r->line,
                  .is_switch = kind == SWITCH,
                  .guid = r->next_guid[kind]};
    take_lids(comment, true, &n->lid, &n->lmc);
    if (end == after_word || ports < 1 || ports > PORTS_MAX) {
        dnet_error("subnet: %s:%d: number of ports missing or outside 1..%d", r->where, r->line,
                   PORTS_MAX);
        return DNET_ERR_FORMAT;
    }
    if (!quoted(end, n->id, sizeof(n->id))) {
        dnet_error("subnet: %s:%d: expected a node id in quotes of at most %zu characters",
                   r->where, r->line, sizeof(n->id) - 1);
        return DNET_ERR_FORMAT;
    }
    take_description(n, comment);
    r->next_guid[kind] += kind == SWITCH ? 1 : (uint64_t) ports + 1;
    r->nodes++;
    return DNET_OK;
}

/* "[port]" of a node with so many; the place behind it, or NULL. */
static const char *bracketed(const char *p, int ports, int *port_p)
{
    char *end = NULL;
    long port = *p == '[' && isdigit((unsigned char) p[1]) ? strtol(p + 1, &end, 10) : 0;
    if (port < 1 || port > ports || *end != ']')
        return NULL;
    *port_p = (int) port;
    return end + 1;
}

static dnet_status_t read_cable(reader_t *r, const char *p, const char *comment)
{
    if (r->nodes == 0) {
        dnet_error("subnet: %s:%d: a cable before the first node", r->where, r->line);
        return DNET_ERR_FORMAT;
    }
    if (!grow((void **) &r->cable, r->cables, &r->cable_cap, sizeof(cable_t)))
        return DNET_ERR_NO_MEMORY;
    cable_t *c = &r->cable[r->cables];
    *c = (cable_t){
        .node = r->nodes - 1, .line = r->line, .rate = rate_in(comment), .peer = DNET_TOPO_NONE};
    take_lids(comment, false, &c->lid, &c->lmc);
    p = bracketed(p, r->node[c->node].ports, &c->port);
    if (!p) {
        dnet_error("subnet: %s:%d: port outside 1..%d of node %s", r->where, r->line,
                   r->node[c->node].ports, r->node[c->node].id);
        return DNET_ERR_FORMAT;
    }
    if (*p == '(') { /* ibnetdiscover puts the adapter's port GUID here */
        c->port_guid = strtoull(p + 1, NULL, 16);
        p = strchr(p, ')');
        p = p ? p + 1 : "";
    }
    const char *behind = quoted(p, c->peer_id, sizeof(c->peer_id));
    if (!behind || !bracketed(behind, PORTS_MAX, &c->peer_port)) {
        dnet_error("subnet: %s:%d: expected \"peer\"[port] with a port 1..%d behind the local port",
                   r->where, r->line, PORTS_MAX);
        return DNET_ERR_FORMAT;
    }
    r->cables++;
    return DNET_OK;
}

/* What stands behind the first # outside quotes, which ends the line there; NULL: none. */
static char *cut_comment(char *line)
{
    bool in_quotes = false;
    for (char *p = line; *p; p++) {
        in_quotes ^= *p == '"';
        if (*p == '#' && !in_quotes) {
            *p = '\0';
            return p + 1;
        }
    }
    return NULL;
}

static dnet_status_t read_line(reader_t *r, char *line)
{
    char *comment = cut_comment(line);
    char *p = line + strspn(line, " \t\r\n");
    p[strcspn(p, "\r\n")] = '\0';
    if (*p == '\0')
        return DNET_OK;
    if (*p == '[')
        return read_cable(r, p, comment);
    if (strncasecmp(p, "switch", 6) == 0 && isspace((unsigned char) p[6]))
        return read_header(r, p, SWITCH, comment);
    if ((strncasecmp(p, "hca", 3) == 0 && isspace((unsigned char) p[3])) ||
        (strncasecmp(p, "ca", 2) == 0 && isspace((unsigned char) p[2])))
        return read_header(r, p, ADAPTER, comment);
    if (strncasecmp(p, "rt", 2) == 0 && isspace((unsigned char) p[2]))
        return read_header(r, p, ROUTER, comment);
    kind_t kind = strncmp(p, "caguid=", 7) == 0        ? ADAPTER
                  : strncmp(p, "switchguid=", 11) == 0 ? SWITCH
                  : strncmp(p, "rtguid=", 7) == 0      ? ROUTER
                                                       : KINDS;
    if (kind != KINDS) {
        r->next_guid[kind] = strtoull(strchr(p, '=') + 1, NULL, 16);
        if (r->next_guid[kind])
            return DNET_OK;
        dnet_error("subnet: %s:%d: '%.40s': expected a GUID in hexadecimal", r->where, r->line, p);
        return DNET_ERR_FORMAT;
    }
    if (strchr(p, '=') || strncmp(p, "module", 6) == 0)
        return DNET_OK; /* vendid=, devid=, sysimgguid=; ibsim's switchguid is handled above */
    dnet_error("subnet: %s:%d: '%.40s' is neither a node, a cable nor an id line", r->where,
               r->line, p);
    return DNET_ERR_FORMAT;
}

static int node_by_id_order(const void *a, const void *b)
{
    return strcmp((*(const node_t *const *) a)->id, (*(const node_t *const *) b)->id);
}

static int node_by_id_key(const void *id, const void *b)
{
    return strcmp(id, (*(const node_t *const *) b)->id);
}

/* Find the node of every peer id; two nodes with one id are an error. */
static dnet_status_t match_peers(reader_t *r)
{
    node_t **sorted = dnet_subnet_alloc((size_t) r->nodes, sizeof(*sorted));
    if (!sorted)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t st = DNET_OK;
    for (int i = 0; i < r->nodes; i++)
        sorted[i] = &r->node[i];
    qsort(sorted, (size_t) r->nodes, sizeof(*sorted), node_by_id_order);
    for (int i = 1; i < r->nodes && !st; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0) {
            dnet_error("subnet: %s:%d: node %s stands here and in line %d", r->where,
                       sorted[i]->line, sorted[i]->id, sorted[i - 1]->line);
            st = DNET_ERR_FORMAT;
        }
    for (int i = 0; i < r->cables && !st; i++) {
        cable_t *c = &r->cable[i];
        node_t **found =
            bsearch(c->peer_id, sorted, (size_t) r->nodes, sizeof(*sorted), node_by_id_key);
        if (found && c->peer_port <= (*found)->ports) {
            c->peer = (int) (*found - r->node);
            continue;
        }
        dnet_error("subnet: %s:%d: cable leads to %s port %d, which the file does not have",
                   r->where, c->line, c->peer_id, c->peer_port);
        st = DNET_ERR_FORMAT;
    }
    free(sorted);
    return st;
}

static int cable_by_end(const void *a, const void *b)
{
    const cable_t *x = *(cable_t *const *) a, *y = *(cable_t *const *) b;
    return x->node != y->node ? x->node - y->node : x->port - y->port;
}

/* The cable that names the same ends the other way round, if any; an error if it names others. */
static dnet_status_t opposite(const reader_t *r, cable_t **sorted, cable_t *c, cable_t **out)
{
    cable_t key = {.node = c->peer, .port = c->peer_port}, *pkey = &key;
    cable_t **found = bsearch(&pkey, sorted, (size_t) r->cables, sizeof(*sorted), cable_by_end);
    *out = found ? *found : NULL;
    if (!found || ((*found)->peer == c->node && (*found)->peer_port == c->port))
        return DNET_OK;
    dnet_error("subnet: %s:%d: port %d of %s leads to %s port %d, but line %d says otherwise",
               r->where, c->line, c->port, r->node[c->node].id, c->peer_id, c->peer_port,
               (*found)->line);
    return DNET_ERR_FORMAT;
}

static void add_server(const reader_t *r, dnet_topo_t *t, const cable_t *at_switch,
                       const cable_t *at_hca)
{
    const cable_t *one = at_switch ? at_switch : at_hca;
    const node_t *hca = &r->node[at_switch ? one->peer : one->node];
    int sw = r->node[at_switch ? one->node : one->peer].number;
    int hca_port = at_switch ? one->peer_port : one->port;
    char name[80];
    snprintf(name, sizeof(name), hca_port == 1 ? "%s" : "%s/%d", hca->name, hca_port);
    int h = dnet_topo_add_host(t, name, sw, at_switch ? one->port : one->peer_port);
    if (h == DNET_TOPO_NONE)
        return;
    t->host[h].guid =
        at_hca && at_hca->port_guid ? at_hca->port_guid : hca->guid + (unsigned) hca_port;
    t->host[h].adapter = hca->order;
    t->host[h].hca_port = hca_port;
    t->host[h].lid = t->host[h].stated_lid = at_hca ? at_hca->lid : 0;
    t->host[h].lmc = t->host[h].stated_lmc = at_hca ? at_hca->lmc : 0;
    t->host[h].rate = one->rate;
}

static void number_nodes(reader_t *r, dnet_topo_t *t)
{
    int adapters = 0;
    for (int i = 0; i < r->nodes; i++) {
        node_t *n = &r->node[i];
        n->number = DNET_TOPO_NONE;
        if (!n->is_switch) {
            n->order = adapters++;
            continue;
        }
        n->number = dnet_topo_add_switch(t, n->name, n->ports);
        if (n->number == DNET_TOPO_NONE)
            continue;
        t->sw[n->number].guid = n->guid;
        t->sw[n->number].lid = t->sw[n->number].stated_lid = n->lid;
        t->sw[n->number].lmc = t->sw[n->number].stated_lmc = n->lmc;
    }
}

static dnet_status_t add_cables(const reader_t *r, cable_t **sorted, dnet_topo_t *t)
{
    for (int i = 0; i < r->cables; i++) {
        cable_t *c = &r->cable[i], *back;
        bool here = r->node[c->node].is_switch, there = r->node[c->peer].is_switch;
        dnet_status_t st = opposite(r, sorted, c, &back);
        if (st)
            return st;
        if (here && there) {
            /* Named at both ends: the first line of the two adds it. */
            if (back && back < c)
                continue;
            if (c->node == c->peer) {
                dnet_warn("subnet: %s:%d: a loopback cable at %s, ports %d and %d, is left out",
                          r->where, c->line, r->node[c->node].id, c->port, c->peer_port);
                continue;
            }
            int l = dnet_topo_add_link(t, r->node[c->node].number, c->port, r->node[c->peer].number,
                                       c->peer_port);
            if (l != DNET_TOPO_NONE)
                dnet_topo_set_rate(&t->link[l], c->rate, (dnet_topo_rate_t){0, 0});
        } else if (here) {
            add_server(r, t, c, back);
        } else if (there && !back) {
            add_server(r, t, NULL, c);
        }
    }
    return DNET_OK;
}

static dnet_status_t assemble(reader_t *r, dnet_topo_t *t)
{
    dnet_status_t st = match_peers(r);
    cable_t **sorted = dnet_subnet_alloc((size_t) r->cables, sizeof(*sorted));
    if (!sorted)
        st = st ? st : DNET_ERR_NO_MEMORY;
    for (int i = 0; !st && i < r->cables; i++)
        sorted[i] = &r->cable[i];
    if (!st) {
        qsort(sorted, (size_t) r->cables, sizeof(*sorted), cable_by_end);
        st = name_nodes(r);
    }
    if (!st) {
        number_nodes(r, t);
        st = add_cables(r, sorted, t);
    }
    if (!st && t->n_switches == 0) {
        dnet_error("subnet: %s: no switch in the file", r->where);
        st = DNET_ERR_FORMAT;
    }
    free(sorted);
    return st;
}

typedef struct owner {
    uint64_t guid;
    const char *name;
} owner_t;

static int owner_by_guid(const void *a, const void *b)
{
    const owner_t *x = a, *y = b;
    return (x->guid > y->guid) - (x->guid < y->guid);
}

/* Files exchanged with OpenSM name end ports by their GUIDs. */
static dnet_status_t check_guids(const dnet_topo_t *t)
{
    int dests = dnet_topo_dests(t);
    owner_t *all = dnet_subnet_alloc((size_t) dests, sizeof(*all));
    dnet_status_t st = all ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int d = 0; d < dests && !st; d++)
        all[d] = d < t->n_hosts ? (owner_t){t->host[d].guid, t->host[d].name}
                                : (owner_t){t->sw[d - t->n_hosts].guid, t->sw[d - t->n_hosts].name};
    if (!st)
        qsort(all, (size_t) dests, sizeof(*all), owner_by_guid);
    for (int d = 1; d < dests && !st; d++)
        if (all[d - 1].guid == all[d].guid) {
            dnet_error("subnet: %s: %s and %s have the same GUID, 0x%016" PRIx64, t->name,
                       all[d - 1].name, all[d].name, all[d].guid);
            st = DNET_ERR_FORMAT;
        }
    free(all);
    return st;
}

/* Adapters in the order of the file, as ibsim numbers them, whatever switch names them first. */
static int host_by_guid(const void *a, const void *b)
{
    const dnet_topo_host_t *x = a, *y = b;
    return (x->guid > y->guid) - (x->guid < y->guid);
}

dnet_status_t dnet_topo_read(FILE *in, const char *where, dnet_topo_t **out)
{
    reader_t r = {.where = where, .next_guid = {[ADAPTER] = 0x100000, [SWITCH] = 0x200000}};
    dnet_topo_t *t = dnet_topo_new(where);
    dnet_status_t st = t ? DNET_OK : DNET_ERR_NO_MEMORY;
    char line[512];
    while (!st && fgets(line, sizeof(line), in)) {
        r.line++;
        if (!strchr(line, '\n') && !feof(in)) {
            dnet_error("subnet: %s:%d: line longer than %zu characters", where, r.line,
                       sizeof(line) - 2);
            st = DNET_ERR_FORMAT;
            break;
        }
        st = read_line(&r, line);
    }
    if (!st && ferror(in)) {
        dnet_error("subnet: cannot read %s: %s", where, strerror(errno));
        st = DNET_ERR_SYSTEM;
    }
    if (!st)
        st = assemble(&r, t);
    free(r.node);
    free(r.cable);
    if (!st && t->n_hosts)
        qsort(t->host, (size_t) t->n_hosts, sizeof(*t->host), host_by_guid);
    if (!st)
        st = dnet_topo_finish(t) ? DNET_ERR_FORMAT : check_guids(t);
    if (st)
        dnet_topo_free(t);
    else
        *out = t;
    return st;
}

static dnet_status_t read_hint(dnet_topo_t *t, char *line, const char *path, int number)
{
    char name[128];
    int port, c;
    double cost;
    line[strcspn(line, "#\n")] = '\0';
    if (line[strspn(line, " \t\r")] == '\0')
        return DNET_OK;
    if (sscanf(line, "%127s %d %lf", name, &port, &cost) != 3 || !(cost > 0) || cost > 1e6) {
        dnet_error(
            "subnet: %s:%d: expected 'switch port cost' with a cost above 0, at most 1e6; a name with blanks as its GUID",
            path, number);
        return DNET_ERR_FORMAT;
    }
    int s = dnet_topo_find_switch(t, name);
    if (s == DNET_TOPO_NONE || dnet_topo_port(t, s, port, &c) != DNET_PORT_CHANNEL) {
        dnet_error("subnet: %s:%d: %s port %d is no link between switches of %s", path, number,
                   name, port, t->name);
        return DNET_ERR_FORMAT;
    }
    t->link[c >> 1].cost = cost;
    return DNET_OK;
}

dnet_status_t dnet_topo_read_hints(dnet_topo_t *t, const char *path)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    dnet_status_t st = DNET_OK;
    char line[512];
    for (int number = 1; !st && fgets(line, sizeof(line), in); number++)
        st = read_hint(t, line, path, number);
    st = dnet_subnet_close(in, path, st);
    return st;
}
