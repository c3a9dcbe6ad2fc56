/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the switches and links of a picture lie: meshes and tori on their grid, trees in layers,
 * two layers with more links than lines can show as a matrix, all others on a circle.
 */
#ifndef DNET_SUBNET_TOPO_LAYOUT_H
#define DNET_SUBNET_TOPO_LAYOUT_H

#include "subnet/topology/topo.h"

#define DNET_LAYOUT_DIMS 4

typedef enum {
    DNET_LAYOUT_GRID,
    DNET_LAYOUT_LAYERS,
    DNET_LAYOUT_MATRIX, /* rows: level 1, columns: level 0, a cell for each link */
    DNET_LAYOUT_CIRCLE,
} dnet_layout_kind_t;

typedef struct {
    double x, y;
} dnet_point_t;

typedef struct {
    dnet_point_t at; /* its middle */
    double width, height;
} dnet_box_t;

typedef struct {
    dnet_layout_kind_t kind;
    int dims[DNET_LAYOUT_DIMS]; /* of a grid; 0: there is none */
    bool wraps;                 /* a torus */
    bool named;                 /* switches and ports have room for their names */
    bool hosts;                 /* so have servers, each below its switch */
    double width, height;
    dnet_box_t *box;    /* [switch]; of a matrix the label */
    dnet_point_t *end;  /* [channel] where it leaves its switch */
    dnet_point_t *bend; /* [link] control point of its curve; of a matrix the cell */
} dnet_layout_t;

/** Lay out a topology, links out of service included; dnet_layout_free() frees what is in it, also
 * after a failure.  @return DNET_OK; ERR_NO_MEMORY, logged */
dnet_status_t dnet_layout_make(const dnet_topo_t *t, dnet_layout_t *layout);

/** Free the arrays of a layout. */
void dnet_layout_free(dnet_layout_t *layout);

/** Pixels that a text of the picture is wide. */
double dnet_layout_text_width(const char *text);

/* Measures, pixels. */
#define DNET_LAYOUT_TOP 44.0    /* the title */
#define DNET_LAYOUT_SERVER 62.0 /* a server's name below its switch */
#define DNET_LAYOUT_CELL 16.0   /* of a matrix */

#endif
