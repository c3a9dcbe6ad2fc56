/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of switches, links and servers: building, indexing, taking parts out of service
 * (network model of the turn-addition paper; topo.h).
 */
#include "subnet/topology/topo.h"

#include "common/log.h"
#include "common/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void *dnet_subnet_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        dnet_error("subnet: no memory for %zu elements of %zu bytes; use a smaller topology", n,
                   size);
    return p;
}

FILE *dnet_subnet_open(const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in)
        dnet_error("subnet: cannot open %s: %s", path, strerror(errno));
    return in;
}

dnet_status_t dnet_subnet_close(FILE *in, const char *path, dnet_status_t status)
{
    if (!status && ferror(in)) {
        dnet_error("subnet: cannot read %s to its end: %s", path, strerror(errno));
        status = DNET_ERR_SYSTEM;
    }
    fclose(in);
    return status;
}

dnet_topo_t *dnet_topo_new(const char *name)
{
    dnet_topo_t *t = dnet_subnet_alloc(1, sizeof(*t));
    if (t && !(t->name = strdup(name))) {
        dnet_error("subnet: no memory for a topology name");
        free(t);
        t = NULL;
    }
    return t;
}

static void free_index(dnet_topo_t *t)
{
    free(t->adj_start);
    free(t->adj);
    free(t->slot);
    free(t->port_start);
    free(t->port_end);
    free(t->host_start);
    free(t->host_of);
    t->adj_start = t->adj = t->slot = t->port_start = t->port_end = NULL;
    t->host_start = t->host_of = NULL;
}

void dnet_topo_free(dnet_topo_t *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_switches; i++)
        free(t->sw[i].name);
    for (int i = 0; i < t->n_hosts; i++)
        free(t->host[i].name);
    free(t->sw);
    free(t->host);
    free(t->link);
    free(t->end);
    free(t->name);
    free_index(t);
    free(t);
}

/* Room for one more element of an array that doubles; false after noting the failure. */
static bool reserve(dnet_topo_t *t, void **array, int n, int *cap, size_t size)
{
    if (t->failed)
        return false;
    if (n < *cap)
        return true;
    int want = *cap ? 2 * *cap : 64;
    void *p = realloc(*array, (size_t) want * size);
    if (!p) {
        dnet_error("subnet: no memory for %d elements of %zu bytes; use a smaller topology", want,
                   size);
        t->failed = DNET_ERR_NO_MEMORY;
        return false;
    }
    *array = p;
    *cap = want;
    return true;
}

static char *copy_name(dnet_topo_t *t, const char *name, char letter, int number)
{
    char made[32];
    if (!name) {
        snprintf(made, sizeof(made), "%c%05d", letter, number);
        name = made;
    }
    char *copy = strdup(name);
    if (!copy) {
        dnet_error("subnet: no memory for the name of %c%05d", letter, number);
        t->failed = DNET_ERR_NO_MEMORY;
    }
    return copy;
}

int dnet_topo_add_switch(dnet_topo_t *t, const char *name, int ports)
{
    if (!reserve(t, (void **) &t->sw, t->n_switches, &t->cap_switches, sizeof(*t->sw)))
        return DNET_TOPO_NONE;
    if (ports < 0 || ports > DNET_TOPO_PORT_MAX) {
        dnet_error("subnet: switch %s has %d ports; 0..%d are possible", name ? name : "(new)",
                   ports, DNET_TOPO_PORT_MAX);
        t->failed = DNET_ERR_ARGUMENT;
        return DNET_TOPO_NONE;
    }
    int s = t->n_switches;
    char *copy = copy_name(t, name, 'S', s + 1);
    if (!copy)
        return DNET_TOPO_NONE;
    t->sw[s] =
        (dnet_topo_switch_t){.name = copy, .ports = ports, .level = DNET_TOPO_NONE, .index = s};
    t->n_switches++;
    return s;
}

int dnet_topo_add_host(dnet_topo_t *t, const char *name, int s, int port)
{
    if (!reserve(t, (void **) &t->host, t->n_hosts, &t->cap_hosts, sizeof(*t->host)))
        return DNET_TOPO_NONE;
    int h = t->n_hosts;
    char *copy = copy_name(t, name, 'H', h + 1);
    if (!copy)
        return DNET_TOPO_NONE;
    t->host[h] =
        (dnet_topo_host_t){.name = copy, .sw = s, .port = port, .adapter = h, .hca_port = 1};
    t->n_hosts++;
    return h;
}

