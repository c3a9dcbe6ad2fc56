/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steady heat in a plate: letters are heated, the lower edge is kept warm, the other edges are
 * cold, and the plate loses heat to the air.  On a grid with spacing 1
 *
 *     loss * u - (u_left + u_right + u_up + u_down - 4 u) = heat
 *
 * is solved by the conjugate gradient method.  The grid is divided into blocks, one a rank;
 * neighbours exchange their edges (columns with a strided type) in each iteration, and dot products
 * are summed over all ranks.  Rank 0 then solves the whole problem alone, and the two answers are
 * compared.
 *
 *   heat [PICTURE.png]
 */
#include "png.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 576, NY = 256, LETTER = 8, MOST_ITERATIONS = 4000 };

static const double loss = 1.0 / (8.0 * 8.0); /* heat fades over 8 cells */
static const double tolerance = 1e-11;

/* 5 x 7 pixels a letter, top row first, leftmost pixel in bit 4. */
static const struct {
    char letter;
    unsigned char rows[7];
} font[] = {
    {'D', {0x1e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1e}},
    {'I', {0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'M', {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}},
    {'n', {0x00, 0x00, 0x16, 0x19, 0x11, 0x11, 0x11}},
    {'e', {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e}},
    {'t', {0x08, 0x08, 0x1c, 0x08, 0x08, 0x09, 0x06}},
    {'-', {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00}},
    {'2', {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}},
};
static const char text[] = "DIMMnet-2";

static double heat_at(int x, int y)
{
    int width = (6 * (int) strlen(text) - 1) * LETTER;
    int column = x - (NX - width) / 2, row = y - (NY - 7 * LETTER) / 2 + 16;
    if (column < 0 || row < 0 || column >= width || row >= 7 * LETTER)
        return 0;
    char letter = text[column / LETTER / 6];
    int bit = 4 - column / LETTER % 6;
    for (size_t i = 0; bit >= 0 && i < sizeof(font) / sizeof(*font); i++)
        if (font[i].letter == letter)
            return (font[i].rows[row / LETTER] >> bit & 1) * 0.05;
    return 0;
}

/* Temperature of the lower edge, two waves. */
static double edge_at(int x)
{
    double s = sin(2 * M_PI * (x + 0.5) / NX);
    return 1.4 * s * s;
}

/* A rank's block: nx x ny cells and a border of one cell all around. */
typedef struct {
    MPI_Comm comm;
    int rank, left, right, up, down;
    int x0, y0, nx, ny, pitch;
    MPI_Datatype column;
    double *u, *r, *p, *q;
} block_t;

static double *field_new(const block_t *b)
{
    double *f = calloc((size_t) b->pitch * (b->ny + 2), sizeof(double));
    if (!f)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return f;
}

static double *cell(const block_t *b, double *f, int x, int y)
{
    return f + (size_t) (y + 1) * b->pitch + x + 1;
}

static void block_make(block_t *b, MPI_Comm comm)
{
    int size, dims[2] = {0, 0}, periods[2] = {0, 0}, at[2];
    MPI_Comm_size(comm, &size);
    MPI_Dims_create(size, 2, dims); /* rows, columns of blocks */
    MPI_Cart_create(comm, 2, dims, periods, 1, &b->comm);
    MPI_Comm_rank(b->comm, &b->rank);
    MPI_Cart_coords(b->comm, b->rank, 2, at);
    MPI_Cart_shift(b->comm, 0, 1, &b->up, &b->down);
    MPI_Cart_shift(b->comm, 1, 1, &b->left, &b->right);
    b->x0 = NX * at[1] / dims[1];
    b->y0 = NY * at[0] / dims[0];
    b->nx = NX * (at[1] + 1) / dims[1] - b->x0;
    b->ny = NY * (at[0] + 1) / dims[0] - b->y0;
    b->pitch = b->nx + 2;
    MPI_Type_vector(b->ny, 1, b->pitch, MPI_DOUBLE, &b->column);
    MPI_Type_commit(&b->column);
    b->u = field_new(b);
    b->r = field_new(b);
    b->p = field_new(b);
    b->q = field_new(b);
}

static void block_free(block_t *b)
{
    free(b->u);
    free(b->r);
    free(b->p);
    free(b->q);
    MPI_Type_free(&b->column);
    MPI_Comm_free(&b->comm);
}

static void exchange_edges(const block_t *b, double *f)
{
    MPI_Request requests[8];
    int n = b->nx, m = b->ny;
    MPI_Irecv(cell(b, f, 0, -1), n, MPI_DOUBLE, b->up, 0, b->comm, &requests[0]);
    MPI_Irecv(cell(b, f, 0, m), n, MPI_DOUBLE, b->down, 1, b->comm, &requests[1]);
    MPI_Irecv(cell(b, f, -1, 0), 1, b->column, b->left, 2, b->comm, &requests[2]);
    MPI_Irecv(cell(b, f, n, 0), 1, b->column, b->right, 3, b->comm, &requests[3]);
    MPI_Isend(cell(b, f, 0, m - 1), n, MPI_DOUBLE, b->down, 0, b->comm, &requests[4]);
    MPI_Isend(cell(b, f, 0, 0), n, MPI_DOUBLE, b->up, 1, b->comm, &requests[5]);
    MPI_Isend(cell(b, f, n - 1, 0), 1, b->column, b->right, 2, b->comm, &requests[6]);
    MPI_Isend(cell(b, f, 0, 0), 1, b->column, b->left, 3, b->comm, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static double dot(const block_t *b, double *f, double *g)
{
    double sum = 0, all;
    for (int y = 0; y < b->ny; y++) {
        const double *s = cell(b, f, 0, y), *t = cell(b, g, 0, y);
        for (int x = 0; x < b->nx; x++)
            sum += s[x] * t[x];
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, b->comm);
    return all;
}

/* q = A p */
static void apply(const block_t *b)
{
    exchange_edges(b, b->p);
    for (int y = 0; y < b->ny; y++) {
        const double *p = cell(b, b->p, 0, y);
        double *q = cell(b, b->q, 0, y);
        for (int x = 0; x < b->nx; x++)
            q[x] = (4 + loss) * p[x] - p[x - 1] - p[x + 1] - p[x - b->pitch] - p[x + b->pitch];
    }
}

/* f += a g */
static void add(const block_t *b, double *f, double a, double *g)
{
    for (int y = 0; y < b->ny; y++) {
        double *s = cell(b, f, 0, y);
        const double *t = cell(b, g, 0, y);
        for (int x = 0; x < b->nx; x++)
            s[x] += a * t[x];
    }
}

static void show(int iteration, double residual)
{
    int done = (int) (40 * log10(residual) / log10(tolerance));
    done = done < 0 ? 0 : done > 40 ? 40 : done;
    printf("  iteration %4d  residual %8.2e  [%.*s%.*s]\n", iteration, residual, done,
           "########################################", 40 - done,
           "........................................");
    fflush(stdout);
}

/* Returns the number of iterations. */
static int solve(block_t *b, int verbose)
{
    for (int y = 0; y < b->ny; y++)
        for (int x = 0; x < b->nx; x++) {
            double edge = b->y0 + y == NY - 1 ? edge_at(b->x0 + x) : 0;
            *cell(b, b->r, x, y) = *cell(b, b->p, x, y) = heat_at(b->x0 + x, b->y0 + y) + edge;
        }
    double rho = dot(b, b->r, b->r), first = rho;
    int i = 0;
    while (i < MOST_ITERATIONS && sqrt(rho / first) > tolerance) {
        if (verbose && i % 50 == 0)
            show(i, sqrt(rho / first));
        apply(b);
        double alpha = rho / dot(b, b->p, b->q);
        add(b, b->u, alpha, b->p);
        add(b, b->r, -alpha, b->q);
        double next = dot(b, b->r, b->r), beta = next / rho;
        for (int y = 0; y < b->ny; y++) {
            double *p = cell(b, b->p, 0, y);
            const double *r = cell(b, b->r, 0, y);
            for (int x = 0; x < b->nx; x++)
                p[x] = r[x] + beta * p[x];
        }
        rho = next;
        i++;
    }
    if (verbose)
        show(i, sqrt(rho / first));
    return i;
}

/* All blocks to rank 0, which receives each straight into its place. */
static void gather(const block_t *b, double *field)
{
    int place[4] = {b->x0, b->y0, b->nx, b->ny}, size;
    MPI_Datatype inner;
    MPI_Request requests[2];
    MPI_Type_create_subarray(2, (int[]){b->ny + 2, b->pitch}, (int[]){b->ny, b->nx}, (int[]){1, 1},
                             MPI_ORDER_C, MPI_DOUBLE, &inner);
    MPI_Type_commit(&inner);
    MPI_Isend(place, 4, MPI_INT, 0, 10, b->comm, &requests[0]);
    MPI_Isend(b->u, 1, inner, 0, 11, b->comm, &requests[1]);
    MPI_Comm_size(b->comm, &size);
    for (int r = 0; b->rank == 0 && r < size; r++) {
        int at[4];
        MPI_Datatype part;
        MPI_Recv(at, 4, MPI_INT, r, 10, b->comm, MPI_STATUS_IGNORE);
        MPI_Type_create_subarray(2, (int[]){NY, NX}, (int[]){at[3], at[2]}, (int[]){at[1], at[0]},
                                 MPI_ORDER_C, MPI_DOUBLE, &part);
        MPI_Type_commit(&part);
        MPI_Recv(field, 1, part, r, 11, b->comm, MPI_STATUS_IGNORE);
        MPI_Type_free(&part);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&inner);
}

/* Dark blue, violet, red, orange, pale yellow. */
static void colour_of(double t, uint8_t *rgb)
{
    static const double stops[][3] = {{8, 10, 40},    {60, 18, 110},  {140, 35, 120}, {210, 60, 80},
                                      {245, 120, 40}, {252, 190, 60}, {255, 250, 210}};
    const int last = sizeof(stops) / sizeof(*stops) - 1;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    int k = (int) (t * last);
    k = k == last ? last - 1 : k;
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t) (stops[k][c] + (t * last - k) * (stops[k + 1][c] - stops[k][c]) + 0.5);
}

/* Two pixels a cell each way, interpolated, with lines of equal temperature. */
static int draw(const double *field, const char *path)
{
    enum { W = 2 * NX, H = 2 * NY, LINES = 14 };
    uint8_t *rgb = malloc(3 * W * H);
    double *t = malloc(sizeof(double) * W * H), most = 0;
    if (!rgb || !t)
        return -1;
    for (int i = 0; i < NX * NY; i++)
        most = field[i] > most ? field[i] : most;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            double fx = x / 2.0 - 0.25, fy = y / 2.0 - 0.25;
            int i = (int) floor(fx), j = (int) floor(fy);
            i = i < 0 ? 0 : i > NX - 2 ? NX - 2 : i;
            j = j < 0 ? 0 : j > NY - 2 ? NY - 2 : j;
            const double *f = field + (size_t) j * NX + i;
            double a = fx - i, b = fy - j;
            t[y * W + x] =
                ((1 - b) * ((1 - a) * f[0] + a * f[1]) + b * ((1 - a) * f[NX] + a * f[NX + 1])) /
                most;
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            uint8_t *pixel = rgb + 3 * (y * W + x);
            double here = sqrt(fabs(t[y * W + x])); /* shows the cool parts too */
            double right = x + 1 < W ? sqrt(fabs(t[y * W + x + 1])) : here;
            double below = y + 1 < H ? sqrt(fabs(t[(y + 1) * W + x])) : here;
            colour_of(here, pixel);
            int line = (int) (here * LINES);
            if (line != (int) (right * LINES) || line != (int) (below * LINES))
                for (int c = 0; c < 3; c++)
                    pixel[c] = (uint8_t) (pixel[c] * 0.8);
        }
    int result = png_write(path, rgb, W, H);
    free(t);
    free(rgb);
    return result;
}

/* What this process sent through its NIC, from MPI_T. */
static void show_counters(int rank, int size)
{
    static const char *const names[] = {
        "dimmnet_botf",          "dimmnet_ipush",      "dimmnet_rvs",  "dimmnet_vl",
        "dimmnet_sent_messages", "dimmnet_sent_bytes", "dimmnet_stop", "dimmnet_resend"};
    enum { NAMES = sizeof(names) / sizeof(*names) };
    unsigned long long values[NAMES] = {0};
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < NAMES; i++) {
        MPI_T_pvar_handle handle;
        int index, count;
        if (MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
            continue;
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
        MPI_T_pvar_read(session, handle, &values[i]);
    }
    MPI_T_pvar_session_free(&session);
    unsigned long long *all = malloc(size * sizeof(values));
    MPI_Gather(values, NAMES, MPI_UNSIGNED_LONG_LONG, all, NAMES, MPI_UNSIGNED_LONG_LONG, 0,
               MPI_COMM_WORLD);
    if (rank == 0) {
        printf("\nMPI_T variables by rank:\n%-24s", "");
        for (int r = 0; r < size; r++)
            printf(" %12s%d", "rank ", r);
        for (int i = 0; i < NAMES; i++) {
            printf("\n%-24s", names[i]);
            for (int r = 0; r < size; r++)
                printf(" %13llu", all[r * NAMES + i]);
        }
        printf("\n");
    }
    free(all);
}

int main(int argc, char **argv)
{
    int rank, size, provided, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    block_t b;
    double *field = malloc(sizeof(double) * NX * NY);
    block_make(&b, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d x %d cells on %d ranks, conjugate gradients to a residual of %g\n", NX, NY, size,
               tolerance);
    double start = MPI_Wtime();
    int iterations = solve(&b, rank == 0);
    double parallel_s = MPI_Wtime() - start;
    gather(&b, field);
    block_free(&b);

    if (rank == 0) {
        double difference = 0, most = 0;
        block_make(&b, MPI_COMM_SELF);
        start = MPI_Wtime();
        int serial_iterations = solve(&b, 0);
        double serial_s = MPI_Wtime() - start;
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                double u = *cell(&b, b.u, x, y), d = fabs(u - field[y * NX + x]);
                difference = d > difference ? d : difference;
                most = fabs(u) > most ? fabs(u) : most;
            }
        block_free(&b);
        wrong = !(difference <= 1e-8 * most) || iterations >= MOST_ITERATIONS;
        printf("  %d ranks: %d iterations in %.3f s; one rank: %d in %.3f s\n", size, iterations,
               parallel_s, serial_iterations, serial_s);
        printf("  largest difference from the serial answer: %.1e of %.3g: %s\n", difference, most,
               wrong ? "WRONG" : "they agree");
        if (argc > 1 && draw(field, argv[1]) != 0) {
            fprintf(stderr, "%s: cannot be written\n", argv[1]);
            wrong = 1;
        } else if (argc > 1) {
            printf("  picture: %s\n", argv[1]);
        }
    }
    free(field);
    show_counters(rank, size);
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_T_finalize();
    MPI_Finalize();
    return wrong;
}
