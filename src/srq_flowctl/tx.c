/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's end of a connection: the sender table of 8.3, row by row.
 */
#include "srq_flowctl/connection.h"

dnet_fc_tx_env_t dnet_fc_tx_defaults(const dnet_fc_tx_ops_t *ops, void *arg)
{
    return (dnet_fc_tx_env_t){
        .ops = ops,
        .arg = arg,
        .window = 64,
        .ack_ns = 100 * 1000,
        .stop_ns = 10 * 1000 * 1000,
        .probe_max_ns = 1000 * 1000 * 1000,
        .repeats = 7,
        .random = 1,
    };
}

void dnet_fc_tx_open(dnet_fc_tx_t *tx, uint16_t epoch, uint32_t srq_id, uint32_t first_seq)
{
    *tx = (dnet_fc_tx_t){
        .state = DNET_FC_TX_RUN,
        .epoch = epoch,
        .srq_id = srq_id,
        .una_seq = first_seq,
        .send_seq = first_seq,
        .next_seq = first_seq,
        .deadline_ns = UINT64_MAX,
    };
}

static void say(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, dnet_fc_control_type_t type)
{
    dnet_fc_control_t word = {
        .type = (uint8_t) type,
        .epoch = tx->epoch,
        .srq_id = tx->srq_id,
        .seq = tx->una_seq,
        .grant_id = tx->last_grant,
    };
    env->ops->control(env->arg, tx, &word);
}

/* When to probe next: T_ack or T_stop, doubled for each PROBE that got no answer, +-25 % (8.6). */
static void set_timer(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, uint64_t now_ns)
{
    if (tx->state == DNET_FC_TX_DEAD || tx->una_seq == tx->next_seq) {
        tx->deadline_ns = UINT64_MAX;
        return;
    }
    uint64_t wait = tx->state == DNET_FC_TX_STOPPED ? env->stop_ns : env->ack_ns;
    for (unsigned i = 0; i < tx->silent && wait < env->probe_max_ns; i++)
        wait *= 2;
    if (wait > env->probe_max_ns)
        wait = env->probe_max_ns;
    env->random = env->random * 1664525u + 1013904223u;
    tx->deadline_ns = now_ns + wait - wait / 4 + wait / 2 * (env->random >> 16) / 65536;
}

/* Transmit what state, window and credits allow. */
static void pump(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env)
{
    uint32_t limit = tx->credits != 0 && tx->credits < env->window ? tx->credits : env->window;
    while (tx->state == DNET_FC_TX_RUN && tx->send_seq != tx->next_seq &&
           tx->send_seq - tx->una_seq < limit) {
        dnet_fc_data_t data = {
            .epoch = tx->epoch,
            .last = tx->send_seq + 1 == tx->next_seq,
            .seq = tx->send_seq++,
        };
        env->ops->transmit(env->arg, tx, &data);
    }
}

/* The receiver has everything before seq. */
static void acknowledge(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, uint32_t seq)
{
    if (!dnet_fc_before(tx->una_seq, seq))
        return;
    tx->una_seq = seq;
    tx->credits = 0;
    if (dnet_fc_before(tx->send_seq, seq))
        tx->send_seq = seq;
    env->ops->acked(env->arg, tx, seq);
}

static void go_back(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, const dnet_fc_control_t *word)
{
    acknowledge(tx, env, word->seq);
    tx->send_seq = word->seq;
}

static void resume(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, const dnet_fc_control_t *word)
{
    go_back(tx, env, word);
    tx->last_grant = word->grant_id;
    tx->credits = word->credits;
    tx->state = DNET_FC_TX_RUN;
}

static void die(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env)
{
    tx->state = DNET_FC_TX_DEAD;
    tx->deadline_ns = UINT64_MAX;
    env->ops->dead(env->arg, tx);
}

