/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet gen: a topology as ibsim net, Graphviz or SVG.
 */
#include "tools/subnet/subnet.h"

typedef struct {
    subnet_net_t net;
    const char *output;
    int format;
    bool list;
} options_t;

typedef dnet_status_t write_fn(const dnet_topo_t *t, FILE *out);

static const char *const format_words[] = {"ibsim", "dot", "svg", NULL};
static write_fn *const formats[] = {dnet_topo_write_ibsim, dnet_topo_write_dot,
                                    dnet_topo_write_svg};

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, format, "format", TOOL_WORD, "F", "ibsim, dot or svg (ibsim)",
                .words = format_words),
    TOOL_OPTION(options_t, output, "output", TOOL_TEXT, "FILE", "where to write (standard output)",
                .letter = 'o'),
    TOOL_OPTION(options_t, list, "list", TOOL_FLAG, NULL, "show the generators"),
    {NULL},
};

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS};
    dnet_topo_t *t;
    if (!tool_parse(&subnet_gen, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    if (o.list) {
        for (int i = 0; dnet_topo_kinds(i); i++)
            printf("%s\n", dnet_topo_kinds(i));
        return TOOL_GOOD;
    }
    dnet_status_t st = subnet_load(&o.net, &t);
    if (st)
        return subnet_exit(st);
    FILE *out = subnet_output(o.output);
    st = out ? subnet_output_close(out, o.output, formats[o.format](t, out)) : DNET_ERR_SYSTEM;
    dnet_topo_free(t);
    return subnet_exit(st);
}

const tool_command_t subnet_gen = {
    .name = "gen",
    .summary = "make a topology and write it as ibsim net, Graphviz or SVG",
    .options = options,
    .run = run,
};
