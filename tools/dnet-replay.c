/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-replay: how many shared receive buffers a rank of NAS bt or sp needs, with stop/resend and with a
 * limit event, beside the published figures (flow control specification 6 and 7).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

#define ENOUGH_BUFFERS 1000000u
#define BUFFERS_MAX 4096u
#define BUFFER_BYTES 32768u
#define LIMIT_PERCENT 0.1

static const uint64_t penalty_ns[2] = {4510, 92800}; /* stop/resend; limit event (4.3) */
static const char *const method[2] = {"prop", "conv"};

static void usage(FILE *out)
{
    fprintf(out, "usage: dnet-replay [-i ITERATIONS] [-n NOISE_PERCENT] [-s SEED] bt|sp RANKS\n");
}

/* A number of an option or argument; leaves the program when it is none or out of range. */
static uint64_t number(const char *what, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "dnet-replay: %s '%s': a number from %" PRIu64 " to %" PRIu64 " is wanted\n",
                what, text, least, most);
        exit(2);
    }
    return value;
}

static void must(dnet_status_t status)
{
    if (status == DNET_OK)
        return;
    fprintf(stderr, "dnet-replay: %s\n", dnet_status_text(status));
    exit(1);
}

/* Prints a line per buffer count, method and mode; finds the smallest B that meets the limit. */
static void study(const dnet_replay_program_t *program, const char *name)
{
    dnet_replay_config_t config = {
        .buffers = ENOUGH_BUFFERS, .wire_ns = 1000, .call_ns = 300};
    dnet_replay_result_t base, result = {.events = 1};
    uint32_t enough[2][2] = {{1, 1}, {1, 1}}; /* [mode][method] */
    must(dnet_replay_run(program, &config, &base));
    printf("program,procs,method,mode,release,B,bytes,events_total,events_max,increase_percent\n");
    for (uint32_t b = 1; result.events != 0 && b <= BUFFERS_MAX; b++)
        for (unsigned mode = 0; mode < 2; mode++)
            for (unsigned m = 0; m < 2; m++) {
                config.buffers = b;
                config.replay = mode == 1;
                config.penalty_ns = penalty_ns[m];
                must(dnet_replay_run(program, &config, &result));
                uint64_t more = mode == 1 ? result.time_ns - base.time_ns
                                          : result.events_max * penalty_ns[m];
                double increase = 100.0 * (double) more / (double) base.time_ns;
                printf("%s,%u,%s,%s,ANY_CALL,%u,%u,%" PRIu64 ",%" PRIu64 ",%.4f\n", name,
                       program->ranks, method[m], mode == 1 ? "REPLAY" : "STATIC", b,
                       b * BUFFER_BYTES, result.events, result.events_max, increase);
                if (increase >= LIMIT_PERCENT)
                    enough[mode][m] = b + 1;
            }
    for (unsigned mode = 0; mode < 2; mode++)
        printf("# %s: %u buffers with stop/resend, %u with a limit event at %.1f %%: reduction %.0f %% "
               "(published for 196 ranks: bt 83 %%, sp 86 %%)\n",
               mode == 1 ? "REPLAY" : "STATIC", enough[mode][0], enough[mode][1], LIMIT_PERCENT,
               100.0 * (1 - (double) enough[mode][0] / enough[mode][1]));
}

int main(int argc, char **argv)
{
    uint32_t iterations = 0, noise_percent = 5;
    uint64_t seed = 1;
    int option;
    while ((option = getopt(argc, argv, "i:n:s:h")) != -1) {
        switch (option) {
        case 'i': iterations = (uint32_t) number("-i", optarg, 1, 100000); break;
        case 'n': noise_percent = (uint32_t) number("-n", optarg, 0, 100); break;
        case 's': seed = number("-s", optarg, 0, UINT64_MAX); break;
        case 'h': usage(stdout); return 0;
        default: usage(stderr); return 2;
        }
    }
    if (argc - optind != 2 || (strcmp(argv[optind], "bt") != 0 && strcmp(argv[optind], "sp") != 0)) {
        usage(stderr);
        return 2;
    }
    dnet_replay_shape_t shape = argv[optind][0] == 'b' ? DNET_REPLAY_BT : DNET_REPLAY_SP;
    uint32_t ranks = (uint32_t) number("RANKS", argv[optind + 1], 4, 4096);
    if (iterations == 0)
        iterations = shape == DNET_REPLAY_BT ? 200 : 400;
    dnet_replay_program_t program;
    dnet_status_t status =
        dnet_replay_generate(shape, ranks, iterations, noise_percent, seed, &program);
    if (status == DNET_ERR_ARGUMENT) {
        fprintf(stderr, "dnet-replay: RANKS '%s': a square number is wanted\n", argv[optind + 1]);
        return 2;
    }
    must(status);
    study(&program, argv[optind]);
    dnet_replay_free(&program);
    return 0;
}
