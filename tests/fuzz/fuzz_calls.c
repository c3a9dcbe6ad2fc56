/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The input is a trace: it is read, made a program and, when it is short, replayed with one
 * buffer, in both modes.  Whatever it holds, it is refused or replayed to an end.
 */
#include "replay/replay.h"
#include "tests/fuzz/fuzz.h"

#define RANKS_MAX 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dnet_calls_t trace = {0};
    dnet_replay_program_t program;
    dnet_replay_result_t result;

    if (dnet_calls_parse(&trace, data, size, "input") == DNET_OK && trace.ranks <= RANKS_MAX &&
        dnet_calls_complete(&trace) == DNET_OK &&
        dnet_replay_from_trace(&trace, &program) == DNET_OK) {
        dnet_replay_partners_t partners;

        (void) dnet_replay_partners(&program, &partners);
        for (unsigned mode = 0; mode < 4; mode++) {
            dnet_replay_config_t config = {.buffers = 1,
                                           .penalty_ns = 10,
                                           .wire_ns = 1,
                                           .call_ns = 1,
                                           .mark = mode & 2,
                                           .replay = mode & 1,
                                           .at_waits = mode & 1};

            (void) dnet_replay_run(&program, &config, &result);
        }
        dnet_replay_free(&program);
    }
    dnet_calls_free(&trace);
    return 0;
}
