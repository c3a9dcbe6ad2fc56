/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SVG pictures of topologies: the title, links with the ports at both ends, switches, servers, a
 * legend of what is drawn.  A part's <title> says all that is known of it.
 */
#include "subnet/topology/topo_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEGEND 34.0
#define NARROWEST 760.0 /* the legend */
#define SHADES 5
#define CUT "#d62728"
#define SLOW "#ff7f0e"
#define PLAIN "#8a94a3"

/* From little to much. */
static const char *const shades[SHADES] = {"#c9d6ea", "#8fb3dc", "#4a8cc9", "#7b4fb0", "#b0104c"};

typedef struct {
    const dnet_topo_t *t;
    const dnet_topo_load_t *load;
    dnet_layout_t is;
    double most; /* the largest load */
    FILE *out;
} picture_t;

static void put_text(const char *text, FILE *out)
{
    for (; *text; text++)
        switch (*text) {
            case '&':
                fputs("&amp;", out);
                break;
            case '<':
                fputs("&lt;", out);
                break;
            case '>':
                fputs("&gt;", out);
                break;
            default:
                putc(*text, out);
        }
}

/* Text at a point: `how` says anchor, size, turn and so on, as attributes. */
static void text_at(const picture_t *p, double x, double y, const char *how, const char *text)
{
    fprintf(p->out, "<text x='%.1f' y='%.1f' %s>", x, y, how);
    put_text(text, p->out);
    fputs("</text>\n", p->out);
}

/* ---- links ---- */

static bool is_cut(const dnet_topo_t *t, int l)
{
    const dnet_topo_link_t *link = &t->link[l];
    return link->down || t->sw[link->sw[0]].down || t->sw[link->sw[1]].down;
}

static bool is_slow(const dnet_topo_link_t *link)
{
    return link->gbps > 0 && link->gbps < link->nominal_gbps;
}

/* The more of its two directions. */
static double load_of(const picture_t *p, int l)
{
    return p->load ? fmax(p->load->of[2 * l], p->load->of[2 * l + 1]) : 0;
}

static const char *colour_of(const picture_t *p, int l)
{
    if (is_cut(p->t, l))
        return CUT;
    if (is_slow(&p->t->link[l]))
        return SLOW;
    if (!p->load)
        return PLAIN;
    double part = p->most > 0 ? load_of(p, l) / p->most : 0;
    int shade = (int) (part * SHADES);
    return shades[shade < SHADES ? shade : SHADES - 1];
}

/* What is known of a link. */
static void put_link_title(const picture_t *p, int l)
{
    const dnet_topo_link_t *link = &p->t->link[l];
    fputs("<title>", p->out);
    for (int d = 0; d < 2; d++) {
        put_text(p->t->sw[link->sw[d]].name, p->out);
        fprintf(p->out, " port %d%s", link->port[d], d ? "" : " - ");
    }
    if (link->rate.lanes)
        fprintf(p->out, ", %dx %s", link->rate.lanes, dnet_topo_speed(link->rate.lane_gbps));
    if (p->load)
        fprintf(p->out, ", %.3g %s, back %.3g", p->load->of[2 * l], p->load->unit,
                p->load->of[2 * l + 1]);
    fprintf(p->out, "%s</title>", is_cut(p->t, l) ? ", out of service" : "");
}

/* A port's number a little way along its link, or inside the box at its slot. */
static void put_port(const picture_t *p, int c)
{
    dnet_point_t e = p->is.end[c], bend = p->is.bend[c / 2];
    double dx = bend.x - e.x, dy = bend.y - e.y, length = hypot(dx, dy);
    char text[16];
    snprintf(text, sizeof(text), "%d", dnet_topo_out_port(p->t, c));
    if (p->is.kind == DNET_LAYOUT_LAYERS) {
        bool above = e.y < p->is.box[dnet_topo_tail(p->t, c)].at.y;
        text_at(p, e.x, e.y + (above ? 8.5 : -3), "class='port'", text);
    } else if (length > 0) {
        double along = fmin(11, 0.6 * length) / length;
        text_at(p, e.x + dx * along, e.y + dy * along + 2.5, "class='port halo'", text);
    }
}