static void run_control(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, const dnet_fc_control_t *word)
{
    switch ((dnet_fc_control_type_t) word->type) {
        case DNET_FC_CONTROL_STOP:
            /* A lower grant number: a late copy of a STOP that a RESEND has ended since. */
            if (!dnet_fc_before(word->grant_id, tx->last_grant) && word->seq != tx->next_seq) {
                go_back(tx, env, word);
                tx->state = DNET_FC_TX_STOPPED;
            }
            break;
        case DNET_FC_CONTROL_RESEND:
            /* Later: it overtook its STOP.  Equal: the retransmission was lost. */
            if (!dnet_fc_before(word->grant_id, tx->last_grant))
                resume(tx, env, word);
            break;
        case DNET_FC_CONTROL_NAK:
            go_back(tx, env, word);
            break;
        case DNET_FC_CONTROL_ACK:
        case DNET_FC_CONTROL_PROBE:
        case DNET_FC_CONTROL_CLOSE:
        case DNET_FC_CONTROL_RESET:
            break;
    }
}

static void stopped_control(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, const dnet_fc_control_t *word)
{
    switch ((dnet_fc_control_type_t) word->type) {
        case DNET_FC_CONTROL_RESEND:
            if (dnet_fc_before(tx->last_grant, word->grant_id))
                resume(tx, env, word);
            break;
        case DNET_FC_CONTROL_NAK:
            /* The receiver is OPEN: a late copy of the dropped packet has used the grant up. */
            go_back(tx, env, word);
            tx->state = DNET_FC_TX_RUN;
            break;
        case DNET_FC_CONTROL_STOP: /* the answer to a PROBE */
        case DNET_FC_CONTROL_ACK:
        case DNET_FC_CONTROL_PROBE:
        case DNET_FC_CONTROL_CLOSE:
        case DNET_FC_CONTROL_RESET:
            break;
    }
}

/* Is the word's packet one that is under way or about to be: una_seq <= seq <= next_seq? */
static bool plausible(const dnet_fc_tx_t *tx, uint32_t seq)
{
    return !dnet_fc_before(seq, tx->una_seq) && !dnet_fc_before(tx->next_seq, seq);
}

dnet_status_t dnet_fc_tx_send(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, uint64_t now_ns)
{
    if (tx->state == DNET_FC_TX_DEAD)
        return DNET_ERR_PEER_DEAD;
    tx->next_seq++;
    if (tx->deadline_ns == UINT64_MAX)
        set_timer(tx, env, now_ns);
    pump(tx, env);
    return DNET_OK;
}

void dnet_fc_tx_control(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, const dnet_fc_control_t *word,
                        uint64_t now_ns)
{
    if (word->epoch != tx->epoch || tx->state == DNET_FC_TX_DEAD)
        return;
    if (word->type == DNET_FC_CONTROL_RESET) {
        die(tx, env);
        return;
    }
    tx->silent = 0;
    if (word->type == DNET_FC_CONTROL_ACK && plausible(tx, word->seq + 1)) {
        /* A stopped sender's first packet is delivered: the receiver is not HELD, or not for it. */
        if (tx->state == DNET_FC_TX_STOPPED && word->seq + 1 != tx->una_seq)
            tx->state = DNET_FC_TX_RUN;
        acknowledge(tx, env, word->seq + 1);
    }
    if (word->type != DNET_FC_CONTROL_ACK && plausible(tx, word->seq)) {
        switch ((dnet_fc_tx_state_t) tx->state) {
            case DNET_FC_TX_RUN:
                run_control(tx, env, word);
                break;
            case DNET_FC_TX_STOPPED:
                stopped_control(tx, env, word);
                break;
            case DNET_FC_TX_DEAD:
                break;
        }
    }
    set_timer(tx, env, now_ns);
    pump(tx, env);
}

void dnet_fc_tx_timer(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, uint64_t now_ns)
{
    if (now_ns < tx->deadline_ns)
        return;
    if (tx->silent >= env->repeats) {
        die(tx, env);
        return;
    }
    tx->silent++;
    set_timer(tx, env, now_ns);
    say(tx, env, DNET_FC_CONTROL_PROBE);
}

void dnet_fc_tx_close(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env)
{
    if (tx->state == DNET_FC_TX_DEAD)
        return;
    say(tx, env, DNET_FC_CONTROL_CLOSE);
    die(tx, env);
}
