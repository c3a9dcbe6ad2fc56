/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop/resend: N senders, one receiving NIC with B shared buffers, one receiving process, and channels
 * that may lose and duplicate.  The steps are those of src/srq_flowctl/{tx,rx,receiver}.c; names of
 * states and control words are those of states.def and controls.def (check-names compares them).
 *
 *   N senders   M messages each   B buffers   W window   GMAX credits of a grant
 *   LOSS, DUP, EARLY, REVOKES     how many packets are lost, how many duplicated, how many timers run
 *                                 out too early, how many grants are taken back
 *   CLOSES                        1: the last sender may close at any time
 *
 * Time is abstract: a timer runs out when nothing is under way that could still make it superfluous;
 * EARLY and REVOKES add those that do not wait for that.  The budgets make every run but an idle one finite.
 *
 * Checked: assertions (nothing lost, doubled or overtaken; buffers conserved; no STOP without need; no
 * end in which something is missing) and the formulas at the end.  Each BREAK_ macro leaves one
 * mechanism out; tests/spin/run expects spin to find the fault then.
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
#ifndef W
#define W 2
#endif
#ifndef GMAX
#define GMAX 1
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
#ifndef REVOKES
#define REVOKES 0
#endif
#ifndef CLOSES
#define CLOSES 0
#endif
#define CAP 3 /* packets a channel holds; who wants to send waits while it is full */

mtype = { OPEN, HELD, GRANTED, RUN, STOPPED, DEAD };            /* states.def */
mtype = { STOP, RESEND, PROBE, CLOSE, RESET, ACK, NAK };        /* controls.def */
mtype = { DATA };

typedef tx_t {
    mtype state = RUN;
    byte una, send, next; /* as in dnet_fc_tx_t */
    byte last_grant;
    byte credits;
};

typedef rx_t {
    mtype state = OPEN;
    byte exp;
    byte grant;
    byte reserved;
    byte promised; /* exp + 1 when the last grant was made; 0: none */
    bool parked, nak_sent;
};

tx_t tx[N];
rx_t rx[N];
byte free = B;     /* the shared pool */
byte occupied = 0; /* messages the process has not yet taken out of their buffers */
chan stopq = [N] of { byte };
#ifdef BREAK_TABLE
bool noted[N];
#endif
chan up[N] = [CAP] of { mtype, byte, bool };         /* type, seq, last */
chan down[N] = [CAP] of { mtype, byte, byte, byte }; /* type, seq, grant, credits */
byte lose = LOSS, duplicate = DUP, early = EARLY, revokes = REVOKES, closes = CLOSES;

#define QUIET(s) (empty(up[s]) && empty(down[s]))
#define ARRIVED(s) (rx[s].exp == M || tx[s].state == DEAD)
#if N == 2
#define ALL_ARRIVED (ARRIVED(0) && ARRIVED(1))
#define RESERVED (rx[0].reserved + rx[1].reserved)
#define ROOM_FOR_GRANT (nfull(down[0]) && nfull(down[1]))
#else
#define ALL_ARRIVED (ARRIVED(0) && ARRIVED(1) && ARRIVED(2))
#define RESERVED (rx[0].reserved + rx[1].reserved + rx[2].reserved)
#define ROOM_FOR_GRANT (nfull(down[0]) && nfull(down[1]) && nfull(down[2]))
#endif

inline to_rx(s, type, seq, last)
{
    if
    :: lose > 0 -> lose--
    :: up[s]!type, seq, last
    :: duplicate > 0 && len(up[s]) < CAP - 1 ->
        duplicate--;
        up[s]!type, seq, last;
        up[s]!type, seq, last
    fi
}

inline to_tx(s, type, seq)
{
    if
    :: lose > 0 -> lose--
    :: down[s]!type, seq, rx[s].grant, rx[s].reserved
    :: duplicate > 0 && len(down[s]) < CAP - 1 ->
        duplicate--;
        down[s]!type, seq, rx[s].grant, rx[s].reserved;
        down[s]!type, seq, rx[s].grant, rx[s].reserved
    fi
}

/* ---- sender ---- */

inline acknowledge(s, seq)
{
    if
    :: tx[s].una < seq ->
        assert(seq <= rx[s].exp); /* a send completes only when it has been delivered */
        tx[s].una = seq;
        tx[s].credits = 0;
        if
        :: tx[s].send < seq -> tx[s].send = seq
        :: else
        fi
    :: else
    fi
}

inline go_back(s, seq)
{
    acknowledge(s, seq);
    tx[s].send = seq
}

inline resume(s, seq, grant, credits)
{
    go_back(s, seq);
    tx[s].last_grant = grant;
    tx[s].credits = credits;
    tx[s].state = RUN
}

