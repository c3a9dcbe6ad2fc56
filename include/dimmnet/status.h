/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status codes of the dimmnet library; the list itself is status.def.
 */
#ifndef DIMMNET_STATUS_H
#define DIMMNET_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
#define DNET_STATUS(name, value, group, text, next) DNET_##name = (value),
#include "dimmnet/status.def"
#undef DNET_STATUS
} dnet_status_t;

/**
 * Text of a status.
 *
 * @param status  any value, also one that is not in the list
 * @return static string, never NULL; "unknown status" for a value not in the list
 */
const char *dnet_status_text(dnet_status_t status);

/** Name of a status as in the source, "DNET_OK"; "DNET_?" for a value not in the list. */
const char *dnet_status_name(dnet_status_t status);

#ifdef __cplusplus
}
#endif
#endif
