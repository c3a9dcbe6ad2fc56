/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link health (health.h).  Isolation gives up a little of the fat tree for stability, never the
 * last uplink of an edge switch, nor more than a quarter of its uplinks without confirmation [MR
 * §3.2].
 */
#include "subnet/judges/health.h"

#include "common/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Value of "[Name == N]" in a line; 0 if the line does not have it. */
static uint32_t counter_in(const char *line, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = strchr(line, '['); p; p = strchr(p + 1, '['))
        if (strncmp(p + 1, name, len) == 0 && strncmp(p + 1 + len, " == ", 4) == 0)
            return (uint32_t) strtoul(p + 1 + len + 4, NULL, 10);
    return 0;
}

static dnet_status_t read_port(const dnet_topo_t *t, const char *path, int number, int s,
                               const char *line, dnet_counters_t *counters)
{
    const char *p = strstr(line, " port ");
    char *end;
    int c, port = p ? (int) strtol(p + 6, &end, 10) : 0;
    if (!p || end == p + 6) {
        if (strncmp(p ? p + 6 : "", "ALL", 3) == 0)
            return DNET_OK; /* the sum over all ports */
        dnet_error("subnet: %s:%d: expected 'GUID ... port N: [counter == value]'", path, number);
        return DNET_ERR_FORMAT;
    }
    if (s == DNET_TOPO_NONE || dnet_topo_port(t, s, port, &c) != DNET_PORT_CHANNEL)
        return DNET_OK; /* an adapter's port, or a link outside the topology */
    counters[c].symbol = counter_in(line, "SymbolErrorCounter");
    counters[c].rcv = counter_in(line, "PortRcvErrors");
    counters[c].downed = counter_in(line, "LinkDownedCounter");
    return DNET_OK;
}

/*
 * What a whole output of ibqueryerrors ends with.  An output without it, or with lines of another
 * kind, is that of a query that failed, and its silence says nothing of the links.
 */
static dnet_status_t check_summary(const char *path, int nodes, int failures)
{
    if (nodes < 0)
        dnet_error("subnet: %s: no line '## Summary: N nodes checked', with which ibqueryerrors "
                   "ends; the query has failed or is cut off",
                   path);
    else if (nodes == 0)
        dnet_error("subnet: %s: ibqueryerrors has checked no node", path);
    if (nodes > 0 && failures > 0)
        dnet_warn("subnet: %s: the counters of %d ports could not be read", path, failures);
    return nodes > 0 ? DNET_OK : DNET_ERR_FORMAT;
}

dnet_status_t dnet_health_read(const dnet_topo_t *t, const char *path, dnet_counters_t *counters)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    memset(counters, 0, (size_t) dnet_topo_channels(t) * sizeof(*counters));
    dnet_status_t st = DNET_OK;
    int s = DNET_TOPO_NONE, nodes = -1, failures = 0;
    char line[1024], guid[32];
    for (int number = 1; !st && fgets(line, sizeof(line), in); number++) {
        const char *p = line + strspn(line, " \t\r\n");
        if (sscanf(p, "Errors for %31s", guid) == 1) {
            s = dnet_topo_find_switch(t, guid);
        } else if (strncmp(p, "GUID ", 5) == 0) {
            st = read_port(t, path, number, s, p, counters);
        } else if (strncmp(p, "## ", 3) == 0) {
            sscanf(p, "## Summary: %d nodes checked", &nodes);
            if (strstr(p, "PMA query failures"))
                sscanf(p, "## %d", &failures);
        } else if (*p && *p != '#' && strncmp(p, "Link info:", 10) != 0) {
            dnet_error("subnet: %s:%d: no line of ibqueryerrors: %.60s", path, number,
                       strtok(line, "\n"));
            st = DNET_ERR_FORMAT;
        }
    }
    st = dnet_subnet_close(in, path, st);
    return st ? st : check_summary(path, nodes, failures);
}

/* Number before a word: "Could be 12X" has 12 before "X" behind "Could be ". */
static bool could_be(const char *p, const char *unit, double *value)
{
    while ((p = strstr(p, "Could be "))) {
        char *end;
        p += 9;
        double v = strtod(p, &end);
        if (end != p && strncmp(end, unit, strlen(unit)) == 0) {
            *value = v;
            return true;
        }
    }
    return false;
}