int dnet_topo_add_link(dnet_topo_t *t, int a, int port_a, int b, int port_b)
{
    if (!reserve(t, (void **) &t->link, t->n_links, &t->cap_links, sizeof(*t->link)) ||
        !reserve(t, (void **) &t->end, t->n_links, &t->cap_ends, 2 * sizeof(*t->end)))
        return DNET_TOPO_NONE;
    if (a == b) {
        dnet_error("subnet: %s: a link of switch %s to itself; remove it", t->name,
                   a >= 0 && a < t->n_switches ? t->sw[a].name : "?");
        t->failed = DNET_ERR_ARGUMENT;
        return DNET_TOPO_NONE;
    }
    t->link[t->n_links] = (dnet_topo_link_t){.sw = {a, b}, .port = {port_a, port_b}, .cost = 1};
    t->end[2 * t->n_links] = a;
    t->end[2 * t->n_links + 1] = b;
    return t->n_links++;
}

/* Port contents are stored as 0 = free, c + 1 = out channel c, -(h + 1) = host h. */
dnet_port_kind_t dnet_topo_wired(const dnet_topo_t *t, int s, int port, int *which)
{
    int v = port < 1 || port > t->sw[s].ports ? 0 : t->port_end[t->port_start[s] + port - 1];
    if (v == 0)
        return DNET_PORT_FREE;
    *which = v < 0 ? -v - 1 : v - 1;
    return v < 0 ? DNET_PORT_HOST : DNET_PORT_CHANNEL;
}

dnet_port_kind_t dnet_topo_port(const dnet_topo_t *t, int s, int port, int *which)
{
    int there;
    dnet_port_kind_t kind = dnet_topo_wired(t, s, port, &there);
    if (kind == DNET_PORT_FREE || (kind == DNET_PORT_CHANNEL && t->slot[there] == DNET_TOPO_NONE))
        return DNET_PORT_FREE;
    *which = there;
    return kind;
}

static dnet_status_t occupy(dnet_topo_t *t, int s, int port, int value, const char *what)
{
    if (s < 0 || s >= t->n_switches) {
        dnet_error("subnet: %s: %s is attached to switch number %d of %d", t->name, what, s,
                   t->n_switches);
        return DNET_ERR_ARGUMENT;
    }
    if (port < 1 || port > t->sw[s].ports) {
        dnet_error("subnet: %s: %s uses port %d of switch %s, which has ports 1..%d", t->name, what,
                   port, t->sw[s].name, t->sw[s].ports);
        return DNET_ERR_ARGUMENT;
    }
    int *end = &t->port_end[t->port_start[s] + port - 1];
    if (*end) {
        dnet_error("subnet: %s: %s uses port %d of switch %s, which is taken", t->name, what, port,
                   t->sw[s].name);
        return DNET_ERR_ARGUMENT;
    }
    *end = value;
    return DNET_OK;
}

/* Lowest free port of s; cursors make this linear over all calls. */
static int free_port(const dnet_topo_t *t, int *cursor, int s)
{
    if (s < 0 || s >= t->n_switches)
        return 0;
    while (cursor[s] < t->sw[s].ports && t->port_end[t->port_start[s] + cursor[s]])
        cursor[s]++;
    return cursor[s] + 1;
}

/* Explicit ports first, so that a cable without a port cannot take one that is spoken for. */
static dnet_status_t place_ports(dnet_topo_t *t)
{
    int *cursor = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    if (!cursor)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t st = DNET_OK;
    for (int automatic = 0; automatic < 2 && !st; automatic++) {
        for (int h = 0; h < t->n_hosts && !st; h++) {
            dnet_topo_host_t *host = &t->host[h];
            if ((host->port == 0) != automatic)
                continue;
            if (automatic)
                host->port = free_port(t, cursor, host->sw);
            st = occupy(t, host->sw, host->port, -(h + 1), host->name);
        }
        for (int c = 0; c < 2 * t->n_links && !st; c++) {
            dnet_topo_link_t *l = &t->link[c >> 1];
            int side = c & 1;
            if ((l->port[side] == 0) != automatic)
                continue;
            if (automatic)
                l->port[side] = free_port(t, cursor, l->sw[side]);
            st = occupy(t, l->sw[side], l->port[side], c + 1, "a link");
        }
    }
    free(cursor);
    return st;
}

static bool in_service(const dnet_topo_t *t, int link)
{
    const dnet_topo_link_t *l = &t->link[link];
    return !l->down && !t->sw[l->sw[0]].down && !t->sw[l->sw[1]].down;
}

/* Slots in port order.  Called again whenever something goes out of service or comes back. */
static void index_links(dnet_topo_t *t)
{
    int n = 0;
    for (int s = 0; s < t->n_switches; s++) {
        t->adj_start[s] = n;
        for (int p = 0; p < t->sw[s].ports; p++) {
            int c = t->port_end[t->port_start[s] + p] - 1;
            if (c < 0)
                continue;
            t->slot[c] = DNET_TOPO_NONE;
            if (in_service(t, c >> 1)) {
                t->slot[c] = n - t->adj_start[s];
                t->adj[n++] = c;
            }
        }
    }
    t->adj_start[t->n_switches] = n;
}

