/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop and resend as the endpoint runs it, within one host (docs/protocol.md 6): N senders, one receiver with B
 * entries.  A sender is told at once that its packet has found no room; the note of it for the receiver, and each
 * RESEND, is an entry of a flow ring, which may be lost, doubled or late.  The steps are those of
 * src/endpoint/{send,flow}.c and src/srq_flowctl/receiver.c; states have the names of states.def.
 *
 *   N senders   M messages each   B entries   GMAX credits of a grant
 *   LOSS, DUP   how many flow ring entries are lost, how many doubled
 *   EARLY       how many timers of stopped senders run out although something is under way
 *   UNASKED     how many stops happen for nothing, and the receiver learns nothing of them
 *
 * Time is abstract: T_stop is over when nothing is under way that could make it superfluous, or by EARLY; a grant
 * may be over at any time, as with a sender that computes.
 *
 * Checked: nothing lost, doubled or overtaken; no run ends before everything has arrived; everything arrives, and a
 * stopped sender runs again (weak fairness).  Each BREAK_ macro leaves one mechanism out.
 */
#ifndef N
#define N 2
#endif
#ifndef M
#define M 2
#endif
#ifndef B
#define B 1
#endif
#ifndef GMAX
#define GMAX 2
#endif
#ifndef LOSS
#define LOSS 0
#endif
#ifndef DUP
#define DUP 0
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef UNASKED
#define UNASKED 0
#endif
#define FLOW 2 /* entries of a flow ring; one that finds it full is lost */

mtype = { RUN, STOPPED, DEAD }; /* dnet_fc_tx_state_t; no process dies here */

typedef tx_t { /* dnet_channel_t */
    mtype state = RUN;
    byte next;     /* first message that is not delivered */
    bool limited;  /* others wait as well: */
    byte credits;  /* so many may go out before the receiver is asked for more */
};

typedef record_t { /* dnet_fc_record_t */
    bool stopped; /* in the queue of the stopped */
    byte credits; /* of its grant; 0: it has none */
};

tx_t tx[N];
record_t record[N];
byte expected[N];
byte lose = LOSS, duplicate = DUP, early = EARLY, unasked = UNASKED;
chan ring = [B] of { byte, byte };      /* sender, number */
chan notes[N] = [FLOW] of { mtype };    /* in the receiver's flow ring */
chan resends[N] = [FLOW] of { bool, byte }; /* in the sender's: shared, credits */
chan stopq = [N] of { byte };

#if N == 2
#define RESERVED (record[0].credits + record[1].credits)
#define ALL_ARRIVED (expected[0] == M && expected[1] == M)
#define OTHERS(s) (record[1 - s].stopped || record[1 - s].credits > 0)
#else
#define RESERVED (record[0].credits + record[1].credits + record[2].credits)
#define ALL_ARRIVED (expected[0] == M && expected[1] == M && expected[2] == M)
#define OTHERS(s) \
    ((s != 0 && (record[0].stopped || record[0].credits > 0)) || \
     (s != 1 && (record[1].stopped || record[1].credits > 0)) || \
     (s != 2 && (record[2].stopped || record[2].credits > 0)))
#endif
/* Nothing is under way that would resume the sender. */
#define QUIET(s) (empty(notes[s]) && empty(resends[s]) && !record[s].stopped && record[s].credits == 0)

/* Append to a flow ring. */
inline note(s)
{
    if
    :: full(notes[s]) /* lost, as what it says is there already */
    :: nfull(notes[s]) -> notes[s]!STOPPED
    :: lose > 0 -> lose--
    :: duplicate > 0 && len(notes[s]) < FLOW - 1 -> duplicate--; notes[s]!STOPPED; notes[s]!STOPPED
    fi
}

inline resend(s, is_shared, packets)
{
    if
    :: full(resends[s])
    :: nfull(resends[s]) -> resends[s]!is_shared, packets
    :: lose > 0 -> lose--
    :: duplicate > 0 && len(resends[s]) < FLOW - 1 ->
        duplicate--;
        resends[s]!is_shared, packets;
        resends[s]!is_shared, packets
    fi
}