static dnet_status_t read_link(dnet_topo_t *t, const char *path, int number, const char *line)
{
    char guid[32];
    int lid, port, at;
    double lanes;
    dnet_topo_rate_t rate, nominal;
    const char *name_end = strrchr(line, '"'), *open = strstr(line, "==(");
    const char *first = strchr(line, '"'), *second = first ? strchr(first + 1, '"') : NULL;
    if (sscanf(line, "%31s", guid) != 1 || strncmp(guid, "0x", 2) != 0 || !second || !open)
        return DNET_OK; /* a header, or a port that is down */
    if (sscanf(second + 1, "%d %d[", &lid, &port) != 2) {
        dnet_error(
            "subnet: %s:%d: expected 'GUID \"NAME\" LID PORT[ ] ==(' as iblinkinfo -l prints", path,
            number);
        return DNET_ERR_FORMAT;
    }
    int s = dnet_topo_find_switch(t, guid);
    dnet_port_kind_t kind = s == DNET_TOPO_NONE ? DNET_PORT_FREE : dnet_topo_port(t, s, port, &at);
    if (kind == DNET_PORT_FREE ||
        sscanf(open + 3, "%dX %lf Gbps", &rate.lanes, &rate.lane_gbps) != 2)
        return DNET_OK; /* an adapter's port, or a link that is down */
    nominal = rate;
    lanes = rate.lanes;
    could_be(name_end, "X", &lanes);
    could_be(name_end, " Gbps", &nominal.lane_gbps);
    nominal.lanes = (int) lanes;
    if (kind == DNET_PORT_CHANNEL) {
        dnet_topo_set_rate(&t->link[at >> 1], rate, nominal);
    } else {
        t->host[at].rate = rate;
        t->host[at].nominal = nominal;
    }
    return DNET_OK;
}

dnet_status_t dnet_health_read_links(dnet_topo_t *t, const char *path)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    dnet_status_t st = DNET_OK;
    char line[1024];
    bool found = false;
    for (int number = 1; !st && fgets(line, sizeof(line), in); number++) {
        found |= strstr(line, "0x") && strstr(line, "==(");
        st = read_link(t, path, number, line);
    }
    st = dnet_subnet_close(in, path, st);
    if (!st && !found) {
        dnet_error("subnet: %s: no link in it; expected the output of iblinkinfo -l", path);
        return DNET_ERR_FORMAT;
    }
    return st;
}

/* Isolated links are not in the topology any more, and are part of the quarter all the same. */
static void count_lost(dnet_topo_t *t, const dnet_topo_t *earlier, const dnet_topo_link_t *was)
{
    for (int side = 0; side < 2; side++) {
        char guid[24];
        snprintf(guid, sizeof(guid), "0x%" PRIx64, earlier->sw[was->sw[side]].guid);
        int c, s = dnet_topo_find_switch(t, guid);
        if (s != DNET_TOPO_NONE && dnet_topo_wired(t, s, was->port[side], &c) != DNET_PORT_CHANNEL)
            t->sw[s].lost++;
    }
}

void dnet_health_expect(dnet_topo_t *t, const dnet_topo_t *earlier)
{
    for (int l = 0; l < earlier->n_links; l++) {
        const dnet_topo_link_t *was = &earlier->link[l];
        char guid[24];
        snprintf(guid, sizeof(guid), "0x%" PRIx64, earlier->sw[was->sw[0]].guid);
        int c, s = dnet_topo_find_switch(t, guid);
        if (s != DNET_TOPO_NONE && dnet_topo_port(t, s, was->port[0], &c) == DNET_PORT_CHANNEL)
            t->link[c >> 1].nominal_gbps = was->gbps;
        count_lost(t, earlier, was);
    }
}

static double rate(uint32_t before, uint32_t after, double seconds)
{
    return (after >= before ? after - before : after) / seconds;
}

static void measure(const dnet_topo_t *t, const dnet_counters_t *before,
                    const dnet_counters_t *after, double seconds, double nominal,
                    const double *fastest, dnet_link_health_t *h)
{
    const dnet_topo_link_t *l = &t->link[h->link];
    bool errors_full = false;
    for (int c = 2 * h->link; c <= 2 * h->link + 1; c++) {
        double symbol = rate(before[c].symbol, after[c].symbol, seconds);
        double rcv = rate(before[c].rcv, after[c].rcv, seconds);
        h->symbol_rate = symbol > h->symbol_rate ? symbol : h->symbol_rate;
        h->rcv_rate = rcv > h->rcv_rate ? rcv : h->rcv_rate;
        errors_full |=
            after[c].symbol >= DNET_HEALTH_SATURATED || after[c].rcv >= DNET_HEALTH_SATURATED;
        h->saturated |= errors_full || after[c].downed >= DNET_HEALTH_DOWNED_SATURATED;
        h->downed |= rate(before[c].downed, after[c].downed, seconds) > 0;
    }
    double should = nominal > 0 ? nominal : l->nominal_gbps;
    h->slow = l->gbps > 0 && l->gbps < should;
    h->perhaps_slow =
        l->gbps > 0 && should <= 0 && l->gbps < fmin(fastest[l->sw[0]], fastest[l->sw[1]]);
    if (h->slow || errors_full || h->symbol_rate > DNET_HEALTH_SYMBOL_SICK ||
        h->rcv_rate > DNET_HEALTH_RCV_SICK)
        h->state = DNET_LINK_SICK;
    else if (h->perhaps_slow || h->saturated || h->symbol_rate > DNET_HEALTH_SYMBOL_WATCH ||
             h->rcv_rate > 0 || h->downed)
        h->state = DNET_LINK_WATCH;
}

