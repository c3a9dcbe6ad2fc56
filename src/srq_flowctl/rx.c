/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving NIC's end of a connection: the receiver table of 8.3, row by row.
 */
#include "srq_flowctl/connection.h"

const char *dnet_fc_rx_state_name(dnet_fc_rx_state_t state)
{
    switch (state) {
#define DNET_FC_RX_STATE(name, meaning) \
    case DNET_FC_RX_##name: \
        return #name;
#include "srq_flowctl/states.def"
#undef DNET_FC_RX_STATE
    }
    return "?";
}

const char *dnet_fc_control_name(dnet_fc_control_type_t type)
{
    switch (type) {
#define DNET_FC_CONTROL(name, value, from, seq_means) \
    case DNET_FC_CONTROL_##name: \
        return #name;
#include "srq_flowctl/controls.def"
#undef DNET_FC_CONTROL
    }
    return "?";
}

static void say(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, dnet_fc_control_type_t type, uint16_t epoch,
                uint32_t seq)
{
    dnet_fc_control_t word = {
        .type = (uint8_t) type,
        .credits = rx->reserved,
        .epoch = epoch,
        .srq_id = pool->srq_id,
        .seq = seq,
        .grant_id = rx->grant_id,
    };
    pool->ops->control(pool->arg, rx, &word);
}

static void stop(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool)
{
    say(rx, pool, DNET_FC_CONTROL_STOP, rx->epoch, rx->exp_seq);
}

/* Give back what is left of a grant. */
static void release(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool)
{
    pool->free += rx->reserved;
    rx->reserved = 0;
}

static void advance(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool)
{
    rx->exp_seq++;
    rx->nak_sent = false;
    say(rx, pool, DNET_FC_CONTROL_ACK, rx->epoch, rx->exp_seq - 1);
}

void dnet_fc_rx_open(dnet_fc_rx_t *rx, uint16_t epoch, uint32_t first_seq)
{
    *rx = (dnet_fc_rx_t){.state = DNET_FC_RX_OPEN, .epoch = epoch, .exp_seq = first_seq};
}

bool dnet_fc_rx_expects(const dnet_fc_rx_t *rx, const dnet_fc_data_t *data)
{
    return (rx->state == DNET_FC_RX_OPEN || rx->state == DNET_FC_RX_GRANTED) &&
           data->epoch == rx->epoch && data->seq == rx->exp_seq;
}

void dnet_fc_rx_refused(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool)
{
    release(rx, pool);
    rx->state = DNET_FC_RX_HELD;
    pool->ops->note_stop(pool->arg, rx);
    stop(rx, pool);
}

bool dnet_fc_rx_data(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, const dnet_fc_data_t *data)
{
    if (rx->state == DNET_FC_RX_DEAD) {
        say(rx, pool, DNET_FC_CONTROL_RESET, data->epoch, 0);
        return false;
    }
    if (data->epoch != rx->epoch)
        return false;
    if (dnet_fc_before(data->seq, rx->exp_seq)) {
        say(rx, pool, DNET_FC_CONTROL_ACK, rx->epoch, rx->exp_seq - 1);
        return false;
    }
    bool expected = data->seq == rx->exp_seq;
    switch ((dnet_fc_rx_state_t) rx->state) {
        case DNET_FC_RX_OPEN:
            if (!expected) {
                if (!rx->nak_sent)
                    say(rx, pool, DNET_FC_CONTROL_NAK, rx->epoch, rx->exp_seq);
                rx->nak_sent = true;
                return false;
            }
            if (pool->free == 0) {
                dnet_fc_rx_refused(rx, pool);
                return false;
            }
            pool->free--;
            advance(rx, pool);
            return true;
        case DNET_FC_RX_HELD: /* the tail behind the dropped packet (O2) */
            return false;
        case DNET_FC_RX_GRANTED:
            if (!expected)
                return false;
            rx->reserved--;
            if (data->last)
                release(rx, pool);
            if (rx->reserved == 0)
                rx->state = DNET_FC_RX_OPEN;
            advance(rx, pool);
            return true;
        case DNET_FC_RX_DEAD:
            break;
    }
    return false;
}

static void probed(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, uint32_t una_seq)
{
    switch ((dnet_fc_rx_state_t) rx->state) {
        case DNET_FC_RX_OPEN:
            if (dnet_fc_before(una_seq, rx->exp_seq))
                say(rx, pool, DNET_FC_CONTROL_ACK, rx->epoch, rx->exp_seq - 1);
            else
                say(rx, pool, DNET_FC_CONTROL_NAK, rx->epoch, rx->exp_seq);
            break;
        case DNET_FC_RX_HELD:
            if (rx->parked) {
                rx->parked = false;
                pool->ops->note_stop(pool->arg, rx);
            }
            stop(rx, pool);
            break;
        case DNET_FC_RX_GRANTED:
            say(rx, pool, DNET_FC_CONTROL_RESEND, rx->epoch, rx->exp_seq);
            break;
        case DNET_FC_RX_DEAD:
            break;
    }
}

void dnet_fc_rx_control(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, const dnet_fc_control_t *word)
{
    if (rx->state == DNET_FC_RX_DEAD) {
        if (word->type == DNET_FC_CONTROL_PROBE)
            say(rx, pool, DNET_FC_CONTROL_RESET, word->epoch, 0);
        return;
    }
    if (word->epoch != rx->epoch)
        return;
    if (word->type == DNET_FC_CONTROL_PROBE)
        probed(rx, pool, word->seq);
    else if (word->type == DNET_FC_CONTROL_CLOSE)
        dnet_fc_rx_close(rx, pool, false);
}

dnet_status_t dnet_fc_rx_grant(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, unsigned credits)
{
    if (rx->state != DNET_FC_RX_HELD)
        return DNET_ERR_STATE;
    if (pool->free < credits)
        return DNET_NO_RESOURCE;
    pool->free -= credits;
    rx->reserved = (uint8_t) credits;
    rx->grant_id++;
    rx->parked = false;
    rx->state = DNET_FC_RX_GRANTED;
    say(rx, pool, DNET_FC_CONTROL_RESEND, rx->epoch, rx->exp_seq);
    return DNET_OK;
}

dnet_status_t dnet_fc_rx_repeat(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool)
{
    if (rx->state != DNET_FC_RX_GRANTED)
        return DNET_ERR_STATE;
    say(rx, pool, DNET_FC_CONTROL_RESEND, rx->epoch, rx->exp_seq);
    return DNET_OK;
}

void dnet_fc_rx_revoke(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool)
{
    if (rx->state != DNET_FC_RX_GRANTED)
        return;
    release(rx, pool);
    rx->state = DNET_FC_RX_HELD;
    rx->parked = true;
}

void dnet_fc_rx_close(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, bool tell)
{
    bool stopped = rx->state == DNET_FC_RX_HELD || rx->state == DNET_FC_RX_GRANTED;
    release(rx, pool);
    rx->parked = false;
    rx->state = DNET_FC_RX_DEAD;
    if (tell && stopped)
        say(rx, pool, DNET_FC_CONTROL_RESET, rx->epoch, 0);
}
