/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writers: ibsim net text, which ibsim, the reader and people understand, and Graphviz.
 */
#include "subnet/topology/topo.h"

static void write_switch(const dnet_topo_t *t, int s, FILE *out)
{
    fprintf(out, "Switch\t%d \"%s\"\n", t->sw[s].ports, t->sw[s].name);
    for (int p = 1; p <= t->sw[s].ports; p++) {
        int which;
        switch (dnet_topo_port(t, s, p, &which)) {
            case DNET_PORT_CHANNEL:
                fprintf(out, "[%d]\t\"%s\"[%d]\n", p, t->sw[dnet_topo_head(t, which)].name,
                        dnet_topo_out_port(t, which ^ 1));
                break;
            case DNET_PORT_HOST:
                fprintf(out, "[%d]\t\"%s\"[%d]\n", p, t->host[which].name, t->host[which].hca_port);
                break;
            case DNET_PORT_FREE:
                break;
        }
    }
    fputc('\n', out);
}

dnet_status_t dnet_topo_write_ibsim(const dnet_topo_t *t, FILE *out)
{
    fprintf(out, "# %s: %d switches, %d servers, %d links between switches\n", t->name,
            t->n_switches, t->n_hosts, t->n_links);
    /* Adapters first: ibsim takes the first port of the file for the subnet manager. */
    for (int h = 0; h < t->n_hosts; h++)
        fprintf(out, "\nHca\t2 \"%s\"\n[%d]\t\"%s\"[%d]\n", t->host[h].name, t->host[h].hca_port,
                t->sw[t->host[h].sw].name, t->host[h].port);
    fputc('\n', out);
    for (int s = 0; s < t->n_switches; s++)
        write_switch(t, s, out);
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

dnet_status_t dnet_topo_write_dot(const dnet_topo_t *t, FILE *out)
{
    int top = 0;
    fprintf(out, "graph \"%s\" {\n  node [shape=box, height=0.3];\n  ranksep=1;\n", t->name);
    for (int s = 0; s < t->n_switches; s++) {
        fprintf(out, "  \"%s\" [label=\"%s\\n%d servers\"%s];\n", t->sw[s].name, t->sw[s].name,
                t->sw[s].hosts, t->sw[s].down ? ", style=dashed" : "");
        if (t->sw[s].level > top)
            top = t->sw[s].level;
    }
    for (int level = top; level >= 0 && top > 0; level--) {
        fprintf(out, "  { rank=same;");
        for (int s = 0; s < t->n_switches; s++)
            if (t->sw[s].level == level)
                fprintf(out, " \"%s\";", t->sw[s].name);
        fprintf(out, " }\n");
    }
    for (int l = 0; l < t->n_links; l++) {
        const dnet_topo_link_t *k = &t->link[l];
        fprintf(out, "  \"%s\" -- \"%s\" [taillabel=\"%d\", headlabel=\"%d\", fontsize=8%s];\n",
                t->sw[k->sw[0]].name, t->sw[k->sw[1]].name, k->port[0], k->port[1],
                k->down ? ", style=dashed" : "");
    }
    fprintf(out, "}\n");
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}
