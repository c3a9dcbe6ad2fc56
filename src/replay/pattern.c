/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multi-partition pattern of NAS bt and sp (flow control specification 7.1): c x c ranks, c cells
 * each.  An iteration exchanges six faces, then sweeps forward and backward in three directions, with
 * c - 1 messages to the successor (forward) or predecessor (backward) in each sweep.
 *
 * Computing times: floating-point operations of class A (bt 168.3e9 in 200 iterations, sp 102.0e9 in
 * 400, as NPB prints them) at 1e9 a second and rank; a fifth before the sweeps, the rest in equal
 * parts in the cells of the sweeps.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

#define DIRECTIONS 3u
#define CHANNELS 12u /* of a rank: faces to both sides and sweeps both ways, in three directions */

typedef struct {
    dnet_replay_program_t *program;
    uint32_t side;
    uint64_t random;
    uint32_t noise_percent;
    bool failed;
} maker_t;

static void add(maker_t *m, uint32_t rank, dnet_replay_kind_t kind, uint32_t channel, double gap_ns)
{
    dnet_replay_rank_t *r = &m->program->rank[rank];
    if (r->count == r->capacity) {
        uint32_t capacity = r->capacity != 0 ? 2 * r->capacity : 1024;
        dnet_replay_call_t *call = realloc(r->call, capacity * sizeof(*call));
        if (call == NULL) {
            m->failed = true;
            return;
        }
        r->call = call;
        r->capacity = capacity;
    }
    m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
    double noise = ((double) (m->random >> 33) / 4294967296.0 - 0.25) * 4 * m->noise_percent / 100;
    r->call[r->count++] =
        (dnet_replay_call_t){(uint32_t) (gap_ns * (1 + noise / 2)), (uint8_t) kind, channel};
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

/* What a rank sends: kind 0 faces, 1 sweeps. */
static uint32_t channel_of(uint32_t rank, uint32_t kind, uint32_t direction, bool forward)
{
    return rank * CHANNELS + kind * 6 + direction * 2 + forward;
}

static void faces(maker_t *m, uint32_t rank, double gap_ns)
{
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        for (int f = 0; f < 2; f++)
            add(m, rank, DNET_REPLAY_RECV, channel_of(neighbour(m, rank, d, !f), 0, d, f),
                d == 0 && f == 0 ? gap_ns : 0);
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        for (int f = 0; f < 2; f++)
            add(m, rank, DNET_REPLAY_SEND, channel_of(rank, 0, d, f), 0);
    add(m, rank, DNET_REPLAY_WAIT, 0, 0);
}

/* c cells one after the other: wait for the cell before, compute, send on. */
static void sweep(maker_t *m, uint32_t rank, uint32_t direction, bool forward, double cell_ns)
{
    uint32_t from = channel_of(neighbour(m, rank, direction, !forward), 1, direction, forward);
    for (uint32_t cell = 0; cell < m->side; cell++) {
        if (cell != 0) {
            add(m, rank, DNET_REPLAY_RECV, from, 0);
            add(m, rank, DNET_REPLAY_WAIT, 0, cell_ns / 2);
        }
        if (cell != m->side - 1)
            add(m, rank, DNET_REPLAY_SEND, channel_of(rank, 1, direction, forward), cell_ns / 2);
    }
}

dnet_status_t dnet_replay_generate(dnet_replay_shape_t shape, uint32_t ranks, uint32_t iterations,
                                   uint32_t noise_percent, uint64_t seed,
                                   dnet_replay_program_t *program_p)
{
    uint32_t side = 2;
    while (side * side < ranks && side < 64)
        side++;
    if (side * side != ranks || iterations == 0 || noise_percent > 100)
        return DNET_ERR_ARGUMENT;
    dnet_replay_program_t program = {.ranks = ranks, .channels = ranks * CHANNELS};
    maker_t m = {&program, side, seed, noise_percent, false};
    program.rank = calloc(ranks, sizeof(*program.rank));
    program.channel = calloc(program.channels, sizeof(*program.channel));
    if (program.rank == NULL || program.channel == NULL) {
        dnet_replay_free(&program);
        return DNET_ERR_NO_MEMORY;
    }
    double iteration_ns = (shape == DNET_REPLAY_BT ? 168.3e9 / 200 : 102.0e9 / 400) / ranks;
    double cell_ns = 0.8 * iteration_ns / (DIRECTIONS * 2 * side);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t d = 0; d < DIRECTIONS; d++)
            for (int f = 0; f < 2; f++)
                for (uint32_t kind = 0; kind < 2; kind++)
                    program.channel[channel_of(rank, kind, d, f)] =
                        (dnet_replay_channel_t){rank, neighbour(&m, rank, d, f)};
        for (uint32_t i = 0; i <= iterations; i++) {
            faces(&m, rank, 0.2 * iteration_ns);
            for (uint32_t d = 0; d < DIRECTIONS; d++) {
                sweep(&m, rank, d, true, cell_ns);
                sweep(&m, rank, d, false, cell_ns);
            }
        }
    }
    if (m.failed) {
        dnet_replay_free(&program);
        return DNET_ERR_NO_MEMORY;
    }
    *program_p = program;
    return DNET_OK;
}

void dnet_replay_free(dnet_replay_program_t *program)
{
    for (uint32_t i = 0; program->rank != NULL && i < program->ranks; i++)
        free(program->rank[i].call);
    free(program->rank);
    free(program->channel);
    memset(program, 0, sizeof(*program));
}
