/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of dnet-subnet do with options that several of them have (subnet.h).
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"
#include "subnet/base/progress.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/*
 * A file keeps what it holds until all that is new is written, because a subnet manager may read it
 * at any time, and a disk may be full.  Until then the new one has this name.
 * @return `path` itself for pipes, devices and symbolic links
 */
static const char *written_as(const char *path, char name[PATH_MAX])
{
    struct stat is;
    bool file = lstat(path, &is) == 0 ? S_ISREG(is.st_mode) : errno == ENOENT;
    return file && snprintf(name, PATH_MAX, "%s.part", path) < PATH_MAX ? name : path;
}

FILE *subnet_output(const char *path)
{
    char name[PATH_MAX];
    struct stat is;
    if (!path || strcmp(path, "-") == 0)
        return stdout;
    FILE *f = fopen(written_as(path, name), "w");
    if (!f)
        dnet_error("cannot write %s: %s", path, strerror(errno));
    else if (stat(path, &is) == 0)
        fchmod(fileno(f), is.st_mode & 0777); /* who could read it still can, and none else */
    return f;
}

dnet_status_t subnet_output_close(FILE *f, const char *path, dnet_status_t st)
{
    char name[PATH_MAX];
    bool lost = ferror(f) != 0;
    lost |= (f == stdout ? fflush(f) : fclose(f)) != 0;
    if (f == stdout) /* the tool's end says so */
        return lost ? DNET_ERR_SYSTEM : st;
    const char *as = written_as(path, name);
    if (!lost && !st && as != path)
        lost = rename(as, path) != 0;
    if (lost) {
        dnet_error("writing %s failed: %s", path, strerror(errno));
        st = DNET_ERR_SYSTEM;
    }
    if (st && as != path)
        unlink(as);
    return st;
}
