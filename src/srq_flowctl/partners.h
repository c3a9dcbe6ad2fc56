/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which senders get receive rings of their own (data sheet 9.4): frequent partners, out of a fixed
 * number of rings; the others share ring 0.
 *
 * Senders are counted by samples: the caller names the sender of a message each time a fixed number
 * of ring bytes has been used up, so that a sender is named in proportion to its bytes.  Memory is
 * fixed: of ever new senders the one counted least makes room, and its successor starts with its
 * count, so that a frequent sender is never missed (Space-Saving).  Counts are halved now and then,
 * so that old friends are forgotten.
 *
 * Pure logic.  Threads: one caller at a time per object.
 */
#ifndef DNET_FC_PARTNERS_H
#define DNET_FC_PARTNERS_H

#include <stdbool.h>
#include <stdint.h>

#define DNET_FC_RINGS_MAX 16u /* with the shared one */
#define DNET_FC_PARTNERS 32u  /* senders counted at a time; more than rings */
#define DNET_FC_NO_SENDER UINT32_MAX

typedef struct {
    uint32_t sender; /* DNET_FC_NO_SENDER: not in use */
    uint32_t count;  /* samples, halved now and then */
    uint32_t ring;   /* its own; 0: it shares */
} dnet_fc_partner_t;

typedef struct {
    dnet_fc_partner_t partner[DNET_FC_PARTNERS];
    uint32_t owner[DNET_FC_RINGS_MAX]; /* by ring: index in partner; DNET_FC_NO_SENDER: free */
    uint32_t rings;                    /* with the shared one */
    uint32_t samples;                  /* since counts were halved */
} dnet_fc_partners_t;

/** A ring changes hands. */
typedef struct {
    uint32_t ring;   /* 1.. */
    uint32_t before; /* sender that shares from now on; DNET_FC_NO_SENDER: the ring was free */
} dnet_fc_ring_change_t;

/** @param rings  in all, 1..DNET_FC_RINGS_MAX; 1: all share */
void dnet_fc_partners_init(dnet_fc_partners_t *p, uint32_t rings);

/**
 * A sample: this sender's message has used ring bytes.
 *
 * @param sender    any number but DNET_FC_NO_SENDER
 * @param change_p  set when the result is true
 * @return true: this sender is to get that ring
 */
bool dnet_fc_partners_sample(dnet_fc_partners_t *p, uint32_t sender,
                             dnet_fc_ring_change_t *change_p);

/** Ring of a sender; 0: it shares. */
uint32_t dnet_fc_partners_ring(const dnet_fc_partners_t *p, uint32_t sender);

#endif
