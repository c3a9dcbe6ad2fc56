/* SPDX-License-Identifier: BSD-3-Clause */
#include "locality/processors.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

dnet_status_t dnet_processors_of(int32_t pid, dnet_processors_t *set_p)
{
    dnet_processors_t set = {{0}};
    /* The C library's function wants to be told how many the kernel has. */
    if (syscall(SYS_sched_getaffinity, pid, sizeof(set), &set) <= 0)
        return DNET_NOT_FOUND;
    *set_p = set;
    return DNET_OK;
}

uint32_t dnet_processors_count(const dnet_processors_t *set)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < DNET_PROCESSORS_WORDS; i++)
        count += (uint32_t) __builtin_popcountll(set->word[i]);
    return count;
}

bool dnet_processors_within(const dnet_processors_t *set, const dnet_processors_t *all)
{
    uint64_t outside = 0;
    for (unsigned i = 0; i < DNET_PROCESSORS_WORDS; i++)
        outside |= set->word[i] & ~all->word[i];
    return outside == 0;
}

bool dnet_processors_same_one(const dnet_processors_t *a, const dnet_processors_t *b)
{
    return memcmp(a, b, sizeof(*a)) == 0 && dnet_processors_count(a) == 1;
}

static bool has(const dnet_processors_t *set, uint32_t n)
{
    return n < DNET_PROCESSORS_MAX && (set->word[n / 64] >> (n % 64) & 1);
}

const char *dnet_processors_text(const dnet_processors_t *set, char *text, size_t room)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t first = 0; first < DNET_PROCESSORS_MAX; first++) {
        uint32_t last = first;
        if (!has(set, first))
            continue;
        while (has(set, last + 1))
            last++;
        int n = first == last
                    ? snprintf(text + at, room - at, "%s%u", at ? "," : "", first)
                    : snprintf(text + at, room - at, "%s%u-%u", at ? "," : "", first, last);
        if ((size_t) n >= room - at) {
            text[at] = '\0';
            break;
        }
        at += (size_t) n;
        first = last;
    }
    return text;
}
