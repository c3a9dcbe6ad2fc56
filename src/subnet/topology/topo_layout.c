/* SPDX-License-Identifier: BSD-3-Clause */
#include "subnet/topology/topo_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 24.0
#define LETTER 6.1 /* width of one, size 10 */
#define SLOT 11.0  /* a port's number on a box */
#define BOX_HEIGHT 30.0
#define DOT 9.0        /* a switch without its name */
#define LINES_MOST 200 /* links between two layers that lines can show */
#define CELLS_MOST 40000
#define SERVERS_MOST 128 /* that are drawn one by one */
#define WIDEST 6000.0    /* a picture with names */
#define AROUND 56.0      /* how far links around a torus bend at most */
#define LEAN 0.25        /* towards the middle of a circle, part of the way there */

double dnet_layout_text_width(const char *text)
{
    return (double) strlen(text) * LETTER;
}

/* ---- which kind ---- */

/* The links are those of a grid of these sizes, the switches numbered along it. */
static bool is_grid(const dnet_topo_t *t, const int *dims, bool *wraps_p)
{
    long steps = 0, around = 0, mesh = 0, torus = 0;
    for (int i = 0; i < DNET_LAYOUT_DIMS; i++) {
        mesh += (long) t->n_switches / dims[i] * (dims[i] - 1);
        torus += dims[i] > 2 ? t->n_switches / dims[i] : 0;
    }
    if (t->n_links != mesh && t->n_links != mesh + torus)
        return false;
    for (int l = 0; l < t->n_links; l++) {
        int a = t->link[l].sw[0], b = t->link[l].sw[1], differ = 0, distance = 0, size = 0;
        for (int i = 0; i < DNET_LAYOUT_DIMS; a /= dims[i], b /= dims[i], i++) {
            if (a % dims[i] == b % dims[i])
                continue;
            differ++;
            size = dims[i];
            distance = abs(a % dims[i] - b % dims[i]);
        }
        if (differ != 1 || (distance != 1 && distance != size - 1))
            return false;
        steps += distance == 1;
        around += distance != 1;
    }
    *wraps_p = around > 0;
    return steps == mesh && (around == 0 || around == torus);
}

/* Sizes of two to four dimensions that the links agree with. */
static bool find_grid(const dnet_topo_t *t, dnet_layout_t *y)
{
    int n = t->n_switches;
    for (int a = 2; a <= n / 2; a++)
        for (int b = 2; n % a == 0 && b <= n / a; b++)
            for (int c = 1; n / a % b == 0 && c <= n / a / b; c++) {
                int dims[DNET_LAYOUT_DIMS] = {a, b, c, n / a / b / c};
                if (n / a / b % c != 0 || (c == 1 && dims[3] != 1) || !is_grid(t, dims, &y->wraps))
                    continue;
                memcpy(y->dims, dims, sizeof(dims));
                return true;
            }
    return false;
}

static int top_level(const dnet_topo_t *t)
{
    int top = 0;
    for (int s = 0; s < t->n_switches; s++)
        top = t->sw[s].level > top ? t->sw[s].level : top;
    return top;
}

static int at_level(const dnet_topo_t *t, int level)
{
    int n = 0;
    for (int s = 0; s < t->n_switches; s++)
        n += t->sw[s].level == level;
    return n;
}

/* Two layers, every link between them, and more links than lines can show. */
static bool is_matrix(const dnet_topo_t *t, int top)
{
    if (top != 1 || t->n_links <= LINES_MOST || (long) at_level(t, 0) * at_level(t, 1) > CELLS_MOST)
        return false;
    for (int l = 0; l < t->n_links; l++)
        if (t->sw[t->link[l].sw[0]].level == t->sw[t->link[l].sw[1]].level)
            return false;
    return true;
}

/* ---- sizes ---- */

static double label_width(const dnet_topo_t *t, int s)
{
    double width = dnet_layout_text_width(t->sw[s].name), servers = 10 * LETTER;
    if (t->sw[s].hosts && width < servers)
        width = servers;
    return width + 12;
}

static double widest_label(const dnet_topo_t *t)
{
    double widest = 0;
    for (int s = 0; s < t->n_switches; s++)
        widest = fmax(widest, label_width(t, s));
    return widest;
}

/* ---- links of grids and circles ---- */

