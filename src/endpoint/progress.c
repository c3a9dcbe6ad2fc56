/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One round over everything that can go on, and what to do when nothing can.
 */
#include <poll.h>
#include <sched.h>

#include "endpoint/channel.h"
#include "endpoint/defer_recv.h"
#include "endpoint/dispatch.h"
#include "endpoint/dump.h"
#include "endpoint/flow.h"
#include "endpoint/guests.h"
#include "endpoint/inbox.h"
#include "endpoint/retry.h"
#include "endpoint/rndv_recv.h"
#include "endpoint/rndv_send.h"
#include "endpoint/share.h"
#include "endpoint/waits.h"

/* A bound, so that sends and grants get their turn while messages pour in. */
#define ROUND_ENTRIES 64u
/* Idle rounds between two looks at the clock: each, where ranks outnumber processors. */
#define CLOCK_EVERY 256u
/* Who waits calls again at once; one that stays away for longer works between its calls, and only
 * looks whether there is something. */
#define AT_ONCE_NS 2000u
#define AT_ONCE_FAR_NS 20000u /* where each round looks at a network too, by system calls */
/* Such a caller gives its processor away at most so often. */
#define OWN_SHARE_LEAST_NS 100000u
#define OWN_SHARE_MOST_NS 10000000u
#define ROUNDS_BEFORE_YIELD 2u
#define YIELDS_BEFORE_SLEEP 512u
#define YIELDS_OF_STOPPED 4u
/* So many without a look at all that may have come: where ranks outnumber processors such a look
 * takes some 0.3 us of 2, for whoever comes back finds none of its pages in the processor's tables.
 */
#define YIELDS_OF_ROUND 8u
/* Where ranks outnumber processors and the waits for messages are usually so long, the yields of
 * those who wait take more of the processors than to fall asleep and be woken. */
#define LONG_WAIT_NS 300000u
#define YIELDS_OF_LONG_WAIT 4u
#define YIELDS_FAR 16u /* with CLOCK_EVERY rounds between, of AT_ONCE_FAR_NS at most */
/* A rank that sleeps is woken by what comes.  What there is beside that it looks at by itself,
 * twice as long after each sleep of a wait: 256 ranks that do so each millisecond take two
 * processors. */
#define SLEEP_US 1000u
#define SLEEP_DOUBLINGS 3u
#define CHECK_EVERY_NS 50000000u /* a look at the peers' lives */

/* Rounds that have received something from this host leave the network alone but for each of so
 * many: a look at it is a system call. */
#define NETWORK_EVERY 16u

/* What the network has brought is received in the same round: the next one would look there first.
 */
static bool network_round(dnet_ep_t *ep, bool did)
{
    if (did && ++ep->progress.network_skips % NETWORK_EVERY != 0)
        return false;
    return dnet_flow_network(ep) && (dnet_receive_round(ep, ROUND_ENTRIES), true);
}

/* Large messages. */
static bool rndv_round(dnet_ep_t *ep)
{
    bool did = dnet_rndv_send_round(ep);
    return dnet_rndv_recv_round(ep) || did;
}

/* A sender has been stopped since the last round, so the rings are full: its RESEND, and then the
 * packet it kept, are on their way while the rest is drained, up to a message without a receive. */
static DNET_COLD bool receive_round_when_stopped(dnet_ep_t *ep)
{
    const uint32_t before = ep->drv.lh_read;
    bool did = dnet_flow_first(ep), received = ep->drv.lh_read != before;
    if (received && ep->inbox.left == ep->drv.lh_read)
        return did;
    ep->inbox.goes_on = received;
    did |= dnet_receive_round(ep, ROUND_ENTRIES);
    ep->inbox.goes_on = false;
    return did;
}

static bool round_once(dnet_ep_t *ep)
{
    bool did = DNET_UNLIKELY(dnet_drv_flow_waiting(&ep->drv))
                   ? receive_round_when_stopped(ep)
                   : dnet_receive_round(ep, ROUND_ENTRIES);
    if (dnet_drv_flow_waiting(&ep->drv) ||
        dnet_fc_receiver_pending(&ep->receiver) | ep->holding | ep->flow_turns) {
        did |= dnet_flow_round(ep);
        if (ep->job.has_port)
            did |= network_round(ep, did);
    }
    if (ep->rndv.sending || ep->rndv.recvs_polled || dnet_drv_status_waiting(&ep->drv))
        did |= rndv_round(ep);
    return did;
}

