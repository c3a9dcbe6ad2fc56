/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending process over a network that neither loses nor reorders (8.3, sender side).
 */
#include "srq_flowctl/srq_flowctl.h"

const char *dnet_fc_tx_state_name(dnet_fc_tx_state_t state)
{
    switch (state) {
#define DNET_FC_TX_STATE(name, meaning) \
    case DNET_FC_TX_##name: \
        return #name;
#include "srq_flowctl/states.def"
#undef DNET_FC_TX_STATE
    }
    return "?";
}

void dnet_fc_sender_stop(dnet_fc_sender_t *s)
{
    switch ((dnet_fc_tx_state_t) s->state) {
        case DNET_FC_TX_RUN:
            s->state = DNET_FC_TX_STOPPED;
            break;
        case DNET_FC_TX_STOPPED: /* idempotent */
        case DNET_FC_TX_DEAD:
            break;
    }
}

bool dnet_fc_sender_resend(dnet_fc_sender_t *s)
{
    switch ((dnet_fc_tx_state_t) s->state) {
        case DNET_FC_TX_STOPPED:
            s->state = DNET_FC_TX_RUN;
            return true;
        case DNET_FC_TX_RUN: /* a repeated RESEND */
        case DNET_FC_TX_DEAD:
            break;
    }
    return false;
}

void dnet_fc_sender_dead(dnet_fc_sender_t *s)
{
    s->state = DNET_FC_TX_DEAD;
}