/* Where the line from the middle of a box towards a point leaves it. */
static dnet_point_t border(const dnet_box_t *b, dnet_point_t to)
{
    double dx = to.x - b->at.x, dy = to.y - b->at.y;
    double across = dx == 0 ? INFINITY : b->width / 2 / fabs(dx);
    double along = dy == 0 ? INFINITY : b->height / 2 / fabs(dy);
    double part = fmin(fmin(across, along), 1);
    return (dnet_point_t){b->at.x + part * dx, b->at.y + part * dy};
}

/* Links with the same ends as this one, before it. */
static int parallel_before(const dnet_topo_t *t, int l)
{
    const dnet_topo_link_t *link = &t->link[l];
    int n = 0;
    for (int port = 1; port <= t->sw[link->sw[0]].ports; port++) {
        int c;
        if (dnet_topo_wired(t, link->sw[0], port, &c) == DNET_PORT_CHANNEL && c / 2 < l &&
            dnet_topo_head(t, c) == link->sw[1])
            n++;
    }
    return n;
}

/* A link around a torus. */
static bool goes_around(const dnet_topo_t *t, const dnet_layout_t *y, int l)
{
    int a = t->link[l].sw[0], b = t->link[l].sw[1];
    for (int i = 0; i < DNET_LAYOUT_DIMS && y->kind == DNET_LAYOUT_GRID; i++) {
        if (abs(a % y->dims[i] - b % y->dims[i]) > 1)
            return true;
        a /= y->dims[i];
        b /= y->dims[i];
    }
    return false;
}

/* Straight but for parallel ones, and for those around a torus; those of a circle lean towards its
 * middle, away from the switches between their ends. */
static void place_links(const dnet_topo_t *t, dnet_layout_t *y, dnet_point_t middle)
{
    for (int l = 0; l < t->n_links; l++) {
        int from = t->link[l].sw[0], to = t->link[l].sw[1], apart = abs(from - to);
        const dnet_box_t *a = &y->box[from], *b = &y->box[to];
        double dx = b->at.x - a->at.x, dy = b->at.y - a->at.y, length = hypot(dx, dy);
        double out = 24.0 * parallel_before(t, l);
        dnet_point_t bend = {(a->at.x + b->at.x) / 2, (a->at.y + b->at.y) / 2};
        if (goes_around(t, y, l))
            out += fmin(AROUND, 0.3 * length);
        if (y->kind == DNET_LAYOUT_CIRCLE && apart > 1 && apart < t->n_switches - 1)
            bend = (dnet_point_t){bend.x + LEAN * (middle.x - bend.x),
                                  bend.y + LEAN * (middle.y - bend.y)};
        if (length > 0) /* to the left of a line downwards, above one to the right */
            bend =
                (dnet_point_t){bend.x - fabs(dy) / length * out, bend.y - fabs(dx) / length * out};
        y->bend[l] = bend;
        y->end[2 * l] = border(a, bend);
        y->end[2 * l + 1] = border(b, bend);
    }
}

/* ---- a grid ---- */

/* The third dimension goes backwards in each place, the fourth to copies side by side. */
static void place_grid(const dnet_topo_t *t, dnet_layout_t *y)
{
    double box = y->named ? widest_label(t) : DOT, height = y->named ? BOX_HEIGHT : DOT;
    double back_x = y->dims[2] > 1 ? box * 0.62 : 0, back_y = y->dims[2] > 1 ? height * 1.8 : 0;
    double cell_x = box + 64 + back_x * (y->dims[2] - 1);
    double cell_y = height + 60 + back_y * (y->dims[2] - 1), left = MARGIN + (y->wraps ? 30 : 0);
    double top = DNET_LAYOUT_TOP + (y->wraps ? AROUND : 10);
    double plane = cell_x * y->dims[0] + 40;
    for (int s = 0; s < t->n_switches; s++) {
        int i = s % y->dims[0], j = s / y->dims[0] % y->dims[1];
        int k = s / y->dims[0] / y->dims[1] % y->dims[2],
            m = s / y->dims[0] / y->dims[1] / y->dims[2];
        y->box[s] = (dnet_box_t){{left + box / 2 + cell_x * i + back_x * k + plane * m,
                                  top + height / 2 + cell_y * j + back_y * (y->dims[2] - 1 - k)},
                                 box,
                                 height};
    }
    y->width = left + plane * y->dims[3] + MARGIN - 40;
    y->height = top + cell_y * y->dims[1] - 36;
    place_links(t, y, (dnet_point_t){0, 0});
}

/* ---- a circle ---- */

