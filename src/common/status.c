/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names and texts of status codes, expanded from status.def.
 */
#include "dimmnet/status.h"

const char *dnet_status_text(dnet_status_t status)
{
    switch (status) {
#define DNET_STATUS(name, value, group, text, next) \
    case DNET_##name: \
        return text;
#include "dimmnet/status.def"
#undef DNET_STATUS
    }
    return "unknown status";
}

const char *dnet_status_name(dnet_status_t status)
{
    switch (status) {
#define DNET_STATUS(name, value, group, text, next) \
    case DNET_##name: \
        return "DNET_" #name;
#include "dimmnet/status.def"
#undef DNET_STATUS
    }
    return "DNET_?";
}
