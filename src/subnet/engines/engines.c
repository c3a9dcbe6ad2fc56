/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of routing engines.
 */
#include "subnet/engines/engines.h"

#include "common/log.h"

#include <string.h>

static const dnet_engine_t *const engines[] = {
    &dnet_engine_minhop,     &dnet_engine_updn,    &dnet_engine_ftree,
    &dnet_engine_turnprohib, &dnet_engine_turnadd, &dnet_engine_dfsssp,
};
enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

const dnet_engine_t *dnet_engine_at(int i)
{
    return i >= 0 && i < ENGINES ? engines[i] : NULL;
}

const dnet_engine_t *dnet_engine_find(const char *name)
{
    char names[128] = "";
    for (int i = 0; i < ENGINES; i++) {
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
        strcat(strcat(names, " "), engines[i]->name);
    }
    dnet_error("subnet: no routing engine '%s'; there are:%s", name, names);
    return NULL;
}
