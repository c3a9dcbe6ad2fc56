/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet health: sick links from two readings of the error counters and the link speeds.  Says
 * what it would isolate; with --apply it runs `ibportstate GUID PORT disable` for each.
 */
#include "subnet_tool.h"

#include "common/log.h"
#include "subnet/health.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static const char *const states[] = {"clean", "watch", "sick"};
static const char *const decisions[] = {
    "keep", "isolate", "keep: nothing else connects the two ends",
    "keep: a quarter of the uplinks is gone; --confirm to go on",
};

/* The switch-side port of a link, disabled through infiniband-diags. */
static dnet_status_t disable(const dnet_topo_t *t, int link)
{
    char guid[24], port[8];
    pid_t pid;
    int status = 0;
    snprintf(guid, sizeof(guid), "0x%" PRIx64, t->sw[t->link[link].sw[0]].guid);
    snprintf(port, sizeof(port), "%d", t->link[link].port[0]);
    char *const argv[] = {(char *) "ibportstate", (char *) "-G", guid, port, (char *) "disable",
                          NULL};
    int rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (rc) {
        dnet_error("health: cannot run ibportstate: %s (Debian: infiniband-diags)", strerror(rc));
        return DNET_ERR_SYSTEM;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DNET_OK;
    dnet_error("health: ibportstate -G %s %s disable failed; the link stays in service", guid,
               port);
    return DNET_ERR_SYSTEM;
}

static dnet_status_t report(const subnet_options_t *o, const dnet_topo_t *t,
                            const dnet_link_health_t *list, int n, dnet_json_t *j)
{
    dnet_status_t st = DNET_OK;
    dnet_json_array(j, "links");
    for (int i = 0; i < n && !st; i++) {
        const dnet_link_health_t *h = &list[i];
        const dnet_topo_link_t *l = &t->link[h->link];
        printf("%s: %s port %d - %s port %d:%s%s symbol errors %.2f/s, receive errors %.2f/s; %s\n",
               states[h->state], t->sw[l->sw[0]].name, l->port[0], t->sw[l->sw[1]].name, l->port[1],
               h->slow ? " slow," : "", h->saturated ? " counter saturated," : "", h->symbol_rate,
               h->rcv_rate, decisions[h->isolate]);
        dnet_json_object(j, NULL);
        dnet_json_string(j, "state", states[h->state]);
        dnet_json_string(j, "switch", t->sw[l->sw[0]].name);
        dnet_json_int(j, "port", l->port[0]);
        dnet_json_string(j, "peer", t->sw[l->sw[1]].name);
        dnet_json_int(j, "peer_port", l->port[1]);
        dnet_json_bool(j, "slow", h->slow);
        dnet_json_bool(j, "saturated", h->saturated);
        dnet_json_number(j, "symbol_rate", h->symbol_rate);
        dnet_json_number(j, "receive_error_rate", h->rcv_rate);
        dnet_json_bool(j, "isolate", h->isolate == DNET_ISOLATE_YES);
        dnet_json_end_object(j);
        if (h->isolate == DNET_ISOLATE_YES && o->apply)
            st = disable(t, h->link);
    }
    dnet_json_end_array(j);
    printf("%d link%s not clean%s\n", n, n == 1 ? "" : "s",
           n && !o->apply ? "; nothing was changed (--apply isolates)" : "");
    return st;
}

int subnet_health(int argc, char **argv)
{
    subnet_options_t o = {.quiet = true, .interval = 10};
    dnet_topo_t *t = NULL;
    dnet_link_health_t *list = NULL;
    dnet_json_t j;
    int n = 0, rc = subnet_parse(argc, argv, &o);
    if (rc)
        return rc;
    if (!o.before || !o.after) {
        dnet_error("health: needs --before FILE and --after FILE, two outputs of ibqueryerrors");
        return SUBNET_EXIT_USAGE;
    }
    dnet_status_t st = subnet_load(&o, &t);
    size_t channels = st ? 0 : (size_t) dnet_topo_channels(t);
    dnet_counters_t *before = dnet_subnet_alloc(channels, sizeof(*before));
    dnet_counters_t *after = dnet_subnet_alloc(channels, sizeof(*after));
    if (!st && (!before || !after))
        st = DNET_ERR_NO_MEMORY;
    if (!st)
        st = dnet_health_read(t, o.before, before);
    if (!st)
        st = dnet_health_read(t, o.after, after);
    if (!st)
        st = dnet_health_judge(t, before, after, o.interval, o.nominal, o.confirm, &list, &n);
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        st = report(&o, t, list, n, &j);
        if (dnet_json_close(&j) && !st)
            st = DNET_ERR_SYSTEM;
    }
    free(before);
    free(after);
    free(list);
    dnet_topo_free(t);
    return st ? subnet_exit(st) : n ? SUBNET_EXIT_BAD : SUBNET_EXIT_GOOD;
}