static void draw_line(const picture_t *p, int l)
{
    dnet_point_t a = p->is.end[2 * l], b = p->is.end[2 * l + 1], m = p->is.bend[l];
    double part = p->most > 0 ? load_of(p, l) / p->most : 0;
    bool cut = is_cut(p->t, l);
    fprintf(
        p->out, "<path d='M%.1f %.1fQ%.1f %.1f %.1f %.1f' stroke='%s' stroke-width='%.1f'%s%s>",
        a.x, a.y, 2 * m.x - (a.x + b.x) / 2, 2 * m.y - (a.y + b.y) / 2, b.x, b.y, colour_of(p, l),
        cut || is_slow(&p->t->link[l]) ? 2.0
        : p->load                      ? 0.8 + 2.4 * part
                                       : 1.0,
        cut ? " stroke-dasharray='5 3'" : "", p->is.named || cut ? "" : " stroke-opacity='0.35'");
    put_link_title(p, l);
    fputs("</path>\n", p->out);
}

static void draw_cell(const picture_t *p, int l)
{
    double x = p->is.bend[l].x, y = p->is.bend[l].y, half = DNET_LAYOUT_CELL / 2 - 1;
    bool cut = is_cut(p->t, l);
    fprintf(p->out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'>", x - half,
            y - half, 2 * half, 2 * half,
            cut       ? "white"
            : p->load ? colour_of(p, l)
                      : "#c3ccd8");
    put_link_title(p, l);
    fputs("</rect>\n", p->out);
    if (cut)
        fprintf(p->out,
                "<path d='M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f' stroke='" CUT
                "' stroke-width='2.5'/>\n",
                x - half, y - half, 2 * half, 2 * half, -2 * half, -2 * half, 2 * half);
    else if (is_slow(&p->t->link[l]))
        fprintf(p->out, "<circle cx='%.1f' cy='%.1f' r='4' fill='" SLOW "'/>\n", x, y);
}

/* What is sick is drawn last, above the others. */
static void draw_links(const picture_t *p)
{
    for (int sick = 0; sick < 2; sick++)
        for (int l = 0; l < p->t->n_links; l++) {
            if ((is_cut(p->t, l) || is_slow(&p->t->link[l])) != sick)
                continue;
            if (p->is.kind == DNET_LAYOUT_MATRIX)
                draw_cell(p, l);
            else
                draw_line(p, l);
        }
}

/* ---- switches and servers ---- */

static int cut_off_at(const dnet_topo_t *t, int s)
{
    int n = 0;
    for (int i = t->host_start[s]; i < t->host_start[s + 1]; i++)
        n += t->host[t->host_of[i]].down || t->sw[s].down;
    return n;
}

/* "H00001", "16 servers" or "1 of 16 cut"; "": it has none. */
static void put_servers(const dnet_topo_t *t, int s, char *text, size_t bytes)
{
    int n = t->sw[s].hosts, cut = cut_off_at(t, s);
    if (n == 0)
        *text = 0;
    else if (cut)
        snprintf(text, bytes, "%d of %d cut", cut, n);
    else if (n == 1)
        snprintf(text, bytes, "%s", t->host[t->host_of[t->host_start[s]]].name);
    else
        snprintf(text, bytes, "%d servers", n);
}

