/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multi-partition pattern of NAS bt and sp (flow control specification 7.1): c x c ranks, c
 * cells each.  An iteration exchanges six faces, then sweeps forward and backward in three
 * directions, with c - 1 messages to the successor (forward) or predecessor (backward) in each
 * sweep.
 *
 * Computing times: floating-point operations of class A (bt 168.3e9 in 200 iterations, sp 102.0e9
 * in 400, as NPB prints them) at 1e9 a second and rank; a fifth before the sweeps, the rest in
 * equal parts in the cells of the sweeps.
 */
#include "replay/replay.h"

#define DIRECTIONS 3u
#define POINTS 64.0 /* of the grid, in each direction: class A */

/* Message sizes in doubles, of s x s points of a cell's face (7.1). */
typedef struct {
    double operations; /* of an iteration */
    double forward, backward;
} shape_t;

static const shape_t shapes[] = {
    [DNET_REPLAY_BT] = {168.3e9 / 200, 30, 5},
    [DNET_REPLAY_SP] = {102.0e9 / 400, 22, 10},
};

typedef struct {
    dnet_replay_program_t *program;
    uint32_t side;
    uint64_t random;
    uint32_t noise_percent;
    uint32_t bytes[2][2]; /* [faces, sweeps][backward, forward] */
    uint32_t open;        /* first request of the rank in hand that no WAIT has named */
} maker_t;

static uint64_t noisy(maker_t *m, double gap_ns)
{
    m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
    double noise = ((double) (m->random >> 33) / 4294967296.0 - 0.25) * 4 * m->noise_percent / 100;
    return (uint64_t) (gap_ns * (1 + noise / 2));
}

/* Wait for everything the rank has begun. */
static void wait_all(maker_t *m, uint32_t rank, double gap_ns)
{
    for (; m->open < m->program->rank[rank].requests; m->open++)
        dnet_replay_wait_for(m->program, rank, m->open);
    dnet_replay_wait(m->program, rank, noisy(m, gap_ns));
}

/* The neighbour of a rank in a direction: right, down, or across both. */
static uint32_t neighbour(const maker_t *m, uint32_t rank, uint32_t direction, bool forward)
{
    uint32_t c = m->side, x = rank % c, y = rank / c, step = forward ? 1 : c - 1;
    if (direction != 1)
        x = (x + step) % c;
    if (direction != 0)
        y = (y + step) % c;
    return y * c + x;
}

/* A message of kind 0, faces, or 1, sweeps, between the rank and its neighbour. */
static void message(maker_t *m, uint32_t rank, dnet_replay_kind_t call, uint32_t kind,
                    uint32_t direction, bool forward, double gap_ns)
{
    bool send = call == DNET_REPLAY_SEND;
    uint32_t other = neighbour(m, rank, direction, send == forward);
    uint32_t channel = dnet_replay_channel(m->program, send ? rank : other, send ? other : rank,
                                           (int32_t) (kind * 6 + direction * 2 + forward));
    dnet_replay_add(m->program, rank, call, noisy(m, gap_ns), channel, m->bytes[kind][forward]);
}

static void faces(maker_t *m, uint32_t rank, double gap_ns)
{
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        for (int f = 0; f < 2; f++)
            message(m, rank, DNET_REPLAY_RECV, 0, d, f, d == 0 && f == 0 ? gap_ns : 0);
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        for (int f = 0; f < 2; f++)
            message(m, rank, DNET_REPLAY_SEND, 0, d, f, 0);
    wait_all(m, rank, 0);
}

/* c cells one after the other: wait for the cell before, compute, send on. */
static void sweep(maker_t *m, uint32_t rank, uint32_t direction, bool forward, double cell_ns)
{
    for (uint32_t cell = 0; cell < m->side; cell++) {
        if (cell != 0) {
            message(m, rank, DNET_REPLAY_RECV, 1, direction, forward, 0);
            wait_all(m, rank, cell_ns / 2);
        }
        if (cell != m->side - 1)
            message(m, rank, DNET_REPLAY_SEND, 1, direction, forward, cell_ns / 2);
    }
}

dnet_status_t dnet_replay_generate(dnet_replay_shape_t shape, uint32_t ranks, uint32_t iterations,
                                   uint32_t noise_percent, uint64_t seed,
                                   dnet_replay_program_t *program_p)
{
    dnet_replay_program_t program;
    uint32_t side = 2;
    while (side * side < ranks && side < 64)
        side++;
    if (side * side != ranks || iterations == 0 || noise_percent > 100)
        return DNET_ERR_ARGUMENT;
    dnet_status_t status = dnet_replay_new(ranks, &program);
    if (status != DNET_OK)
        return status;
    const shape_t *of = &shapes[shape];
    double face = (POINTS / side) * (POINTS / side) * sizeof(double);
    uint32_t halo = (uint32_t) ((side - 1) * 2 * 5 * face);
    maker_t m = {.program = &program,
                 .side = side,
                 .random = seed,
                 .noise_percent = noise_percent,
                 .bytes = {{halo, halo},
                           {(uint32_t) (of->backward * face), (uint32_t) (of->forward * face)}}};
    double iteration_ns = of->operations / ranks;
    double cell_ns = 0.8 * iteration_ns / (DIRECTIONS * 2 * side);
    for (uint32_t rank = 0; rank < ranks && !program.failed; rank++) {
        m.open = 0;
        for (uint32_t i = 0; i <= iterations; i++) {
            faces(&m, rank, 0.2 * iteration_ns);
            for (uint32_t d = 0; d < DIRECTIONS; d++) {
                sweep(&m, rank, d, true, cell_ns);
                sweep(&m, rank, d, false, cell_ns);
            }
        }
    }
    status = dnet_replay_finish(&program);
    if (status == DNET_OK)
        *program_p = program;
    return status;
}
