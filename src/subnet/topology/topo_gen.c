/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Regular and random networks other than fat trees, and the parser of topology specifications.
 * Random networks follow [TA §5.2]: randomly chosen free ports of two switches are joined; no
 * parallel links, connected, else drawn again (the source is silent there).
 */
#include "subnet/topology/topo_gen.h"
#include "subnet/base/rng.h"

#include "common/log.h"
#include "common/number.h"

#include <stdlib.h>
#include <string.h>

static void add_hosts(dnet_topo_t *t, int per_switch)
{
    for (int s = 0; s < t->n_switches; s++)
        for (int j = 0; j < per_switch; j++)
            dnet_topo_add_host(t, NULL, s, j + 1);
}

/* Links between switches as a matrix while drawing. */
typedef struct draw {
    int n, *free_ports;
    unsigned char *joined;
} draw_t;

static bool can_join(const draw_t *d, int a, int b)
{
    return a != b && d->free_ports[a] && d->free_ports[b] && !d->joined[a * d->n + b];
}

static void join(draw_t *d, int a, int b)
{
    d->joined[a * d->n + b] = d->joined[b * d->n + a] = 1;
    d->free_ports[a]--;
    d->free_ports[b]--;
}

/* Join random free ports until no pair fits; a few unlucky draws, then an exhaustive look. */
static void draw_links(draw_t *d, int ports, dnet_rng_t *rng)
{
    memset(d->joined, 0, (size_t) d->n * (size_t) d->n);
    for (int s = 0; s < d->n; s++)
        d->free_ports[s] = ports;
    for (int misses = 0; misses < 20 * d->n;) {
        int a = (int) dnet_rng_below(rng, (uint32_t) d->n);
        int b = (int) dnet_rng_below(rng, (uint32_t) d->n);
        if (can_join(d, a, b)) {
            join(d, a, b);
            misses = 0;
        } else {
            misses++;
        }
    }
    for (int a = 0; a < d->n; a++)
        for (int b = a + 1; b < d->n; b++)
            if (can_join(d, a, b))
                join(d, a, b);
}

static bool draw_connected(const draw_t *d, int *stack, unsigned char *seen)
{
    int top = 0, found = 0;
    memset(seen, 0, (size_t) d->n);
    stack[top++] = 0;
    seen[0] = 1;
    while (top > 0) {
        int a = stack[--top];
        found++;
        for (int b = 0; b < d->n; b++)
            if (d->joined[a * d->n + b] && !seen[b]) {
                seen[b] = 1;
                stack[top++] = b;
            }
    }
    return found == d->n;
}

dnet_status_t dnet_topo_gen_random(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    int n = args->number[0], ports = args->count > 1 ? args->number[1] : 10;
    int hosts = args->count > 2 ? args->number[2] : 10;
    if (args->count < 1 || n < 2 || n > 4096 || ports < 2 || ports > 128 || hosts < 0 ||
        hosts > 128) {
        dnet_error("subnet: random needs SWITCHES[:PORTS[:SERVERS]]: 2..4096 switches, 2..128 "
                   "ports between switches, 0..128 servers each");
        return DNET_ERR_FORMAT;
    }
    dnet_rng_t rng = {args->seed * 1000003u + (uint64_t) n};
    draw_t d = {.n = n,
                .free_ports = dnet_subnet_alloc((size_t) n, sizeof(int)),
                .joined = dnet_subnet_alloc((size_t) n * (size_t) n, 1)};
    int *stack = dnet_subnet_alloc((size_t) n, sizeof(int));
    unsigned char *seen = dnet_subnet_alloc((size_t) n, 1);
    dnet_status_t st = DNET_ERR_NO_MEMORY;
    if (d.free_ports && d.joined && stack && seen) {
        st = DNET_ERR_FORMAT;
        for (int attempt = 0; attempt < 100 && st; attempt++) {
            draw_links(&d, ports, &rng);
            if (draw_connected(&d, stack, seen))
                st = DNET_OK;
        }
        if (st)
            dnet_error("subnet: random: 100 draws of %d switches with %d ports gave no connected "
                       "network; use more ports",
                       n, ports);
    }
    for (int s = 0; s < n && !st; s++)
        dnet_topo_add_switch(t, NULL, ports + hosts);
    if (!st)
        add_hosts(t, hosts);
    for (int a = 0; a < n && !st; a++)
        for (int b = a + 1; b < n; b++)
            if (d.joined[a * n + b])
                dnet_topo_add_link(t, a, 0, b, 0);
    free(d.free_ports);
    free(d.joined);
    free(stack);
    free(seen);
    return st;
}

