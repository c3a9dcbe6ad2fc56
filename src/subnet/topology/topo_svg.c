/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SVG pictures of topologies: trees by level, anything else on a circle; servers as ticks below or
 * outside their switch, links out of service dashed.  Switch names show while they fit.
 */
#include "subnet/topology/topo.h"

#include "common/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 40, LEVEL_HEIGHT = 130, SLOT_WIDTH = 26, NAMED_UP_TO = 64 };

typedef struct place {
    double x, y;
} place_t;

/* Rows by level, each spread over the width of the widest; joined trees stand side by side because
 * their switches are numbered one tree after the other. */
static void place_levels(const dnet_topo_t *t, int top, place_t *at, double *width, double *height)
{
    int widest = 1;
    for (int level = 0; level <= top; level++) {
        int n = 0;
        for (int s = 0; s < t->n_switches; s++)
            n += t->sw[s].level == level;
        widest = n > widest ? n : widest;
    }
    *width = 2 * MARGIN + (double) widest * SLOT_WIDTH;
    *height = 2 * MARGIN + (double) top * LEVEL_HEIGHT + 40;
    for (int level = 0; level <= top; level++) {
        int n = 0, i = 0;
        for (int s = 0; s < t->n_switches; s++)
            n += t->sw[s].level == level;
        for (int s = 0; s < t->n_switches; s++)
            if (t->sw[s].level == level)
                at[s] = (place_t){MARGIN + (i++ + 0.5) * widest * SLOT_WIDTH / n,
                                  MARGIN + (double) (top - level) * LEVEL_HEIGHT};
    }
}

static void place_circle(const dnet_topo_t *t, place_t *at, double *width, double *height)
{
    double radius = t->n_switches * SLOT_WIDTH / (2 * M_PI);
    if (radius < 120)
        radius = 120;
    *width = *height = 2 * (radius + MARGIN + 20);
    for (int s = 0; s < t->n_switches; s++) {
        double angle = 2 * M_PI * s / t->n_switches - M_PI / 2;
        at[s] = (place_t){*width / 2 + radius * cos(angle), *width / 2 + radius * sin(angle)};
    }
}

static void draw_switch(const dnet_topo_t *t, int s, const place_t *at, place_t centre, bool tree,
                        FILE *out)
{
    const dnet_topo_switch_t *sw = &t->sw[s];
    double dx = at[s].x - centre.x, dy = at[s].y - centre.y, r = sqrt(dx * dx + dy * dy);
    double ux = tree || r == 0 ? 0 : dx / r, uy = tree || r == 0 ? 1 : dy / r;
    for (int h = 0; h < sw->hosts; h++) {
        double off = (h - (sw->hosts - 1) / 2.0) * (SLOT_WIDTH - 6.0) / (sw->hosts + 1);
        double x = at[s].x - uy * off, y = at[s].y + ux * off;
        fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#666'/>\n", x + ux * 8,
                y + uy * 8, x + ux * 16, y + uy * 16);
    }
    fprintf(out,
            "<circle cx='%.1f' cy='%.1f' r='8' fill='%s' stroke='#222'><title>%s: %d servers, "
            "%d links</title></circle>\n",
            at[s].x, at[s].y, sw->down ? "#ddd" : "#9cf", sw->name, sw->hosts,
            dnet_topo_degree(t, s));
    if (t->n_switches <= NAMED_UP_TO)
        fprintf(out, "<text x='%.1f' y='%.1f' transform='rotate(-35 %.1f %.1f)'>%s</text>\n",
                at[s].x + 8, at[s].y - 9, at[s].x + 8, at[s].y - 9, sw->name);
}

dnet_status_t dnet_topo_write_svg(const dnet_topo_t *t, FILE *out)
{
    place_t *at = dnet_subnet_alloc((size_t) t->n_switches, sizeof(*at));
    double width, height;
    int top = 0;
    if (!at)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++)
        top = t->sw[s].level > top ? t->sw[s].level : top;
    if (top)
        place_levels(t, top, at, &width, &height);
    else
        place_circle(t, at, &width, &height);
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
            "font-family='sans-serif' font-size='9'>\n<rect width='100%%' height='100%%' "
            "fill='white'/>\n<text x='10' y='16' font-size='12'>%s: %d switches, %d servers, %d "
            "links</text>\n",
            width, height, t->name, t->n_switches, t->n_hosts, t->n_links);
    for (int l = 0; l < t->n_links; l++) {
        const place_t *a = &at[t->link[l].sw[0]], *b = &at[t->link[l].sw[1]];
        bool joins = t->sw[t->link[l].sw[0]].tree != t->sw[t->link[l].sw[1]].tree;
        fprintf(out,
                "<path d='M%.1f %.1fQ%.1f %.1f %.1f %.1f' fill='none' stroke='%s' "
                "stroke-width='0.8'%s/>\n",
                a->x, a->y, (a->x + b->x) / 2, (a->y + b->y) / 2 + (a->y == b->y ? 30 : 0), b->x,
                b->y, joins ? "#c33" : "#888", t->link[l].down ? " stroke-dasharray='3 3'" : "");
    }
    for (int s = 0; s < t->n_switches; s++)
        draw_switch(t, s, at, (place_t){width / 2, height / 2}, top > 0, out);
    fprintf(out, "</svg>\n");
    free(at);
    if (!ferror(out))
        return DNET_OK;
    dnet_error("subnet: writing the picture of %s failed: %s", t->name, strerror(errno));
    return DNET_ERR_SYSTEM;
}