static void place_circle(const dnet_topo_t *t, dnet_layout_t *y)
{
    double box = y->named ? widest_label(t) : DOT, height = y->named ? BOX_HEIGHT : DOT;
    double radius = fmax(t->n_switches * (box + 14) / (2 * M_PI), 1.3 * box);
    y->width = 2 * (radius + box / 2 + MARGIN);
    y->height = DNET_LAYOUT_TOP + 2 * radius + height + MARGIN;
    for (int s = 0; s < t->n_switches; s++) {
        double angle = 2 * M_PI * s / t->n_switches - M_PI / 2;
        y->box[s] = (dnet_box_t){{y->width / 2 + radius * cos(angle),
                                  DNET_LAYOUT_TOP + height / 2 + radius * (1 + sin(angle))},
                                 box,
                                 height};
    }
    place_links(t, y, (dnet_point_t){y->width / 2, DNET_LAYOUT_TOP + height / 2 + radius});
}

/* ---- layers ---- */

/* An end of a link, at the upper or lower side of its box, in the order of where it leads. */
typedef struct {
    int sw, channel;
    bool below;
    double to;
} slot_t;

static int by_place(const void *a, const void *b)
{
    const slot_t *x = a, *y = b;
    if (x->sw != y->sw)
        return x->sw - y->sw;
    if (x->below != y->below)
        return x->below - y->below;
    return x->to != y->to ? (x->to > y->to) - (x->to < y->to) : x->channel - y->channel;
}

static bool leads_down(const dnet_topo_t *t, int channel)
{
    return t->sw[dnet_topo_head(t, channel)].level < t->sw[dnet_topo_tail(t, channel)].level;
}

/* A box has room for its name, and for the ports of either side. */
static void size_boxes(const dnet_topo_t *t, dnet_layout_t *y, int *ports)
{
    memset(ports, 0, 2 * (size_t) t->n_switches * sizeof(*ports));
    for (int c = 0; c < dnet_topo_channels(t); c++)
        ports[2 * dnet_topo_tail(t, c) + leads_down(t, c)]++;
    for (int s = 0; s < t->n_switches; s++) {
        int below = ports[2 * s + 1] + (y->hosts ? t->sw[s].hosts : 0);
        int most = ports[2 * s] > below ? ports[2 * s] : below;
        y->box[s].width = y->named ? fmax(label_width(t, s), most * SLOT + 8) : DOT;
        y->box[s].height = y->named ? BOX_HEIGHT + 14 : DOT;
    }
}

static double row_width(const dnet_topo_t *t, const dnet_layout_t *y, int level)
{
    double width = 0;
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].level == level)
            width += y->box[s].width + (y->named ? 16 : 6);
    return width;
}

/* Rows by level, each spread over the width of the widest; joined trees stand side by side because
 * their switches are numbered one tree after the other. */
static void place_rows(const dnet_topo_t *t, dnet_layout_t *y, int top)
{
    double widest = 0;
    for (int level = 0; level <= top; level++)
        widest = fmax(widest, row_width(t, y, level));
    double apart = fmin(fmax(130, widest * 0.16), 420);
    y->width = widest + 2 * MARGIN;
    y->height =
        DNET_LAYOUT_TOP + BOX_HEIGHT * 2 + apart * top + (y->hosts ? DNET_LAYOUT_SERVER : 0);
    for (int level = 0; level <= top; level++) {
        int n = at_level(t, level);
        double gap = (widest - row_width(t, y, level)) / (n ? n : 1), x = MARGIN;
        for (int s = 0; s < t->n_switches; s++) {
            if (t->sw[s].level != level)
                continue;
            double room = y->box[s].width + (y->named ? 16 : 6) + gap;
            y->box[s].at =
                (dnet_point_t){x + room / 2, DNET_LAYOUT_TOP + BOX_HEIGHT + apart * (top - level)};
            x += room;
        }
    }
}

/* Each end gets a slot of its box; without names they all start in the middle. */
static dnet_status_t place_ends(const dnet_topo_t *t, dnet_layout_t *y, const int *ports)
{
    int n = dnet_topo_channels(t);
    slot_t *slot = dnet_subnet_alloc((size_t) n, sizeof(*slot));
    if (!slot)
        return DNET_ERR_NO_MEMORY;
    for (int c = 0; c < n; c++)
        slot[c] =
            (slot_t){dnet_topo_tail(t, c), c, leads_down(t, c), y->box[dnet_topo_head(t, c)].at.x};
    if (n)
        qsort(slot, (size_t) n, sizeof(*slot), by_place);
    for (int i = 0, k = 0; i < n; i++) {
        const dnet_box_t *b = &y->box[slot[i].sw];
        k = i && slot[i - 1].sw == slot[i].sw && slot[i - 1].below == slot[i].below ? k + 1 : 0;
        double count = ports[2 * slot[i].sw + slot[i].below];
        double side = slot[i].below ? b->height / 2 : -b->height / 2;
        y->end[slot[i].channel] =
            y->named ? (dnet_point_t){b->at.x + (k - (count - 1) / 2) * SLOT, b->at.y + side}
                     : b->at;
    }
    free(slot);
    for (int l = 0; l < t->n_links; l++) {
        dnet_point_t a = y->end[2 * l], b = y->end[2 * l + 1];
        bool level = t->sw[t->link[l].sw[0]].level == t->sw[t->link[l].sw[1]].level;
        double up = level ? 20 + 0.12 * fabs(a.x - b.x) : 0;
        y->bend[l] = (dnet_point_t){(a.x + b.x) / 2, (a.y + b.y) / 2 - fmin(up, 90)};
    }
    return DNET_OK;
}