static void index_hosts(dnet_topo_t *t)
{
    int n = 0;
    for (int s = 0; s < t->n_switches; s++) {
        t->host_start[s] = n;
        for (int p = 0; p < t->sw[s].ports; p++) {
            int v = t->port_end[t->port_start[s] + p];
            if (v < 0)
                t->host_of[n++] = -v - 1;
        }
        t->sw[s].hosts = n - t->host_start[s];
    }
    t->host_start[t->n_switches] = n;
}

/* Capacities of links: [TA §5.1] has all of them, and those of servers, at 1. */
static void measure_links(dnet_topo_t *t)
{
    double server = 0, fastest = 0;
    for (int h = 0; h < t->n_hosts; h++)
        server = fmax(server, dnet_topo_gbps(t->host[h].rate));
    for (int l = 0; l < t->n_links; l++)
        fastest = fmax(fastest, t->link[l].gbps);
    double one = server > 0 ? server : fastest;
    for (int l = 0; l < t->n_links; l++)
        t->link[l].capacity = t->link[l].gbps > 0 && one > 0 ? t->link[l].gbps / one : 1;
}

dnet_status_t dnet_topo_index(dnet_topo_t *t)
{
    if (t->failed)
        return t->failed;
    size_t ns = (size_t) t->n_switches;
    free_index(t);
    t->port_start = dnet_subnet_alloc(ns + 1, sizeof(int));
    if (!t->port_start)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++)
        t->port_start[s + 1] = t->port_start[s] + t->sw[s].ports;
    t->port_end = dnet_subnet_alloc((size_t) t->port_start[ns], sizeof(int));
    t->adj_start = dnet_subnet_alloc(ns + 1, sizeof(int));
    t->adj = dnet_subnet_alloc(2 * (size_t) t->n_links, sizeof(int));
    t->slot = dnet_subnet_alloc(2 * (size_t) t->n_links, sizeof(int));
    t->host_start = dnet_subnet_alloc(ns + 1, sizeof(int));
    t->host_of = dnet_subnet_alloc((size_t) t->n_hosts, sizeof(int));
    if (!t->port_end || !t->adj_start || !t->adj || !t->slot || !t->host_start || !t->host_of)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t st = place_ports(t);
    if (st)
        return st;
    index_hosts(t);
    index_links(t);
    measure_links(t);
    return DNET_OK;
}

dnet_status_t dnet_topo_set_link(dnet_topo_t *t, int link, bool down)
{
    if (link < 0 || link >= t->n_links) {
        dnet_error("subnet: %s has no link %d; links are 0..%d", t->name, link, t->n_links - 1);
        return DNET_ERR_ARGUMENT;
    }
    t->link[link].down = down;
    index_links(t);
    return DNET_OK;
}

dnet_status_t dnet_topo_set_switch(dnet_topo_t *t, int s, bool down)
{
    if (s < 0 || s >= t->n_switches) {
        dnet_error("subnet: %s has no switch %d; switches are 0..%d", t->name, s,
                   t->n_switches - 1);
        return DNET_ERR_ARGUMENT;
    }
    t->sw[s].down = down;
    index_links(t);
    return DNET_OK;
}

bool dnet_topo_connected(const dnet_topo_t *t)
{
    int first = 0, wanted = 0, found = 0, top = 0;
    for (int s = t->n_switches - 1; s >= 0; s--)
        if (t->sw[s].hosts && !t->sw[s].down) {
            first = s;
            wanted++;
        }
    if (wanted == 0)
        return true;
    bool *seen = dnet_subnet_alloc((size_t) t->n_switches, sizeof(bool));
    int *stack = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    if (seen && stack) {
        seen[first] = true;
        stack[top++] = first;
    }
    while (top > 0) {
        int s = stack[--top];
        found += t->sw[s].hosts > 0;
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int u = dnet_topo_head(t, dnet_topo_channel(t, s, i));
            if (!seen[u]) {
                seen[u] = true;
                stack[top++] = u;
            }
        }
    }
    free(seen);
    free(stack);
    return found == wanted;
}