/* "4x4x2" into sizes; 0 dimensions on a malformed word, or one with more than four. */
static int parse_dims(const char *word, int dims[4])
{
    char copy[DNET_TOPO_WORD_BYTES], *rest = copy;
    uint64_t size;
    int n = 0;
    snprintf(copy, sizeof(copy), "%s", word);
    for (char *one; (one = strsep(&rest, "x")); dims[n++] = (int) size)
        if (n == 4 || !dnet_number(one, 1, 4096, &size))
            return 0;
    return n;
}

/* Neighbours one step up in each dimension; the last of a dimension wraps when asked to. */
static dnet_status_t add_grid(dnet_topo_t *t, const dnet_topo_args_t *args, bool wrap,
                              const char *kind)
{
    int dims[4], n = args->count > 0 ? parse_dims(args->word[0], dims) : 0, total = 1;
    int hosts = args->count > 1 ? args->number[1] : 1;
    for (int i = 0; i < n; i++)
        total = total > 65536 ? total : total * dims[i];
    if (n == 0 || total < 2 || total > 65536 || hosts < 0 || hosts > 128) {
        dnet_error("subnet: %s needs SIZES[:SERVERS], sizes like 4x4 or 4x4x2 with up to four "
                   "dimensions and 65536 switches, 0..128 servers each",
                   kind);
        return DNET_ERR_FORMAT;
    }
    for (int s = 0; s < total; s++)
        dnet_topo_add_switch(t, NULL, hosts + 2 * n);
    add_hosts(t, hosts);
    for (int s = 0; s < total; s++)
        for (int i = 0, stride = 1; i < n; stride *= dims[i++]) {
            int at = s / stride % dims[i];
            if (at + 1 < dims[i])
                dnet_topo_add_link(t, s, 0, s + stride, 0);
            else if (wrap && dims[i] > 2)
                dnet_topo_add_link(t, s, 0, s - at * stride, 0);
        }
    return DNET_OK;
}

dnet_status_t dnet_topo_gen_mesh(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    return add_grid(t, args, false, "mesh");
}

dnet_status_t dnet_topo_gen_torus(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    return add_grid(t, args, true, "torus");
}

dnet_status_t dnet_topo_gen_ring(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    if (args->count < 1 || args->number[0] < 3) {
        dnet_error("subnet: ring needs SWITCHES[:SERVERS] with at least 3 switches");
        return DNET_ERR_FORMAT;
    }
    return add_grid(t, args, true, "ring");
}

/* Balanced arrangement: a*h + 1 groups of a routers, every pair of groups joined by one link. */
dnet_status_t dnet_topo_gen_dragonfly(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    int a = args->number[0], h = args->number[1], p = args->count > 2 ? args->number[2] : h;
    if (args->count < 2 || a < 1 || a > 64 || h < 1 || h > 64 || p < 0 || p > 128) {
        dnet_error("subnet: dragonfly needs ROUTERS-PER-GROUP:GLOBAL-LINKS[:SERVERS]: 1..64, "
                   "1..64, 0..128 per router");
        return DNET_ERR_FORMAT;
    }
    int groups = a * h + 1;
    for (int r = 0; r < groups * a; r++) {
        int s = dnet_topo_add_switch(t, NULL, p + a - 1 + h);
        if (s != DNET_TOPO_NONE) {
            t->sw[s].group = r / a;
            t->sw[s].index = r % a;
        }
    }
    add_hosts(t, p);
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < a; i++)
            for (int j = i + 1; j < a; j++)
                dnet_topo_add_link(t, g * a + i, 0, g * a + j, 0);
    /* Global port x of group g leads to group g + 1 + x, whose port a*h - 1 - x leads back. */
    for (int g = 0; g < groups; g++)
        for (int x = 0; x < a * h; x++) {
            int to = (g + 1 + x) % groups;
            if (g < to)
                dnet_topo_add_link(t, g * a + x / h, 0, to * a + (a * h - 1 - x) / h, 0);
        }
    return DNET_OK;
}