#ifdef BREAK_GRANT_NUMBER /* the table of 8.3 as written */
#define OBEY_STOP(grant, last) (grant == last)
#define OBEY_RESEND(grant, last) (grant == last + 1 || grant == last)
#else
#define OBEY_STOP(grant, last) (grant >= last)
#define OBEY_RESEND(grant, last) (grant >= last)
#endif
#ifdef BREAK_NAK_RESUMES /* the table of 8.3 as written */
#define NAK_RESUMES false
#else
#define NAK_RESUMES true
#endif

inline tx_control(s, type, seq, grant, credits)
{
    if
    :: tx[s].state == DEAD -> skip
    :: tx[s].state != DEAD && type == RESET -> tx[s].state = DEAD
    :: tx[s].state != DEAD && type == ACK && tx[s].una <= seq + 1 && seq + 1 <= tx[s].next ->
        if
        :: tx[s].state == STOPPED && tx[s].una < seq + 1 && NAK_RESUMES -> tx[s].state = RUN
        :: else
        fi;
        acknowledge(s, seq + 1)
    :: tx[s].state == RUN && type == STOP && tx[s].una <= seq && seq < tx[s].next &&
       OBEY_STOP(grant, tx[s].last_grant) ->
        go_back(s, seq);
        tx[s].state = STOPPED
    :: tx[s].state == RUN && type == RESEND && tx[s].una <= seq && seq <= tx[s].next &&
       OBEY_RESEND(grant, tx[s].last_grant) ->
        resume(s, seq, grant, credits)
    :: tx[s].state == STOPPED && type == RESEND && tx[s].una <= seq && seq <= tx[s].next &&
       grant > tx[s].last_grant ->
        resume(s, seq, grant, credits)
    :: tx[s].state == RUN && type == NAK && tx[s].una <= seq && seq <= tx[s].next ->
        go_back(s, seq)
    :: tx[s].state == STOPPED && type == NAK && tx[s].una <= seq && seq <= tx[s].next &&
       NAK_RESUMES ->
        go_back(s, seq);
        tx[s].state = RUN
    :: else
    fi
}

#define LIMIT(s) (tx[s].credits > 0 && tx[s].credits < W -> tx[s].credits : W)
#define MAY_TRANSMIT(s) \
    (tx[s].state == RUN && tx[s].send < tx[s].next && tx[s].send - tx[s].una < LIMIT(s))

proctype Sender(byte s)
{
    mtype type;
    byte seq, grant, credits;
end:
    do
    :: atomic { tx[s].state != DEAD && tx[s].next < M -> tx[s].next++ }
    :: atomic { MAY_TRANSMIT(s) && nfull(up[s]) ->
        to_rx(s, DATA, tx[s].send, (tx[s].send + 1 == tx[s].next));
        tx[s].send++ }
    :: atomic { nempty(down[s]) ->
        down[s]?type, seq, grant, credits;
        tx_control(s, type, seq, grant, credits);
        type = 0; seq = 0; grant = 0; credits = 0 }
#ifndef BREAK_PROBE
    :: atomic { tx[s].state != DEAD && tx[s].una < tx[s].next && QUIET(s) && !MAY_TRANSMIT(s) ->
        to_rx(s, PROBE, tx[s].una, false) }
    :: atomic { tx[s].state != DEAD && tx[s].una < tx[s].next && early > 0 && nfull(up[s]) ->
        early--;
        to_rx(s, PROBE, tx[s].una, false) }
#endif
    :: atomic { s == N - 1 && closes > 0 && tx[s].state != DEAD && nfull(up[s]) ->
        closes--;
        to_rx(s, CLOSE, 0, false);
        tx[s].state = DEAD }
    od
}

/* ---- receiving NIC ---- */

inline release(s)
{
    free = free + rx[s].reserved;
    rx[s].reserved = 0
}

inline deliver(s, seq)
{
    assert(seq == rx[s].exp); /* nothing lost, doubled or overtaken */
    rx[s].exp = seq + 1;      /* (a broken NIC goes on behind the gap) */
    rx[s].nak_sent = false;
    occupied++;
    assert(free + occupied + RESERVED <= B);
    to_tx(s, ACK, rx[s].exp - 1)
}

inline note_stop(s)
{
#ifdef BREAK_TABLE
    noted[s] = true
#else
    assert(nfull(stopq)); /* a connection is in the stop ring at most once */
    stopq!s
#endif
}

