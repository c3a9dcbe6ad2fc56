/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text.h"

void dnet_text_begin(dnet_text_t *t, char *memory, size_t bytes)
{
    *t = (dnet_text_t){memory, memory, memory + bytes};
    *memory = '\0';
}

void dnet_text_put(dnet_text_t *t, const char *string)
{
    while (*string && t->at + 1 < t->end)
        *t->at++ = *string++;
    *t->at = '\0';
}

void dnet_text_number(dnet_text_t *t, uint64_t value)
{
    char digits[21];
    char *at = &digits[sizeof(digits) - 1];
    *at = '\0';
    do {
        *--at = (char) ('0' + value % 10);
        value /= 10;
    } while (value);
    dnet_text_put(t, at);
}