/* ---- sender ---- */

inline transmit(s)
{
    if
    :: tx[s].limited && tx[s].credits == 0 -> /* dnet_drv_ask() */
        tx[s].state = STOPPED;
        note(s)
    :: else ->
        if
        :: tx[s].limited -> tx[s].credits--
        :: else
        fi;
        if
        :: nfull(ring) -> ring!s, tx[s].next; tx[s].next++
        :: full(ring) -> tx[s].state = STOPPED; note(s)
        :: unasked > 0 -> unasked--; tx[s].state = STOPPED
        fi
    fi
}

/* queue_retry(): it asks, as it has got no grant */
inline try_again(s)
{
    tx[s].state = RUN;
    tx[s].limited = true;
    tx[s].credits = 0
}

proctype Sender(byte s)
{
    bool shared;
    byte credits;
end:
    do
    :: atomic { tx[s].state == RUN && tx[s].next < M -> transmit(s) }
#ifdef BREAK_QUEUE /* what is sent while stopped goes out at once */
    :: atomic { tx[s].state == STOPPED && tx[s].next < M - 1 && nfull(ring) -> ring!s, (tx[s].next + 1) }
#endif
#ifdef BREAK_REPORT /* a packet that found no room is taken for delivered */
    :: atomic { tx[s].state == RUN && tx[s].next < M && full(ring) -> tx[s].next++ }
#endif
    :: atomic { nempty(resends[s]) ->
        resends[s]?shared, credits;
        if
        :: tx[s].state == STOPPED ->
            tx[s].state = RUN;
            tx[s].limited = shared;
            tx[s].credits = credits
        :: else /* late, or a second time */
        fi;
        shared = 0; credits = 0 }
#ifndef BREAK_RETRY
    :: atomic { tx[s].state == STOPPED && QUIET(s) -> try_again(s) }
    :: atomic { tx[s].state == STOPPED && early > 0 -> early--; try_again(s) }
#endif
    od
}

/* ---- receiver ---- */

inline noted(s)
{
    if
    :: record[s].stopped /* it keeps its place */
    :: !record[s].stopped ->
        record[s].credits = 0; /* what was granted is used up */
        record[s].stopped = true;
        assert(nfull(stopq));
        stopq!s
    fi
}

inline grant_head()
{
    stopq?s;
    record[s].stopped = false;
    record[s].credits = (B - len(ring) - RESERVED < GMAX -> B - len(ring) - RESERVED : GMAX);
#ifndef BREAK_GRANT /* no sender is told */
    resend(s, OTHERS(s), record[s].credits);
#endif
    s = 0
}

proctype Receiver()
{
    byte s, number;
end:
    do
    :: atomic { nempty(ring) ->
        ring?s, number;
        assert(number == expected[s]); /* nothing lost, doubled or overtaken */
        expected[s]++;
        s = 0; number = 0 }
    :: atomic { nempty(notes[0]) -> notes[0]?_; noted(0) }
    :: atomic { nempty(notes[1]) -> notes[1]?_; noted(1) }
#if N == 3
    :: atomic { nempty(notes[2]) -> notes[2]?_; noted(2) }
#endif
    :: atomic { nempty(stopq) && len(ring) + RESERVED < B -> grant_head() }
    od
}

/* Grants are over after some time, used or not. */
proctype Grants(byte s)
{
end:
    do
    :: atomic { record[s].credits > 0 -> record[s].credits = 0 }
    od
}

/* The end of every run that ends. */
proctype Monitor()
{
end:
    timeout -> assert(ALL_ARRIVED)
}

init
{
    atomic {
        byte s = 0;
        do
        :: s < N ->
            run Sender(s);
            run Grants(s);
            s++
        :: else -> break
        od;
        run Receiver();
        run Monitor()
    }
}

ltl arrives { <> (ALL_ARRIVED) }
ltl resumes { [] (tx[0].state == STOPPED -> <> (tx[0].state == RUN)) }