/* The servers of a switch hang below it, in the slots behind its links downwards. */
static void draw_servers(const picture_t *p, int s)
{
    const dnet_topo_t *t = p->t;
    const dnet_box_t *b = &p->is.box[s];
    double first = (t->sw[s].hosts - 1) / -2.0;
    for (int i = t->host_start[s]; i < t->host_start[s + 1]; i++) {
        const dnet_topo_host_t *h = &t->host[t->host_of[i]];
        double x = b->at.x + (first + i - t->host_start[s]) * 11, y = b->at.y + b->height / 2;
        bool cut = h->down || t->sw[s].down;
        char text[16], how[96];
        fprintf(p->out, "<path d='M%.1f %.1fv10' stroke='%s'%s/>\n", x, y, cut ? CUT : "#444",
                cut ? " stroke-dasharray='3 2' stroke-width='2'" : "");
        snprintf(text, sizeof(text), "%d", h->port);
        text_at(p, x, y - 3, "class='port'", text);
        snprintf(how, sizeof(how), "class='server' transform='rotate(90 %.1f %.1f)'%s", x - 3,
                 y + 13, cut ? " fill='" CUT "' text-decoration='line-through'" : "");
        text_at(p, x - 3, y + 13, how, h->name);
    }
}

static void draw_box(const picture_t *p, int s)
{
    const dnet_topo_switch_t *sw = &p->t->sw[s];
    const dnet_box_t *b = &p->is.box[s];
    char servers[64];
    put_servers(p->t, s, servers, sizeof(servers));
    fprintf(p->out,
            "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='3' fill='%s' stroke='%s'%s>"
            "<title>",
            b->at.x - b->width / 2, b->at.y - b->height / 2, b->width, b->height,
            sw->down ? "#f7dada" : "#e8f1fd", sw->down ? CUT : "#1f3b5c",
            sw->down ? " stroke-dasharray='5 3'" : "");
    put_text(sw->name, p->out);
    fprintf(p->out, ": %d servers, %d links%s</title></rect>\n", sw->hosts,
            dnet_topo_degree(p->t, s), sw->down ? ", out of service" : "");
    if (!p->is.named)
        return;
    bool below = p->is.hosts && p->is.kind == DNET_LAYOUT_LAYERS && sw->hosts && sw->level == 0;
    bool two = *servers && !below;
    text_at(p, b->at.x, b->at.y + (two ? -1 : 3.5), "text-anchor='middle'", sw->name);
    if (two)
        text_at(p, b->at.x, b->at.y + 10,
                cut_off_at(p->t, s) ? "class='small' fill='" CUT "'" : "class='small'", servers);
    if (below)
        draw_servers(p, s);
}

/* Rows and columns of a matrix. */
static void draw_label(const picture_t *p, int s)
{
    const dnet_box_t *b = &p->is.box[s];
    char servers[64], text[256], how[96];
    const char *colour = p->t->sw[s].down || cut_off_at(p->t, s) ? " fill='" CUT "'" : "";
    put_servers(p->t, s, servers, sizeof(servers));
    snprintf(text, sizeof(text), "%s%s%s", p->t->sw[s].name, *servers ? ": " : "", servers);
    if (p->t->sw[s].level) {
        snprintf(how, sizeof(how), "text-anchor='end'%s", colour);
        text_at(p, b->at.x - 6, b->at.y + 3.5, how, text);
    } else {
        snprintf(how, sizeof(how), "transform='rotate(90 %.1f %.1f)'%s", b->at.x - 3, b->at.y + 6,
                 colour);
        text_at(p, b->at.x - 3, b->at.y + 6, how, text);
    }
}

static void draw_switches(const picture_t *p)
{
    for (int s = 0; s < p->t->n_switches; s++)
        if (p->is.kind == DNET_LAYOUT_MATRIX)
            draw_label(p, s);
        else
            draw_box(p, s);
    for (int c = 0; p->is.named && p->is.kind != DNET_LAYOUT_MATRIX && c < dnet_topo_channels(p->t);
         c++)
        put_port(p, c);
}

/* ---- the legend ---- */

/* A line of a colour and what it means; returns where the next may begin. */
static double explain(const picture_t *p, double x, double y, const char *line, const char *text)
{
    fprintf(p->out, "<path d='M%.1f %.1fh22' %s/>\n", x, y - 3.5, line);
    text_at(p, x + 28, y, "", text);
    return x + 38 + dnet_layout_text_width(text);
}

