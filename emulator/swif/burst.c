/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets that are handed over together, and are taken apart again.
 */
#include "config.h"

#include "emulator/swif/swif.h"

void dnet_emu_burst_header(const dnet_emu_nic_t *nic, const dnet_emu_packet_t *p, uint32_t from,
                           uint32_t bytes, uint32_t first, uint64_t *h)
{
    uint32_t dst = (uint32_t) DNET_GET(p->header[1], PK_DST);
    uint64_t size = first + 8 * p->header_lines;

    memcpy(h, p->header, sizeof p->header);
    if (p->packets < 2)
        return;
    h[0] = (h[0] & ~DNET_MASK(PK_SIZE)) | DNET_PUT(size, PK_SIZE);
    if (from + bytes < p->data_bytes)
        h[0] &= ~DNET_MASK(PK_EFLAG);
    if (!DNET_GET(h[0], PK_RFLAG) && dnet_emu_is_aperture(nic, dst)) { /* [X.5] */
        uint64_t at = DNET_GET(h[2], PK_LIST) + from;

        h[2] = (h[2] & ~DNET_MASK(PK_LIST)) | DNET_PUT(at, PK_LIST);
    } else {
        dst += from;
    }
    h[1] = (h[1] & ~DNET_MASK(PK_DST)) | DNET_PUT(dst, PK_DST);
}
