/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface that loses, doubles and delays the messages of the stop/resend protocol, for
 * tests (docs/flow-control.md section 3).  It stands before the one that is there.
 *
 * - A stop is lost: the sender is told that it has been stopped, and the receiver learns nothing.
 * - A stop is late: the receiver learns of it behind up to LATE_MOST later packets of this process,
 *   when the sender may long have gone on: as if the sender asked for more.
 * - A stop is doubled: the packet knocks twice, and the receiver is told of two stops.
 * - A hold is lost: the sender is told that its message is held back, and the receiver does not
 *   learn it.
 * - A resend is lost, doubled, or late.
 *
 * What a sender is told about its packet is the answer of the request itself, and can be neither
 * lost nor late.
 */
#include "config.h"

#include <stdlib.h>

#include "emulator/swif/swif.h"
#include "emulator/write_unit.h"

#define LATE_SLOTS 8u
#define LATE_MOST 32u

typedef struct {
    dnet_emu_packet_t packet;
    uint16_t dlid;
    uint32_t wait; /* packets that go first; 0: the slot is free */
} late_t;

struct dnet_emu_faults {
    const dnet_emu_swif_ops_t *below;
    uint32_t permille;
    uint32_t random;
    late_t late[LATE_SLOTS];
};

static uint32_t next_random(struct dnet_emu_faults *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 17;
    f->random ^= f->random << 5;
    return f->random;
}

static bool strikes(struct dnet_emu_faults *f)
{
    return next_random(f) % 1000 < f->permille;
}

static void send_late(dnet_emu_nic_t *via, struct dnet_emu_faults *f)
{
    for (unsigned i = 0; i < LATE_SLOTS; i++)
        if (f->late[i].wait && --f->late[i].wait == 0)
            (void) f->below->send(via, f->late[i].dlid, &f->late[i].packet);
}

/* Keep it for later.  False: all slots are in use. */
static bool delay(struct dnet_emu_faults *f, uint16_t dlid, const dnet_emu_packet_t *packet)
{
    for (unsigned i = 0; i < LATE_SLOTS; i++)
        if (!f->late[i].wait) {
            f->late[i] = (late_t){*packet, dlid, 1 + next_random(f) % LATE_MOST};
            return true;
        }
    return false;
}

/* A RESEND: its sender waits for no answer, so a lost one looks delivered. */
static dnet_emu_result_t send_resend(dnet_emu_nic_t *via, struct dnet_emu_faults *f, uint16_t dlid,
                                     dnet_emu_packet_t *packet)
{
    if (strikes(f) || (strikes(f) && delay(f, dlid, packet)))
        return DNET_EMU_DELIVERED;
    if (strikes(f))
        (void) f->below->send(via, dlid, packet);
    return f->below->send(via, dlid, packet);
}

/* The packet has been stopped for nothing: its receiver learns of it later.  A RESEND with MORE
 * says the same as the note of a stop. */
static void note_late(struct dnet_emu_faults *f, uint16_t dlid, const dnet_emu_packet_t *stopped)
{
    const uint64_t kept =
        DNET_MASK(PK_PGID) | DNET_MASK(PK_DWID) | DNET_MASK(PK_SWID) | DNET_MASK(PK_DLID);
    dnet_emu_packet_t note = {
        .header = {(stopped->header[0] & kept) | DNET_PUT(DNET_PRIM_RESEND, PK_TYPE),
                   DNET_PUT(1, RS_MORE) | DNET_PUT(stopped->data_bytes, RS_NEED)},
        .header_lines = 2,
        .packets = 1,
        .slid = stopped->slid,
    };

    (void) delay(f, dlid, &note);
}

/* Would a hold table keep this packet out? */
static bool may_be_held(const dnet_emu_packet_t *packet)
{
    uint64_t envelope = 0;

    return DNET_GET(packet->header[0], PK_LFLAG) && packet->data_bytes >= sizeof envelope &&
           dnet_emu_payload_copy(packet, 0, (uint8_t *) &envelope, sizeof envelope) &&
           !(envelope & DNET_ENVELOPE_PASS);
}

static dnet_emu_result_t send_message(dnet_emu_nic_t *via, struct dnet_emu_faults *f, uint16_t dlid,
                                      dnet_emu_packet_t *packet)
{
    dnet_emu_result_t result;

    if (strikes(f)) {
        if (next_random(f) % 2)
            note_late(f, dlid, packet);
        return DNET_EMU_STOPPED;
    }
    if (may_be_held(packet) && strikes(f))
        return DNET_EMU_HELD;
    result = f->below->send(via, dlid, packet);
    if (result == DNET_EMU_STOPPED && strikes(f))
        result = f->below->send(via, dlid, packet);
    return result;
}

static dnet_emu_result_t faults_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    struct dnet_emu_faults *f = via->faults;
    uint64_t type = DNET_GET(packet->header[0], PK_TYPE);

    send_late(via, f);
    if (type == DNET_PRIM_RESEND)
        return send_resend(via, f, dlid, packet);
    if ((type & 0x1c) == DNET_PRIM_IPUSH)
        return send_message(via, f, dlid, packet);
    return f->below->send(via, dlid, packet);
}

static const dnet_emu_swif_ops_t faults_ops = {.name = "faults", .send = faults_send};

dnet_status_t dnet_emu_faults_set(dnet_emu_nic_t *nic, uint32_t permille, uint32_t seed)
{
    struct dnet_emu_faults *f = calloc(1, sizeof *f);

    if (!f)
        return DNET_ERR_NO_MEMORY;
    f->below = nic->swif;
    f->permille = permille;
    f->random = seed * 2654435761u | 1; /* any odd number; 0 would stay 0 */
    nic->faults = f;
    nic->swif = &faults_ops;
    return DNET_OK;
}