static int worst_first(const void *a, const void *b)
{
    const dnet_link_health_t *x = a, *y = b;
    if (x->state != y->state)
        return (int) y->state - (int) x->state;
    double ex = x->symbol_rate + 10 * x->rcv_rate, ey = y->symbol_rate + 10 * y->rcv_rate;
    if (ex != ey)
        return ex < ey ? 1 : -1;
    return x->link - y->link;
}

/* All links between switches of s that are gone, or would be with `link`, and all there are and
 * were. */
static void count_links(const dnet_topo_t *t, const bool *gone, int link, int s, int *lost,
                        int *all)
{
    *lost = *all = t->sw[s].lost;
    for (int l = 0; l < t->n_links; l++) {
        if (t->link[l].sw[0] != s && t->link[l].sw[1] != s)
            continue;
        ++*all;
        *lost += gone[l] || l == link || t->link[l].down;
    }
}

/* Are all switches that reach each other now still connected without the links gone and `link`? */
static bool still_connected(const dnet_topo_t *t, const bool *gone, int link, int *stack,
                            bool *seen)
{
    int n = 0, goal = t->link[link].sw[1];
    memset(seen, 0, (size_t) t->n_switches * sizeof(*seen));
    stack[n++] = t->link[link].sw[0];
    seen[stack[0]] = true;
    while (n > 0 && !seen[goal]) {
        int s = stack[--n];
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int c = dnet_topo_channel(t, s, i), v = dnet_topo_head(t, c);
            if (gone[c >> 1] || c >> 1 == link || seen[v])
                continue;
            seen[v] = true;
            stack[n++] = v;
        }
    }
    return seen[goal];
}

static dnet_isolate_t may_isolate(const dnet_topo_t *t, const bool *gone, int link, bool confirmed,
                                  int *stack, bool *seen)
{
    if (!still_connected(t, gone, link, stack, seen))
        return DNET_ISOLATE_LAST_UPLINK;
    for (int side = 0; side < 2; side++) {
        int lost, all, s = t->link[link].sw[side];
        if (t->sw[s].hosts == 0)
            continue;
        count_links(t, gone, link, s, &lost, &all);
        if (!confirmed && lost > DNET_HEALTH_UPLINK_SHARE * all)
            return DNET_ISOLATE_CAPACITY;
    }
    return DNET_ISOLATE_YES;
}

static dnet_status_t decide(const dnet_topo_t *t, bool confirmed, dnet_link_health_t *list, int n)
{
    bool *gone = dnet_subnet_alloc((size_t) t->n_links, sizeof(bool));
    bool *seen = dnet_subnet_alloc((size_t) t->n_switches, sizeof(bool));
    int *stack = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    dnet_status_t st = gone && seen && stack ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int i = 0; i < n && !st; i++) {
        if (list[i].state != DNET_LINK_SICK)
            continue;
        list[i].isolate = may_isolate(t, gone, list[i].link, confirmed, stack, seen);
        gone[list[i].link] = list[i].isolate == DNET_ISOLATE_YES;
    }
    free(gone);
    free(seen);
    free(stack);
    return st;
}

dnet_status_t dnet_health_judge(const dnet_topo_t *t, const dnet_counters_t *before,
                                const dnet_counters_t *after, double seconds, double nominal_gbps,
                                bool confirmed, dnet_link_health_t **out, int *n)
{
    dnet_link_health_t *list = dnet_subnet_alloc((size_t) t->n_links, sizeof(*list));
    if (!list)
        return DNET_ERR_NO_MEMORY;
    double *fastest = dnet_subnet_alloc((size_t) t->n_switches, sizeof(*fastest));
    if (!fastest) {
        free(list);
        return DNET_ERR_NO_MEMORY;
    }
    for (int c = 0; c < dnet_topo_channels(t); c++)
        fastest[dnet_topo_tail(t, c)] = fmax(fastest[dnet_topo_tail(t, c)], t->link[c >> 1].gbps);
    *n = 0;
    for (int l = 0; l < t->n_links; l++) {
        dnet_link_health_t h = {.link = l};
        if (t->slot[2 * l] == DNET_TOPO_NONE)
            continue;
        measure(t, before, after, seconds, nominal_gbps, fastest, &h);
        if (h.state != DNET_LINK_CLEAN)
            list[(*n)++] = h;
    }
    free(fastest);
    qsort(list, (size_t) *n, sizeof(*list), worst_first);
    dnet_status_t st = decide(t, confirmed, list, *n);
    if (st)
        free(list);
    else
        *out = list;
    return st;
}