static dnet_status_t place_layers(const dnet_topo_t *t, dnet_layout_t *y, int top)
{
    int *ports = dnet_subnet_alloc(2 * (size_t) t->n_switches, sizeof(*ports));
    if (!ports)
        return DNET_ERR_NO_MEMORY;
    y->named = true;
    y->hosts = t->n_hosts <= SERVERS_MOST;
    size_boxes(t, y, ports);
    for (int level = 0; level <= top; level++)
        y->named &= row_width(t, y, level) <= WIDEST;
    if (!y->named) {
        y->hosts = false;
        size_boxes(t, y, ports);
    }
    place_rows(t, y, top);
    dnet_status_t st = place_ends(t, y, ports);
    free(ports);
    return st;
}

/* ---- a matrix ---- */

static void place_matrix(const dnet_topo_t *t, dnet_layout_t *y)
{
    double label = widest_label(t);
    int row = 0, column = 0;
    double left = MARGIN + label + 8;
    y->named = true;
    for (int s = 0; s < t->n_switches; s++)
        y->box[s] =
            t->sw[s].level
                ? (dnet_box_t){{left, DNET_LAYOUT_TOP + (row++ + 0.5) * DNET_LAYOUT_CELL}, label, 0}
                : (dnet_box_t){{left + (column++ + 0.5) * DNET_LAYOUT_CELL, 0}, 0, label};
    y->width = left + column * DNET_LAYOUT_CELL + MARGIN;
    y->height = DNET_LAYOUT_TOP + row * DNET_LAYOUT_CELL + label + 8 * LETTER + 24;
    for (int s = 0; s < t->n_switches; s++)
        if (!t->sw[s].level)
            y->box[s].at.y = DNET_LAYOUT_TOP + row * DNET_LAYOUT_CELL;
    for (int l = 0; l < t->n_links; l++) {
        int up = t->sw[t->link[l].sw[0]].level ? 0 : 1;
        y->bend[l] =
            (dnet_point_t){y->box[t->link[l].sw[!up]].at.x, y->box[t->link[l].sw[up]].at.y};
        y->end[2 * l] = y->end[2 * l + 1] = y->bend[l];
    }
}

dnet_status_t dnet_layout_make(const dnet_topo_t *t, dnet_layout_t *y)
{
    int top = top_level(t);
    *y = (dnet_layout_t){
        .box = dnet_subnet_alloc((size_t) t->n_switches, sizeof(*y->box)),
        .end = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(*y->end)),
        .bend = dnet_subnet_alloc((size_t) t->n_links, sizeof(*y->bend)),
    };
    if (!y->box || !y->end || !y->bend)
        return DNET_ERR_NO_MEMORY;
    y->kind = is_matrix(t, top) ? DNET_LAYOUT_MATRIX
              : top             ? DNET_LAYOUT_LAYERS
              : find_grid(t, y) ? DNET_LAYOUT_GRID
                                : DNET_LAYOUT_CIRCLE;
    y->named = t->n_switches <= (y->kind == DNET_LAYOUT_GRID ? 400 : 120);
    switch (y->kind) {
        case DNET_LAYOUT_GRID:
            place_grid(t, y);
            return DNET_OK;
        case DNET_LAYOUT_LAYERS:
            return place_layers(t, y, top);
        case DNET_LAYOUT_MATRIX:
            place_matrix(t, y);
            return DNET_OK;
        case DNET_LAYOUT_CIRCLE:
            place_circle(t, y);
            return DNET_OK;
    }
    return DNET_OK;
}

void dnet_layout_free(dnet_layout_t *y)
{
    free(y->box);
    free(y->end);
    free(y->bend);
}