bool dnet_ep_has_come(const dnet_ep_t *ep)
{
    return dnet_drv_lh_next(&ep->drv) || dnet_drv_flow_waiting(&ep->drv);
}

static bool still_idle(void *arg)
{
    dnet_ep_t *ep = arg;
    return !dnet_ep_has_come(ep) && !dnet_rndv_recv_waiting(ep) && !dnet_rndv_send_waiting(ep) &&
           (!ep->progress.awaited || ep->progress.awaited(ep->progress.awaited_arg));
}

void dnet_ep_set_awaited(dnet_ep_t *ep, bool (*awaited)(void *arg), void *arg)
{
    ep->progress.awaited = awaited;
    ep->progress.awaited_arg = arg;
}

void dnet_ep_set_at_work(dnet_ep_t *ep, bool at_work)
{
    ep->progress.at_work = at_work;
}

void dnet_ep_waits_anew(dnet_ep_t *ep)
{
    ep->idle = 0;
    ep->looked_ns = 0;
}

/* Is nothing under way from or to anybody? */
static bool is_quiet(const dnet_ep_t *ep)
{
    return !ep->ops.active && !ep->tx.open_channels && !ep->inbox.match.unexpected_count &&
           !ep->inbox.assemblies && !ep->rndv.recvs_polled && !ep->rndv.recvs_stored &&
           !ep->rndv.wait && !ep->holding && !dnet_fc_receiver_pending(&ep->receiver);
}

/* Is a message half across, from or to that process, for which somebody waits, and that can come to
 * no end without it?  Not before all is heard that has come. */
static bool is_amid_a_message(dnet_ep_t *ep, uint32_t peer)
{
    return !dnet_drv_status_waiting(&ep->drv) &&
           (dnet_rndv_is_sending(ep, peer) || dnet_rndv_is_receiving(ep, peer) ||
            dnet_inbox_is_receiving(ep, peer));
}

/* Processes of other jobs that have gone answer nothing, and nobody waits for them: they may leave
 * with a word to them under way, for who has sent all that it had is not told that it is held. */
static void let_go(dnet_ep_t *ep)
{
    for (uint32_t peer = ep->size; peer < dnet_peers_end(ep); peer++) {
        if (!dnet_guest_is_away(ep, peer))
            continue;
        if (dnet_drv_lh_next(&ep->drv))
            return; /* what it has said last is heard first */
        if (!dnet_guest_has_left(ep, peer) && is_amid_a_message(ep, peer) &&
            dnet_guest_take_back(ep, peer))
            continue;
        bool free_to_end = dnet_guest_is_free_to_end(ep, peer);
        dnet_defer_sender_gone(ep, peer);
        dnet_channel_peer_gone(ep, peer, !free_to_end);
        if (free_to_end)
            dnet_ops_peer_gone(ep, peer);
    }
}

/* Has a packet been lost on its way, whatever it was?  Something waits for it, here or at the peer:
 * the job cannot go on.  Has a peer that this process has dealt with ended without leaving?  A few
 * peers are looked at each time. */
static dnet_status_t check_peers(dnet_ep_t *ep)
{
    if (DNET_UNLIKELY(dnet_job_way_lost(ep)))
        return DNET_ERR_NO_ROUTE;
    uint32_t looks = ep->size / 64 + 1;
    while (looks--) {
        uint32_t rank = ep->progress.check_next++ % ep->size;
        dnet_drv_target_t target = ep->peers[rank].target;
        if (rank == ep->rank || !ep->dev->ops->peer_lost(ep->dev, dnet_drv_target_lid(target),
                                                         dnet_drv_target_wid(target)))
            continue;
        if (!ep->progress.dead_reported)
            dnet_job_tell_lost(ep, rank);
        ep->progress.dead_reported = true;
        return DNET_ERR_PEER_DEAD;
    }
    if (DNET_LIKELY(!ep->guests.end))
        return DNET_OK;
    bool quiet = is_quiet(ep);
    if (!quiet)
        let_go(ep);
    if (!dnet_guests_lost(ep, quiet))
        return DNET_OK;
    ep->progress.dead_reported = true;
    return DNET_ERR_PEER_DEAD;
}

