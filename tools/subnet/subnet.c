/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of dnet-subnet do with options that several of them have (subnet.h).
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"
#include "subnet/base/progress.h"

#include <errno.h>
#include <string.h>

/* In the order of their enums. */
const char *const subnet_traffic_words[] = {"uniform", "inside", "between", "weighted", NULL};
const char *const subnet_ties_words[] = {"auto", "rounds", "plain", "random", NULL};
const char *const subnet_seed_tree_words[] = {"auto", "off", "on", NULL};

int subnet_exit(dnet_status_t st)
{
    switch (st) {
        case DNET_OK:
            return TOOL_GOOD;
        case DNET_ERR_NO_MEMORY:
        case DNET_ERR_SYSTEM:
            return TOOL_SYSTEM;
        default:
            return TOOL_USAGE;
    }
}

dnet_status_t subnet_load(const subnet_net_t *net, dnet_topo_t **out)
{
    dnet_topo_t *t;
    dnet_progress_enable(!net->quiet);
    if (!net->topology) {
        dnet_error("--topology is missing; dnet-subnet --help lists the kinds");
        return DNET_ERR_ARGUMENT;
    }
    dnet_status_t st = dnet_topo_make(net->topology, net->seed, &t);
    if (st)
        return st;
    if (net->hints)
        st = dnet_topo_read_hints(t, net->hints);
    for (int i = 0; i < net->cut.count && !st; i++)
        st = dnet_topo_cut(t, net->cut.text[i]);
    if (st)
        dnet_topo_free(t);
    else
        *out = t;
    return st;
}

dnet_status_t subnet_traffic(const subnet_engine_t *e, const dnet_topo_t *t, dnet_traffic_t *tr)
{
    if (e->matrix && e->partitions) {
        dnet_error("--matrix and --partitions both say what traffic to expect; give one");
        return DNET_ERR_ARGUMENT;
    }
    if (e->partitions) {
        dnet_partitions_t *p = NULL;
        dnet_status_t st = dnet_partitions_read(t, e->partitions, &p);
        if (!st)
            st = dnet_partitions_traffic(p, t, tr);
        dnet_partitions_free(p);
        return st;
    }
    if (e->matrix)
        return dnet_traffic_read(tr, t, e->matrix);
    return dnet_traffic_init(tr, t, (dnet_traffic_kind_t) e->traffic, e->between);
}

dnet_route_options_t subnet_route_options(const subnet_engine_t *e, uint64_t seed,
                                          const dnet_traffic_t *tr)
{
    return (dnet_route_options_t){
        .seed = seed,
        .traffic = tr,
        .root = e->root,
        .seed_tree = (dnet_seed_tree_t) e->seed_tree,
        .ties = (dnet_ties_t) e->ties,
        .decide_weightless = e->weightless,
        .static_weights = e->static_weights,
        .lanes = e->lanes,
    };
}

FILE *subnet_output(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return stdout;
    FILE *f = fopen(path, "w");
    if (!f)
        dnet_error("cannot write %s: %s", path, strerror(errno));
    return f;
}

dnet_status_t subnet_output_close(FILE *f, const char *path)
{
    bool lost = ferror(f) != 0;
    lost |= (f == stdout ? fflush(f) : fclose(f)) != 0;
    if (lost && f != stdout) /* of that the tool's end says so */
        dnet_error("writing %s failed: %s", path, strerror(errno));
    return lost ? DNET_ERR_SYSTEM : DNET_OK;
}
