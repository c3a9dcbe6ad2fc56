/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fuzz targets share: an input is a string of bytes that is read as actions.
 */
#ifndef DNET_TESTS_FUZZ_H
#define DNET_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dimmnet/device.h"

typedef struct {
    const uint8_t *at;
    size_t left;
} input_t;

/* The next bytes of the input, little endian; zeros behind its end. */
static inline uint64_t take(input_t *in, size_t bytes)
{
    uint64_t value = 0;
    size_t n = bytes < in->left ? bytes : in->left;

    memcpy(&value, in->at, n);
    in->at += n;
    in->left -= n;
    return value;
}

/* Everything of a WID that a packet could change, to be compared later. */
typedef struct {
    uint8_t llcm[32768];
    dnet_lh_entry_t lh[1024];
    uint8_t pw[2048];
    uint64_t packets;
    uint64_t status;
} snapshot_t;

static inline void snapshot(const dnet_device_t *d, snapshot_t *s)
{
    memcpy(s->llcm, d->llcm, sizeof s->llcm);
    memcpy(s->lh, d->lh, d->geometry.lh_entries * sizeof *s->lh);
    memcpy(s->pw, d->pw, sizeof s->pw);
    s->packets = dnet_reg_load(d, DNET_UREG_PACKET_COUNTER);
    s->status = dnet_reg_load(d, DNET_UREG_STATUS_NEXT_WRITE);
}

static inline bool unchanged(const dnet_device_t *d, const snapshot_t *s)
{
    return memcmp(s->llcm, d->llcm, sizeof s->llcm) == 0 &&
           memcmp(s->lh, d->lh, d->geometry.lh_entries * sizeof *s->lh) == 0 &&
           memcmp(s->pw, d->pw, sizeof s->pw) == 0 &&
           s->packets == dnet_reg_load(d, DNET_UREG_PACKET_COUNTER) &&
           s->status == dnet_reg_load(d, DNET_UREG_STATUS_NEXT_WRITE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