/* Has whoever started the job ended?  Nobody would end this process then, nor its peers. */
static dnet_status_t check_lifeline(dnet_ep_t *ep)
{
    struct pollfd line = {.fd = ep->progress.lifeline, .events = POLLRDHUP};
    if (!ep->progress.lifeline || poll(&line, 1, 0) <= 0 || !(line.revents & (POLLRDHUP | POLLHUP)))
        return DNET_OK;
    if (!ep->progress.dead_reported)
        dnet_error("the process manager has ended, and this process with it");
    ep->progress.dead_reported = true;
    return DNET_ERR_PEER_DEAD;
}

static dnet_status_t check_peers_at_times(dnet_ep_t *ep)
{
    if (ep->looked_ns - ep->progress.checked_ns < CHECK_EVERY_NS)
        return DNET_OK;
    ep->progress.checked_ns = ep->looked_ns;
    dnet_page_waiting(ep, ep->looked_ns);
    dnet_dump_long_wait(ep, ep->looked_ns);
    if (DNET_UNLIKELY(dnet_drv_lh_late(&ep->drv)) && dnet_drv_lh_settle(&ep->drv))
        dnet_drv_publish(&ep->drv);
    dnet_status_t status = check_peers(ep);
    return status == DNET_OK ? check_lifeline(ep) : status;
}

static dnet_status_t sleep_once(dnet_ep_t *ep)
{
    ep->page.counters.sleeps++;
    DNET_TRACE(sleep, 0, 0, 0);
    uint32_t most_us = SLEEP_US << ep->progress.sleeps;
    ep->progress.sleeps += ep->progress.sleeps < SLEEP_DOUBLINGS;
    ep->dev->ops->sleep(ep->dev, dnet_retry_sleep_us(ep, most_us), still_idle, ep);
    DNET_TRACE(wake, 0, 0, 0);
    ep->looked_ns = dnet_clock_ns();
    return check_peers_at_times(ep);
}

/* Stops that have lasted long. */
static void retry_at_times(dnet_ep_t *ep, uint64_t now_ns)
{
    if (DNET_LIKELY(!ep->tx.open_channels || now_ns < ep->tx.retry_ns))
        return;
    ep->in_progress = true;
    dnet_retry_due(ep, now_ns);
    ep->in_progress = false;
}

/* Room is given back in larger parts while messages come.  A packet that needs nearly the whole of
 * a small ring would never fit beside the rest, and where no sender is granted room (compare/)
 * nothing else would give that back. */
static void give_back_all(dnet_ep_t *ep)
{
    dnet_drv_publish(&ep->drv);
}

/* No sleep: the caller holds a lock that other threads of this process need. */
static DNET_COLD dnet_status_t idle_round_impatient(dnet_ep_t *ep)
{
    give_back_all(ep);
    if (ep->oversubscribed)
        sched_yield();
    ep->looked_ns = dnet_clock_ns();
    retry_at_times(ep, ep->looked_ns);
    return check_peers_at_times(ep);
}

/* A stopped rank has nothing to do before its RESEND, which wakes it.  Where ranks outnumber
 * processors it sleeps soon: sched_yield() stays within the kernel's autogroup, and where each rank
 * has one its yields would not give the processor to the rank it waits for.  Not one that waits for
 * something else, which would not wake it so soon. */
static uint32_t yields_before_sleep(const dnet_ep_t *ep)
{
    bool stopped = ep->tx.open_channels && ep->tx.retry_ns != UINT64_MAX;
    if (ep->oversubscribed && stopped && !ep->progress.awaited)
        return YIELDS_OF_STOPPED;
    if (ep->oversubscribed && !ep->progress.awaited && ep->progress.usual_wait_ns > LONG_WAIT_NS)
        return YIELDS_OF_LONG_WAIT;
    if (ep->oversubscribed)
        return YIELDS_BEFORE_SLEEP;
    return ep->job.has_port ? YIELDS_FAR : YIELDS_BEFORE_SLEEP;
}

/* The caller works between its calls: it neither sleeps nor is slowed down.  Where processors are
 * few others get one, but not before this process has had it for as long as it was last without. */
