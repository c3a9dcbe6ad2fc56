/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet gen: a topology as ibsim net, Graphviz or SVG.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

#include <string.h>

int subnet_gen(int argc, char **argv)
{
    subnet_options_t o = {.format = "ibsim", .quiet = true};
    static const struct {
        const char *name;
        dnet_status_t (*write)(const dnet_topo_t *t, FILE *out);
    } formats[] = {{"ibsim", dnet_topo_write_ibsim},
                   {"dot", dnet_topo_write_dot},
                   {"svg", dnet_topo_write_svg}};
    dnet_topo_t *t;
    int rc = subnet_parse(argc, argv, &o);
    if (rc)
        return rc;
    if (o.list) {
        for (int i = 0; dnet_topo_kinds(i); i++)
            printf("%s\n", dnet_topo_kinds(i));
        return SUBNET_EXIT_GOOD;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].name, o.format) != 0)
            continue;
        dnet_status_t st = subnet_load(&o, &t);
        if (st)
            return subnet_exit(st);
        FILE *out = subnet_output(o.output);
        st = out ? formats[i].write(t, out) : DNET_ERR_SYSTEM;
        if (out && subnet_output_close(out, o.output))
            st = DNET_ERR_SYSTEM;
        dnet_topo_free(t);
        return subnet_exit(st);
    }
    dnet_error("--format %s: expected ibsim, dot or svg", o.format);
    return SUBNET_EXIT_USAGE;
}
