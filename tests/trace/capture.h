/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading back a capture file (docs/tracing.md 1.1), strictly: what is not as documented is an
 * error.
 */
#ifndef DNET_TEST_CAPTURE_H
#define DNET_TEST_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmnet/format.h"

typedef struct {
    uint64_t time_ns;
    uint64_t beside; /* CAP fields */
    uint64_t header[4];
    uint32_t data_bytes; /* of the packet */
    uint32_t kept;       /* of them in the file */
    const uint8_t *data;
    bool inbound;
} capture_packet_t;

typedef struct {
    uint8_t *bytes;
    char interface[64];
    unsigned count;
    capture_packet_t *packet;
} capture_t;

/** @return true; false after a line that says what is wrong with the file */
bool capture_read(const char *path, capture_t *capture_p);

void capture_free(capture_t *capture);

#endif
