/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writers: ibsim net text, which ibsim, the reader and people understand, and Graphviz.
 */
#include "subnet/topology/topo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the reader and ibsim give a node that no line has a GUID for. */
typedef struct guids {
    uint64_t adapter, sw;
} guids_t;

/* Servers of one adapter, as a list: [adapter] its first, [server] the next. */
typedef struct ports {
    int *first, *next;
} ports_t;

/* Characters of the adapter's name in a server's: the reader names port 2 of A "A/2". */
static int adapter_name(const dnet_topo_host_t *host)
{
    const char *slash = strrchr(host->name, '/');
    return (int) (host->hca_port > 1 && slash ? slash - host->name : (long) strlen(host->name));
}

static void write_switch(const dnet_topo_t *t, int s, guids_t *next, FILE *out)
{
    uint64_t guid = t->sw[s].guid ? t->sw[s].guid : next->sw;
    if (guid != next->sw)
        fprintf(out, "switchguid=0x%" PRIx64 "\n", guid);
    next->sw = guid + 1;
    fprintf(out, "Switch\t%d \"%s\"\n", t->sw[s].ports, t->sw[s].name);
    for (int p = 1; p <= t->sw[s].ports; p++) {
        int which;
        switch (dnet_topo_port(t, s, p, &which)) {
            case DNET_PORT_CHANNEL:
                fprintf(out, "[%d]\t\"%s\"[%d]\n", p, t->sw[dnet_topo_head(t, which)].name,
                        dnet_topo_out_port(t, which ^ 1));
                break;
            case DNET_PORT_HOST:
                if (!t->host[which].down)
                    fprintf(out, "[%d]\t\"%.*s\"[%d]\n", p, adapter_name(&t->host[which]),
                            t->host[which].name, t->host[which].hca_port);
                break;
            case DNET_PORT_FREE:
                break;
        }
    }
    fputc('\n', out);
}

/* All ports of the adapter of server h, its first. */
static void write_adapter(const dnet_topo_t *t, int h, const ports_t *list, guids_t *next,
                          FILE *out)
{
    const dnet_topo_host_t *first = &t->host[h];
    uint64_t guid = first->guid ? first->guid - (unsigned) first->hca_port : next->adapter;
    int ports = 2;
    for (int i = h; i != DNET_TOPO_NONE; i = list->next[i])
        ports = t->host[i].hca_port > ports ? t->host[i].hca_port : ports;
    fputc('\n', out);
    if (guid != next->adapter)
        fprintf(out, "caguid=0x%" PRIx64 "\n", guid);
    next->adapter = guid + (unsigned) ports + 1;
    fprintf(out, "Hca\t%d \"%.*s\"\n", ports, adapter_name(first), first->name);
    for (int i = h; i != DNET_TOPO_NONE; i = list->next[i]) {
        const dnet_topo_host_t *host = &t->host[i];
        if (host->down)
            continue;
        fprintf(out, "[%d]", host->hca_port);
        if (host->guid && host->guid != guid + (unsigned) host->hca_port)
            fprintf(out, "(%" PRIx64 ")", host->guid);
        fprintf(out, "\t\"%s\"[%d]\n", t->sw[host->sw].name, host->port);
    }
}

static dnet_status_t list_ports(const dnet_topo_t *t, ports_t *list)
{
    int adapters = 0;
    for (int h = 0; h < t->n_hosts; h++)
        adapters = t->host[h].adapter >= adapters ? t->host[h].adapter + 1 : adapters;
    list->first = dnet_subnet_alloc((size_t) adapters, sizeof(int));
    list->next = dnet_subnet_alloc((size_t) t->n_hosts, sizeof(int));
    if (!list->first || !list->next)
        return DNET_ERR_NO_MEMORY;
    for (int i = 0; i < adapters; i++)
        list->first[i] = DNET_TOPO_NONE;
    for (int h = t->n_hosts - 1; h >= 0; h--) {
        list->next[h] = list->first[t->host[h].adapter];
        list->first[t->host[h].adapter] = h;
    }
    return DNET_OK;
}

dnet_status_t dnet_topo_write_ibsim(const dnet_topo_t *t, FILE *out)
{
    guids_t next = {.adapter = 0x100000, .sw = 0x200000};
    ports_t list = {NULL, NULL};
    dnet_status_t st = list_ports(t, &list);
    if (!st)
        fprintf(out, "# %s: %d switches, %d servers, %d links between switches\n", t->name,
                t->n_switches, t->n_hosts, t->n_links);
    /* Adapters first: ibsim takes the first port of the file for the subnet manager. */
    for (int h = 0; h < t->n_hosts && !st; h++)
        if (list.first[t->host[h].adapter] == h)
            write_adapter(t, h, &list, &next, out);
    if (!st)
        fputc('\n', out);
    for (int s = 0; s < t->n_switches && !st; s++)
        write_switch(t, s, &next, out);
    free(list.first);
    free(list.next);
    return st ? st : ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

/* A name in the quotes of Graphviz, where a backslash begins an escape. */
static void write_quoted(const char *name, const char *suffix, FILE *out)
{
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', out);
        fputc(*name, out);
    }
    fprintf(out, "%s\"", suffix);
}

dnet_status_t dnet_topo_write_dot(const dnet_topo_t *t, FILE *out)
{
    int top = 0;
    char servers[32];
    fprintf(out, "graph ");
    write_quoted(t->name, "", out);
    fprintf(out, " {\n  node [shape=box, height=0.3];\n  ranksep=1;\n");
    for (int s = 0; s < t->n_switches; s++) {
        snprintf(servers, sizeof(servers), "\\n%d servers", t->sw[s].hosts);
        fprintf(out, "  ");
        write_quoted(t->sw[s].name, "", out);
        fprintf(out, " [label=");
        write_quoted(t->sw[s].name, servers, out);
        fprintf(out, "%s];\n", t->sw[s].down ? ", style=dashed" : "");
        if (t->sw[s].level > top)
            top = t->sw[s].level;
    }
    for (int level = top; level >= 0 && top > 0; level--) {
        fprintf(out, "  { rank=same;");
        for (int s = 0; s < t->n_switches; s++)
            if (t->sw[s].level == level) {
                fputc(' ', out);
                write_quoted(t->sw[s].name, "", out);
                fputc(';', out);
            }
        fprintf(out, " }\n");
    }
    for (int l = 0; l < t->n_links; l++) {
        const dnet_topo_link_t *k = &t->link[l];
        fprintf(out, "  ");
        write_quoted(t->sw[k->sw[0]].name, "", out);
        fprintf(out, " -- ");
        write_quoted(t->sw[k->sw[1]].name, "", out);
        fprintf(out, " [taillabel=\"%d\", headlabel=\"%d\", fontsize=8%s];\n", k->port[0],
                k->port[1], k->down ? ", style=dashed" : "");
    }
    fprintf(out, "}\n");
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}
