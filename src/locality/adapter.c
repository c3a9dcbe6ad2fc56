/* SPDX-License-Identifier: BSD-3-Clause */
#include "locality/adapter.h"

#include <stdio.h>
#include <stdlib.h>

#include "locality/processors.h"

/* A list as "0-3,8".  False: it is none, or empty. */
static bool parse(const char *at, dnet_processors_t *set_p)
{
    dnet_processors_t set = {{0}};
    bool any = false;
    while (*at && *at != '\n') {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return false;
        if (*end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            if (end == at)
                return false;
        }
        for (; first <= last && first < DNET_PROCESSORS_MAX; first++)
            set.word[first / 64] |= UINT64_C(1) << (first % 64);
        any = true;
        at = end + (*end == ',');
    }
    *set_p = set;
    return any;
}

static bool near_to(const char *folder, dnet_processors_t *set_p)
{
    char path[512], text[4096];
    bool good;
    snprintf(path, sizeof(path), "%s/device/local_cpulist", folder);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    good = fgets(text, sizeof(text), f) && parse(text, set_p);
    fclose(f);
    return good;
}

dnet_adapter_distance_t dnet_adapter_distance(const char *folder)
{
    dnet_processors_t own, near;
    if (dnet_processors_of(0, &own) != DNET_OK || !near_to(folder, &near) ||
        dnet_processors_within(&own, &near))
        return DNET_ADAPTER_NEAR;
    for (unsigned i = 0; i < DNET_PROCESSORS_WORDS; i++)
        if (own.word[i] & near.word[i])
            return DNET_ADAPTER_BETWEEN;
    return DNET_ADAPTER_FAR;
}

const char *dnet_adapter_distance_text(dnet_adapter_distance_t distance)
{
    switch (distance) {
        case DNET_ADAPTER_NEAR:
            break;
        case DNET_ADAPTER_BETWEEN:
            return ", near to some of the processors";
        case DNET_ADAPTER_FAR:
            return ", far";
    }
    return "";
}