static dnet_status_t look_round(dnet_ep_t *ep, uint64_t now)
{
    uint64_t share = ep->progress.away_ns;
    share = share > OWN_SHARE_LEAST_NS ? share : OWN_SHARE_LEAST_NS;
    if (ep->oversubscribed && now - ep->progress.runs_since_ns >= share) {
        sched_yield();
        ep->looked_ns = ep->progress.runs_since_ns = dnet_clock_ns();
        uint64_t away = ep->looked_ns - now;
        ep->progress.away_ns = away < OWN_SHARE_MOST_NS ? away : OWN_SHARE_MOST_NS;
    }
    return check_peers_at_times(ep);
}

/* A wait begins: learn from the one before. */
static void wait_begins(dnet_ep_t *ep, uint64_t now)
{
    dnet_progress_t *p = &ep->progress;
    if (p->idle_until_ns) {
        int64_t waited = (int64_t) (p->idle_until_ns - p->idle_since_ns);
        p->usual_wait_ns += (uint64_t) ((waited - (int64_t) p->usual_wait_ns) / 4);
    }
    p->idle_since_ns = now;
    p->idle_until_ns = p->awaited ? 0 : now;
    p->yields = p->sleeps = 0;
}

/* Give the processor away; where ranks outnumber processors several times, until something has
 * come. False: this has been done often enough in this wait. */
static bool yield(dnet_ep_t *ep)
{
    uint32_t most = yields_before_sleep(ep), times = 1;
    if (ep->progress.yields >= most)
        return false;
    if (ep->oversubscribed && !ep->progress.awaited && !ep->job.has_port)
        times = most - ep->progress.yields;
    times = times < YIELDS_OF_ROUND ? times : YIELDS_OF_ROUND;
    if (times == 1)
        sched_yield();
    else
        ep->dev->ops->yield(ep->dev, times, still_idle, ep);
    ep->progress.yields += times;
    return true;
}

/* Poll for a while, then give the time slice away, then, in a call that waits, sleep. */
static DNET_COLD dnet_status_t idle_round(dnet_ep_t *ep)
{
    uint64_t now = dnet_clock_ns();
    retry_at_times(ep, now);
    bool first = ep->looked_ns == 0;
    if (ep->progress.at_work) {
        ep->looked_ns = now;
        return look_round(ep, now);
    }
    uint64_t away_ns = now - ep->looked_ns;
    uint64_t at_once_ns = ep->job.has_port ? AT_ONCE_FAR_NS : AT_ONCE_NS;
    if (first || away_ns > at_once_ns * (ep->oversubscribed ? 1 : CLOCK_EVERY)) {
        ep->looked_ns = now;
        if (!first) {
            ep->progress.idle_since_ns = now;
            return look_round(ep, now);
        }
        wait_begins(ep, now);
        give_back_all(ep);
        return DNET_OK;
    }
    ep->looked_ns = now;
    if (!ep->progress.awaited)
        ep->progress.idle_until_ns = now;
    if (!ep->oversubscribed && now - ep->progress.idle_since_ns < ep->options.spin_us * 1000)
        return DNET_OK;
    if (ep->progress.only_looks)
        sched_yield();
    else if (!yield(ep))
        return sleep_once(ep);
    ep->looked_ns = dnet_clock_ns();
    return check_peers_at_times(ep);
}

dnet_status_t dnet_ep_progress(dnet_ep_t *ep, bool *did_p)
{
    if (DNET_UNLIKELY(ep->in_progress)) /* called from a callback */
        return DNET_OK;
    ep->in_progress = true;
    bool did = round_once(ep);
    ep->in_progress = false;
    if (did) {
        *did_p = true;
        ep->idle = 0;
        ep->looked_ns = 0;
        return DNET_OK;
    }
    ep->idle++;
    if (ep->impatient)
        return ep->idle % CLOCK_EVERY ? DNET_OK : idle_round_impatient(ep);
    if (DNET_LIKELY(ep->oversubscribed ? ep->idle <= ROUNDS_BEFORE_YIELD : ep->idle % CLOCK_EVERY))
        return DNET_OK;
    return idle_round(ep);
}

dnet_status_t dnet_ep_poll(dnet_ep_t *ep, bool *did_p)
{
    ep->progress.only_looks = true;
    dnet_status_t status = dnet_ep_progress(ep, did_p);
    ep->progress.only_looks = false;
    return status;
}
