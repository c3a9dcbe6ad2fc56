/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface that loses, doubles and delays the messages of the stop/resend protocol, for tests
 * (docs/flow-control.md section 5).  It stands before the one that is there.
 *
 *   stop lost      the sender is told that it has been stopped, and the receiver learns nothing of it
 *   stop doubled   the packet knocks twice: the receiver is told of two stops
 *   resend lost, doubled, or late: behind up to LATE_MOST later packets of this process
 *
 * What a sender is told about its packet is the answer of the request itself, and cannot get lost.
 */
#include "config.h"

#include <stdlib.h>

#include "emulator/swif/swif.h"

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
            f->late[i] = (late_t){ *packet, dlid, 1 + next_random(f) % LATE_MOST };
            return true;
        }
    return false;
}

/* A RESEND: nobody waits for its answer, so a lost one looks delivered. */
static dnet_emu_result_t send_resend(dnet_emu_nic_t *via, struct dnet_emu_faults *f, uint16_t dlid,
                                     dnet_emu_packet_t *packet)
{
    if (strikes(f) || (strikes(f) && delay(f, dlid, packet)))
        return DNET_EMU_DELIVERED;
    if (strikes(f))
        (void) f->below->send(via, dlid, packet);
    return f->below->send(via, dlid, packet);
}

static dnet_emu_result_t faults_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    struct dnet_emu_faults *f = via->faults;
    uint64_t type = DNET_GET(packet->header[0], PK_TYPE);
    dnet_emu_result_t result;

    send_late(via, f);
    if (type == DNET_PRIM_RESEND)
        return send_resend(via, f, dlid, packet);
    if ((type & 0x1c) != DNET_PRIM_IPUSH)
        return f->below->send(via, dlid, packet);
    if (strikes(f))
        return DNET_EMU_STOPPED;
    result = f->below->send(via, dlid, packet);
    if (result == DNET_EMU_STOPPED && strikes(f))
        result = f->below->send(via, dlid, packet);
    return result;
}

static const dnet_emu_swif_ops_t faults_ops = { .name = "faults", .send = faults_send };

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