void dnet_topo_pieces(const dnet_topo_t *t, int *piece, int *queue)
{
    for (int s = 0; s < t->n_switches; s++)
        piece[s] = DNET_TOPO_NONE;
    for (int first = 0; first < t->n_switches; first++) {
        int n = 0;
        if (piece[first] != DNET_TOPO_NONE)
            continue;
        piece[first] = first;
        queue[n++] = first;
        for (int at = 0; at < n; at++)
            for (int i = 0; i < dnet_topo_degree(t, queue[at]); i++) {
                int u = dnet_topo_head(t, dnet_topo_channel(t, queue[at], i));
                if (piece[u] != DNET_TOPO_NONE)
                    continue;
                piece[u] = first;
                queue[n++] = u;
            }
    }
}

static bool is_guid(const char *name, uint64_t *guid)
{
    if (name[0] != '0' || (name[1] | 32) != 'x')
        return false;
    char *end;
    *guid = strtoull(name, &end, 16);
    return *end == '\0';
}

int dnet_topo_find_switch(const dnet_topo_t *t, const char *name)
{
    uint64_t guid;
    bool by_guid = is_guid(name, &guid);
    for (int s = 0; s < t->n_switches; s++)
        if (by_guid ? t->sw[s].guid == guid : strcmp(t->sw[s].name, name) == 0)
            return s;
    return DNET_TOPO_NONE;
}

int dnet_topo_find_host(const dnet_topo_t *t, const char *name)
{
    uint64_t guid;
    bool by_guid = is_guid(name, &guid);
    for (int h = 0; h < t->n_hosts; h++)
        if (by_guid ? t->host[h].guid == guid : strcmp(t->host[h].name, name) == 0)
            return h;
    return DNET_TOPO_NONE;
}

void dnet_topo_set_host(dnet_topo_t *t, int host, bool down)
{
    t->host[host].down = down;
}

/* What hangs on a port, in service or not. */
static bool find_at_port(const dnet_topo_t *t, int s, int port, dnet_topo_part_t *part_p)
{
    int which = DNET_TOPO_NONE;
    dnet_port_kind_t kind = dnet_topo_wired(t, s, port, &which);
    *part_p = (dnet_topo_part_t){s, kind == DNET_PORT_CHANNEL ? which >> 1 : DNET_TOPO_NONE,
                                 kind == DNET_PORT_HOST ? which : DNET_TOPO_NONE};
    return kind != DNET_PORT_FREE;
}

bool dnet_topo_find_part(const dnet_topo_t *t, const char *what, dnet_topo_part_t *part_p)
{
    char name[128];
    const char *colon = strrchr(what, ':');
    dnet_topo_part_t part = {dnet_topo_find_switch(t, what), DNET_TOPO_NONE, DNET_TOPO_NONE};
    bool found = part.sw != DNET_TOPO_NONE;
    if (!found) {
        part.host = dnet_topo_find_host(t, what);
        found = part.host != DNET_TOPO_NONE;
        part.sw = found ? t->host[part.host].sw : DNET_TOPO_NONE;
    }
    if (!found && colon && (size_t) (colon - what) < sizeof(name)) {
        uint64_t port;
        memcpy(name, what, (size_t) (colon - what));
        name[colon - what] = '\0';
        int s = dnet_topo_find_switch(t, name);
        found = s != DNET_TOPO_NONE && dnet_number(colon + 1, 1, INT32_MAX, &port) &&
                find_at_port(t, s, (int) port, &part);
    }
    if (found)
        *part_p = part;
    return found;
}

dnet_status_t dnet_topo_set_part(dnet_topo_t *t, const dnet_topo_part_t *part, bool down)
{
    if (part->host != DNET_TOPO_NONE)
        dnet_topo_set_host(t, part->host, down);
    else if (part->link != DNET_TOPO_NONE)
        return dnet_topo_set_link(t, part->link, down);
    else
        return dnet_topo_set_switch(t, part->sw, down);
    return DNET_OK;
}

static bool is_down(const dnet_topo_t *t, const dnet_topo_part_t *part)
{
    return part->host != DNET_TOPO_NONE   ? t->host[part->host].down
           : part->link != DNET_TOPO_NONE ? t->link[part->link].down
                                          : t->sw[part->sw].down;
}

dnet_status_t dnet_topo_cut(dnet_topo_t *t, const char *what)
{
    dnet_topo_part_t part;
    bool found = dnet_topo_find_part(t, what, &part);
    if (found && !is_down(t, &part))
        return dnet_topo_set_part(t, &part, true);
    dnet_error("cut %s: %s %s", what,
               found ? "it is cut already in"
                     : "neither a switch nor a server nor SWITCH:PORT of a link in",
               t->name);
    return DNET_ERR_ARGUMENT;
}

int dnet_topo_cut_off(const dnet_topo_t *t)
{
    int hosts = 0;
    for (int h = 0; h < t->n_hosts; h++)
        hosts += t->host[h].down || t->sw[t->host[h].sw].down;
    return hosts;
}