inline rx_data(s, seq, last)
{
    if
    :: rx[s].state == DEAD -> to_tx(s, RESET, 0)
    :: rx[s].state != DEAD && seq < rx[s].exp -> to_tx(s, ACK, rx[s].exp - 1)
    :: rx[s].state == OPEN && seq > rx[s].exp ->
        if
        :: !rx[s].nak_sent -> to_tx(s, NAK, rx[s].exp)
        :: else
        fi;
        rx[s].nak_sent = true
    :: rx[s].state == OPEN && seq == rx[s].exp && free == 0 ->
        assert(rx[s].promised != rx[s].exp + 1); /* a grant that is over has delivered (D4) */
        rx[s].state = HELD;
        note_stop(s);
        to_tx(s, STOP, rx[s].exp)
    :: rx[s].state == OPEN && seq == rx[s].exp && free > 0 ->
        free--;
        deliver(s, seq)
#ifdef BREAK_HELD /* O2: what comes behind a dropped packet is taken when there is room again */
    :: rx[s].state == HELD && free > 0 && seq >= rx[s].exp ->
        free--;
        deliver(s, seq)
#endif
    :: rx[s].state == GRANTED && seq == rx[s].exp && rx[s].reserved > 0 ->
        rx[s].reserved--;
        deliver(s, seq);
        if
        :: last -> release(s)
        :: else
        fi;
        if
        :: rx[s].reserved == 0 -> rx[s].state = OPEN
        :: else
        fi
    :: else
    fi
}

inline rx_probe(s, seq)
{
    if
    :: rx[s].state == DEAD -> to_tx(s, RESET, 0)
    :: rx[s].state == OPEN && seq < rx[s].exp -> to_tx(s, ACK, rx[s].exp - 1)
    :: rx[s].state == OPEN && seq >= rx[s].exp -> to_tx(s, NAK, rx[s].exp)
    :: rx[s].state == HELD ->
        if
        :: rx[s].parked ->
            rx[s].parked = false;
            note_stop(s)
        :: else
        fi;
        to_tx(s, STOP, rx[s].exp)
    :: rx[s].state == GRANTED -> to_tx(s, RESEND, rx[s].exp)
    fi
}

proctype Nic(byte s)
{
    mtype type;
    byte seq;
    bool last;
end:
    do
    :: atomic { nempty(up[s]) && nfull(down[s]) ->
        up[s]?type, seq, last;
        if
        :: type == DATA -> rx_data(s, seq, last)
        :: type == PROBE -> rx_probe(s, seq)
        :: type == CLOSE ->
            release(s);
            rx[s].parked = false;
            rx[s].state = DEAD
        fi;
        type = 0; seq = 0; last = 0 }
    od
}

/* ---- receiving process ---- */

inline grant_to(s)
{
    if
    :: rx[s].state != HELD || rx[s].parked /* closed since */
    :: else ->
        rx[s].reserved = (free < GMAX -> free : GMAX);
        free = free - rx[s].reserved;
        rx[s].grant++;
        rx[s].promised = rx[s].exp + 1;
        rx[s].state = GRANTED;
#ifdef BREAK_RESERVE /* D4: what is granted stays in the shared pool */
        release(s);
        rx[s].state = OPEN;
#endif
        to_tx(s, RESEND, rx[s].exp)
    fi
}

#ifdef BREAK_TABLE /* 8.4: a bit per sender, cleared after RESEND has been sent (section 2.3) */
proctype Receiver()
{
    byte s;
end:
    do
    :: atomic { occupied > 0 -> occupied--; free++ }
    :: atomic { noted[0] && rx[0].state == HELD && free > 0 && ROOM_FOR_GRANT -> s = 0; grant_to(s) };
        noted[s] = false
    :: atomic { noted[1] && rx[1].state == HELD && free > 0 && ROOM_FOR_GRANT -> s = 1; grant_to(s) };
        noted[s] = false
    od
}
#else
proctype Receiver()
{
    byte s;
end:
    do
    :: atomic { occupied > 0 -> occupied--; free++ }
    :: atomic { free > 0 && nempty(stopq) && ROOM_FOR_GRANT ->
        stopq?s;
        grant_to(s);
        s = 0 }
    od
}
#endif

/* Timers of the grants (T_grant).  Repeats are counted in reality; here they go on while the sender
 * lives, and end at once when it does not. */
proctype Grants(byte s)
{
end:
    do
    :: atomic { rx[s].state == GRANTED && tx[s].state != DEAD && QUIET(s) && !MAY_TRANSMIT(s) ->
        to_tx(s, RESEND, rx[s].exp) }
    :: atomic { rx[s].state == GRANTED && early > 0 && nfull(down[s]) ->
        early--;
        to_tx(s, RESEND, rx[s].exp) }
    :: atomic { rx[s].state == GRANTED && (revokes > 0 || tx[s].state == DEAD) ->
        revokes = (tx[s].state == DEAD -> revokes : revokes - 1);
        release(s);
        rx[s].state = HELD;
        rx[s].parked = true }
    od
}

/* The end of every run that ends. */
proctype Monitor()
{
end:
    timeout -> assert(ALL_ARRIVED);
    assert(free + occupied + RESERVED == B)
}

init
{
    atomic {
        byte s = 0;
        do
        :: s < N ->
            run Sender(s);
            run Nic(s);
            run Grants(s);
            s++
        :: else -> break
        od;
        run Receiver();
        run Monitor()
    }
}

ltl arrives { <> (ALL_ARRIVED) }
ltl resumes { [] (tx[0].state == STOPPED -> <> (tx[0].state != STOPPED)) }