/* An argument is a number (n), sizes (d) or a word (w), which its generator checks. */
static const struct kind {
    const char *name, *arguments, *help;
    dnet_status_t (*make)(dnet_topo_t *t, const dnet_topo_args_t *args);
} kinds[] = {
    {"two-fat-trees", "nww",
     "two-fat-trees:N[:top|middle|bottom[:half|sum|all]]  two joined trees of "
     "N = 2*k^3 servers",
     dnet_topo_gen_two_fat_trees},
    {"fat-tree", "nnn",
     "fat-tree:STAGES:RADIX[:PODS]  2 or 3 stages; fat-tree:3:36 has 11664 nodes, "
     "fat-tree:3:36:18 5832",
     dnet_topo_gen_fat_tree},
    {"leaf-spine", "nnnn",
     "leaf-spine:LEAVES:NODES:SPINES[:CHIP-PORTS]  one link from each leaf to each spine, a switch "
     "or a director of chips",
     dnet_topo_gen_leaf_spine},
    {"tsubame", "nnnn",
     "tsubame[:EDGES[:UPLINKS[:EDGES-WITH-14[:IO-SERVERS]]]]  one rail of TSUBAME2.0",
     dnet_topo_gen_tsubame},
    {"random", "nnn", "random:SWITCHES[:PORTS[:SERVERS]]  no parallel links, connected",
     dnet_topo_gen_random},
    {"ring", "nn", "ring:SWITCHES[:SERVERS]", dnet_topo_gen_ring},
    {"mesh", "dn", "mesh:AxBx..[:SERVERS]  up to four dimensions", dnet_topo_gen_mesh},
    {"torus", "dn", "torus:AxBx..[:SERVERS]", dnet_topo_gen_torus},
    {"dragonfly", "nnn", "dragonfly:ROUTERS-PER-GROUP:GLOBAL-LINKS[:SERVERS]",
     dnet_topo_gen_dragonfly},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const char *dnet_topo_kinds(int i)
{
    return i >= 0 && i < KINDS ? kinds[i].help : NULL;
}

static dnet_status_t wrong_argument(const char *spec, const struct kind *kind, const char *what,
                                    const char *why)
{
    dnet_error("subnet: topology '%s': argument '%.40s' %s; expected %.*s", spec, what, why,
               (int) (strstr(kind->help, "  ") ? strcspn(kind->help, " ") : strlen(kind->help)),
               kind->help);
    return DNET_ERR_FORMAT;
}

/* Every argument is a whole word of the kind that its place wants, and there is none too many. */
static dnet_status_t parse_args(const char *spec, const struct kind *kind, dnet_topo_args_t *args)
{
    for (const char *p = strchr(spec, ':'), *next; p; p = next) {
        next = strchr(++p, ':');
        size_t len = next ? (size_t) (next - p) : strlen(p);
        if ((size_t) args->count == strlen(kind->arguments))
            return wrong_argument(spec, kind, p, "is one too many");
        if (len == 0 || len >= DNET_TOPO_WORD_BYTES)
            return wrong_argument(spec, kind, p, len ? "is too long" : "is empty");
        char *word = args->word[args->count];
        uint64_t number = 0;
        memcpy(word, p, len);
        if (kind->arguments[args->count] == 'n' && !dnet_number(word, 0, 1000000, &number))
            return wrong_argument(spec, kind, word, "is no number from 0 to 1000000");
        args->number[args->count++] = (int) number;
    }
    return DNET_OK;
}

static dnet_status_t make_from_file(const char *path, dnet_topo_t **out)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    dnet_status_t st = dnet_topo_read(in, path, out);
    fclose(in);
    return st;
}

/* GUIDs as ibsim hands them out, so that generated files, guid2lid files and ibsim agree. */
static void set_guids(dnet_topo_t *t)
{
    for (int h = 0; h < t->n_hosts; h++)
        t->host[h].guid = 0x100001u + 3u * (unsigned) h;
    for (int s = 0; s < t->n_switches; s++)
        t->sw[s].guid = 0x200000u + (unsigned) s;
}

dnet_status_t dnet_topo_make(const char *spec, uint64_t seed, dnet_topo_t **out)
{
    size_t len = strcspn(spec, ":");
    if (len == 4 && strncmp(spec, "file", 4) == 0 && spec[4])
        return make_from_file(spec + 5, out);
    for (int i = 0; i < KINDS; i++) {
        if (strlen(kinds[i].name) != len || strncmp(spec, kinds[i].name, len) != 0)
            continue;
        dnet_topo_args_t args = {.seed = seed};
        dnet_status_t st = parse_args(spec, &kinds[i], &args);
        dnet_topo_t *t = st ? NULL : dnet_topo_new(spec);
        if (!t)
            return st ? st : DNET_ERR_NO_MEMORY;
        st = kinds[i].make(t, &args);
        if (!st)
            st = dnet_topo_finish(t);
        if (st) {
            dnet_topo_free(t);
            return st;
        }
        set_guids(t);
        *out = t;
        return DNET_OK;
    }
    FILE *probe = fopen(spec, "r");
    if (probe) {
        dnet_status_t st = dnet_topo_read(probe, spec, out);
        fclose(probe);
        return st;
    }
    dnet_error(
        "subnet: topology '%s' is neither a kind (see dnet-subnet gen --list) nor a readable "
        "file",
        spec);
    return DNET_ERR_FORMAT;
}