static double explain_load(const picture_t *p, double x, double y)
{
    char text[96];
    for (int i = 0; i < SHADES; i++)
        fprintf(p->out, "<rect x='%.1f' y='%.1f' width='16' height='8' fill='%s'/>\n", x + 16 * i,
                y - 7.5, shades[i]);
    snprintf(text, sizeof(text), "load of a link, 0 to %.3g %s", p->most, p->load->unit);
    text_at(p, x + 16 * SHADES + 6, y, "", text);
    return x + 16 * SHADES + 6 + dnet_layout_text_width(text);
}

static void draw_legend(const picture_t *p, double y)
{
    const dnet_topo_t *t = p->t;
    int cut = 0, slow = 0;
    double x = 24;
    for (int l = 0; l < t->n_links; l++) {
        cut += is_cut(t, l);
        slow += !is_cut(t, l) && is_slow(&t->link[l]);
    }
    fputs("<g id='legend'>\n", p->out);
    x = p->load ? explain_load(p, x, y)
                : explain(p, x, y, "stroke='" PLAIN "' stroke-width='1.5'", "link");
    if (cut || dnet_topo_cut_off(t))
        x = explain(p, x, y, "stroke='" CUT "' stroke-width='2' stroke-dasharray='5 3'",
                    "out of service");
    if (slow)
        x = explain(p, x, y, "stroke='" SLOW "' stroke-width='2'", "below its full rate");
    if (p->is.kind == DNET_LAYOUT_MATRIX)
        text_at(
            p, x, y, "",
            "a square: the link of its row's and column's switch; its ports show when pointed at");
    else if (p->is.named)
        text_at(p, x, y, "", "small numbers: ports");
    fputs("</g>\n", p->out);
}

/* ---- the whole ---- */

static const char *const style =
    "<style>text{font:10px sans-serif}.title{font-size:14px}.port{font-size:7px;"
    "text-anchor:middle;fill:#444}.small,.server{font-size:8.5px}.small{text-anchor:middle}"
    ".halo{stroke:white;stroke-width:2.5px;paint-order:stroke}path{fill:none}</style>\n";

static void draw(picture_t *p)
{
    const dnet_topo_t *t = p->t;
    char title[256];
    snprintf(title, sizeof(title), "%s: %d switches, %d servers, %d links", t->name, t->n_switches,
             t->n_hosts, t->n_links);
    double width = fmax(p->is.width, fmax(48 + 1.3 * dnet_layout_text_width(title), NARROWEST));
    double height = p->is.height + LEGEND;
    fprintf(p->out,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
            "viewBox='0 0 %.0f %.0f'>\n%s<rect width='100%%' height='100%%' fill='white'/>\n",
            width, height, width, height, style);
    text_at(p, 24, 26, "class='title'", title);
    /* A picture smaller than its title stands in the middle. */
    fprintf(p->out, "<g transform='translate(%.0f 0)'>\n", (width - p->is.width) / 2);
    draw_links(p);
    draw_switches(p);
    fputs("</g>\n", p->out);
    draw_legend(p, height - 14);
    fputs("</svg>\n", p->out);
}

dnet_status_t dnet_topo_draw(const dnet_topo_t *t, const dnet_topo_load_t *load, FILE *out)
{
    picture_t p = {.t = t, .load = load, .out = out};
    dnet_status_t st = dnet_layout_make(t, &p.is);
    for (int l = 0; l < t->n_links && !st; l++)
        p.most = fmax(p.most, load_of(&p, l));
    if (!st)
        draw(&p);
    dnet_layout_free(&p.is);
    return st ? st : ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

dnet_status_t dnet_topo_write_svg(const dnet_topo_t *t, FILE *out)
{
    return dnet_topo_draw(t, NULL, out);
}
