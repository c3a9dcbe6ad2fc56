/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libFuzzer on src/lhs_match: the input's bytes choose the calls, which go to the matcher and to
 * the reference; different answers are a crash.
 */
#include "tests/property/lhs_both.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *data;
    size_t left;
} input_t;

static unsigned choose(void *arg, unsigned n)
{
    input_t *input = arg;
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->data++ % n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static lhs_both_t both;
    input_t input = {data, size};
    lhs_both_init(&both, choose, &input);
    lhs_both_mix(&both);
    while (input.left != 0)
        if (!lhs_both_step(&both))
            __builtin_trap();
    return 0;
}
