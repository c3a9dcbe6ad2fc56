/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages held back by a receiver whose store for unexpected messages is full (docs/protocol.md 6.1): N senders,
 * one receiver.  States and events are those of src/deferral (defer_tx.def: sender, defer_rx.def: receiver), one inline
 * per event of a sender and per event of the receiver; heads have the names of heads.def.  The NIC's part is its hold
 * table: whether a message is refused is decided when it is sent, and the sender is told at once; the note of it for
 * the receiver goes through a flow ring that may lose it.
 *
 *   N senders   M messages each, the last one with a tag of its own   R receives, each for any tag or one
 *   U messages the store may hold   K messages in one OFFER   RING packets a ring holds
 *   LOST       how many notes of holds get lost
 *   SPURIOUS   how many messages are held for nothing
 *   HOLD_ALL   1: an envelope does not tell its sender, so that all are held
 *
 * Data of a message that is taken by an OFFER move at once.  That a ring is full makes a sender wait here; how it
 * is stopped and resumed is stop_ring.pml.  What is not a message never waits.
 *
 * Checked: of all messages of a sender that fit a receive the oldest is taken, of all receives that fit a message
 * the one posted first takes it, each once; the store is bounded; and MPI's progress rule: no run ends while a
 * message and a receive that fit are both there.  Each BREAK_ macro leaves one mechanism out.
 */
#ifndef N
#define N 1
#endif
#ifndef M
#define M 3
#endif
#ifndef R
#define R 2
#endif
#ifndef U
#define U 1
#endif
#ifndef K
#define K 2
#endif
#ifndef RING
#define RING 1
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif
#ifndef HOLD_ALL
#define HOLD_ALL 0
#endif

mtype = { OFFER, VERDICT, PULL, PULL_NONE, RELEASE_ACK, GRANT, DONE, RELEASE }; /* heads.def */
mtype = { RUN, OFFERED, OFFERED_PULLED, OFFERED_GRANTED, OFFERED_RELEASED, HELD, GRANTED, OPEN, PULLING, RELEASING }; /* defer_tx.def, defer_rx.def */
mtype = { MESSAGE };
#define NOTHING 255
#define ANY 0
#define TAG(m) (m == M - 1 -> 2 : 1)
#define FITS(wanted, m) (wanted == ANY || wanted == TAG(m))

/* Where a message is. */
#define NEW 0
#define FRESH 1    /* in the queue, never offered since it is held */
#define DECLINED 2
#define OUT 3      /* offered, the verdict is not here */
#define SENT 4     /* on its way, or in the store */
#define TAKEN 5    /* a receive has it */

typedef tx_t { /* dnet_defer_tx_t, and the messages that are kept */
    mtype state;
    byte at[M];
    byte started, queued;
    byte granted;     /* messages */
    byte pull_id, pull_tag;
    byte out, out_id; /* offered messages, one bit each */
};

typedef rx_t { /* dnet_defer_rx_t */
    mtype state;
    bool in_table;
    bool declined;
    byte granted;
    byte pull_id, asked, next; /* numbers of receives; NOTHING */
};

typedef landed_t { /* messages at the receiver */
    bool here[M];  /* in the store */
    bool taken[M]; /* matched */
};

tx_t tx[N];
rx_t rx[N];
landed_t landed[N];
chan up[N] = [RING + 6] of { mtype, byte, byte };
chan down[N] = [6] of { mtype, byte, byte };
chan notes[N] = [2] of { bit };
byte rings[N];       /* messages in up[] */
byte lost = LOST, spurious = SPURIOUS;

/* The receiver. */
byte posted = 0;
byte wanted[R];      /* tag */
bool open[R];
bool asked_for[R];   /* posted while senders were held: on the list that they are asked for */
byte stored = 0, granted = 0, pull_id = 0;
bool holding = false, hold_all = false;

hidden byte m, r, h, bits, n; /* within one step only */

/* ---- sender ---- */

inline say(s, head, v, w)
{
    assert(nfull(up[s]));
    up[s]!head, v, w
}

/* First message of s in state `where`, NOTHING if there is none. */
inline first(s, where)
{
    m = 0;
    do
    :: m < M && tx[s].at[m] != where -> m++
    :: m < M && tx[s].at[m] == where -> break
    :: m == M -> m = NOTHING; break
    od
}

#define QUEUED(s, i) (tx[s].at[i] == FRESH || tx[s].at[i] == DECLINED || tx[s].at[i] == OUT)
inline oldest(s)
{
    m = 0;
    do
    :: m < M && !QUEUED(s, m) -> m++
    :: m < M && QUEUED(s, m) -> break
    :: m == M -> m = NOTHING; break
    od
}

/* An OFFER is out, and nothing is sent before its VERDICT. */
#define IS_OUT(s) \
    (tx[s].state == OFFERED || tx[s].state == OFFERED_PULLED || tx[s].state == OFFERED_GRANTED || \
     tx[s].state == OFFERED_RELEASED)

inline offer_fresh(s)
{
    n = 0;
    tx[s].out_id = 0;
    do
    :: n < K ->
        first(s, FRESH);
        if
        :: m != NOTHING -> tx[s].at[m] = OUT; tx[s].out = tx[s].out | (1 << m); n++
        :: else -> n = K
        fi
    :: else -> break
    od;
    say(s, OFFER, 0, tx[s].out);
    tx[s].state = OFFERED
}

inline run_again(s)
{
    tx[s].state = RUN;
    tx[s].granted = 0;
    m = 0;
    do
    :: m < M && tx[s].at[m] == DECLINED -> tx[s].at[m] = FRESH; m++
    :: m < M && tx[s].at[m] != DECLINED -> m++
    :: m == M -> break
    od
}

inline go_on(s)
{
    first(s, FRESH);
    if
    :: tx[s].queued == 0 -> run_again(s)
    :: tx[s].queued > 0 && m != NOTHING -> offer_fresh(s)
    :: else -> tx[s].state = HELD
    fi
}

inline answer_pull(s)
{
    m = 0;
    do
    :: m < M && !(tx[s].at[m] == DECLINED && FITS(tx[s].pull_tag, m)) -> m++
    :: m < M && tx[s].at[m] == DECLINED && FITS(tx[s].pull_tag, m) ->
        tx[s].at[m] = OUT;
        tx[s].out = 1 << m;
        tx[s].out_id = tx[s].pull_id;
        say(s, OFFER, tx[s].pull_id, tx[s].out);
        tx[s].state = OFFERED;
        break
    :: m == M ->
        say(s, PULL_NONE, tx[s].pull_id, 0);
        go_on(s);
        break
    od
}

inline on_verdict(s, id, taken)
{
    assert(IS_OUT(s) && id == tx[s].out_id);
    m = 0;
    do
    :: m < M && tx[s].at[m] == OUT && (taken & (1 << m)) != 0 -> tx[s].at[m] = TAKEN; tx[s].queued--; m++
    :: m < M && tx[s].at[m] == OUT && (taken & (1 << m)) == 0 -> tx[s].at[m] = DECLINED; m++
    :: m < M && tx[s].at[m] != OUT -> m++
    :: m == M -> break
    od;
    tx[s].out = 0;
    if
    :: tx[s].state == OFFERED -> go_on(s)
    :: tx[s].state == OFFERED_PULLED -> answer_pull(s)
    :: tx[s].state == OFFERED_GRANTED -> tx[s].state = GRANTED
    :: tx[s].state == OFFERED_RELEASED -> run_again(s)
    fi
}

inline on_pull(s, id, tag)
{
    tx[s].pull_id = id;
    tx[s].pull_tag = tag;
    if
    :: tx[s].state == RUN || tx[s].state == OFFERED_RELEASED -> say(s, PULL_NONE, id, 0)
    :: tx[s].state == OFFERED -> tx[s].state = OFFERED_PULLED
    :: tx[s].state == HELD -> answer_pull(s)
    :: else -> assert(false) /* a receiver has one PULL or GRANT under way */
    fi
}

inline on_grant(s, messages)
{
    if
    :: tx[s].state == RUN || tx[s].state == OFFERED_RELEASED -> say(s, DONE, 0, 0)
    :: tx[s].state == OFFERED -> tx[s].state = OFFERED_GRANTED; tx[s].granted = messages
    :: tx[s].state == HELD -> tx[s].state = GRANTED; tx[s].granted = messages
    :: else -> assert(false)
    fi
}

inline on_release(s)
{
    /* With a PULL or a GRANT under way there is no RELEASE. */
    assert(tx[s].state == RUN || tx[s].state == OFFERED || tx[s].state == HELD);
    say(s, RELEASE_ACK, 0, 0);
    if
    :: tx[s].state == RUN
    :: tx[s].state == OFFERED -> tx[s].state = OFFERED_RELEASED
    :: tx[s].state == HELD -> run_again(s)
    fi
}

inline on_spent(s)
{
    tx[s].granted = 0;
    say(s, DONE, tx[s].queued, 0);
    go_on(s)
}

inline on_added(s)
{
    if
    :: tx[s].state == HELD -> go_on(s)
    :: else
    fi
}

inline on_refused(s)
{
    offer_fresh(s)
}

inline tx_head(s, type, a, b)
{
    if
    :: type == VERDICT -> on_verdict(s, a, b)
    :: type == PULL -> on_pull(s, a, b)
    :: type == GRANT -> on_grant(s, a)
    :: type == RELEASE -> on_release(s)
    fi
}

/* The oldest message, in RUN or GRANTED. */
inline transmit(s, pass)
{
    oldest(s);
    h = m;
    if
    :: rx[s].in_table && !pass ->
        if
        :: notes[s]!1
        :: lost > 0 -> lost--
        fi;
        on_refused(s)
    :: !pass && spurious > 0 && !rx[s].in_table -> spurious--; on_refused(s)
    :: !rx[s].in_table || pass ->
        tx[s].at[h] = SENT;
        tx[s].queued--;
        rings[s]++;
        say(s, MESSAGE, h, 0)
    fi
}

proctype Sender(byte s)
{
    mtype type;
    byte a, b;
end:
    do
    :: atomic { tx[s].started < M ->
        tx[s].at[tx[s].started] = FRESH;
        tx[s].started++;
        tx[s].queued++;
        on_added(s) }
    :: atomic { tx[s].state == RUN && tx[s].queued > 0 && rings[s] < RING && nfull(notes[s]) -> transmit(s, false) }
    :: atomic { tx[s].state == GRANTED && tx[s].granted > 0 && tx[s].queued > 0 && rings[s] < RING ->
        transmit(s, true);
        tx[s].granted-- }
    :: atomic { tx[s].state == GRANTED && (tx[s].granted == 0 || tx[s].queued == 0) -> on_spent(s) }
    :: atomic { nempty(down[s]) && len(up[s]) < RING + 3 ->
        down[s]?type, a, b;
        tx_head(s, type, a, b);
        type = 0; a = 0; b = 0 }
    od
}

/* ---- receiver ---- */

inline tell(s, head, v, w)
{
    assert(nfull(down[s]));
    down[s]!head, v, w
}

/* Message i of s goes to receive q: the rules of MPI. */
inline matched(s, i, q)
{
    assert(open[q] && FITS(wanted[q], i));
    n = 0;
    do
    :: n < i -> assert(tx[s].at[n] == TAKEN || landed[s].taken[n] || !FITS(wanted[q], n)); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < q -> assert(!open[n] || !FITS(wanted[n], i)); n++
    :: else -> break
    od;
    assert(!landed[s].taken[i]);
    landed[s].taken[i] = true;
    open[q] = false;
    asked_for[q] = false;
    n = 0;
    do /* unwant */
    :: n < N ->
        if
        :: rx[n].asked == q -> rx[n].asked = NOTHING
        :: else
        fi;
        if
        :: rx[n].next == q -> next_wanted(n, q)
        :: else
        fi;
        n++
    :: else -> break
    od
}

/* rx[s].next = the first receive behind q that is asked for */
inline next_wanted(s, q)
{
    rx[s].next = q + 1;
    do
    :: rx[s].next < posted && !asked_for[rx[s].next] -> rx[s].next++
    :: rx[s].next < posted && asked_for[rx[s].next] -> break
    :: rx[s].next >= posted -> rx[s].next = NOTHING; break
    od
}

/* Nothing is under way to s: pull for the next receive, if there is one. */
inline pull_next(s)
{
    rx[s].asked = rx[s].next;
    if
    :: rx[s].asked != NOTHING ->
        rx[s].state = PULLING;
        pull_id++;
        rx[s].pull_id = pull_id;
        tell(s, PULL, pull_id, wanted[rx[s].asked]);
        next_wanted(s, rx[s].asked)
    :: else -> rx[s].state = HELD
    fi
}

inline release(s)
{
    rx[s].state = RELEASING;
    rx[s].in_table = false;
    rx[s].declined = false;
    rx[s].asked = NOTHING;
    rx[s].next = NOTHING;
#ifdef BREAK_RELEASE /* as an entry of a flow ring, it may get lost */
    if
    :: tell(s, RELEASE, 0, 0)
    :: true
    fi
#else
    tell(s, RELEASE, 0, 0)
#endif
}

inline on_noted(s)
{
    if
    :: rx[s].state == OPEN && rx[s].in_table -> rx[s].state = HELD
    :: rx[s].state == OPEN && !rx[s].in_table -> release(s)
    :: else
    fi
}

inline on_full(s)
{
    holding = true;
    if
    :: HOLD_ALL && !hold_all ->
        hold_all = true;
        h = 0;
        do
        :: h < N -> rx[h].in_table = true; h++
        :: else -> break
        od
    :: !HOLD_ALL && !rx[s].in_table ->
        rx[s].in_table = true;
        if
        :: rx[s].state == OPEN -> rx[s].state = HELD
        :: else -> assert(rx[s].state == RELEASING)
        fi
    :: else
    fi
}

/* The first open receive before `before` that fits message i: r. */
inline match_before(i, before)
{
    r = 0;
    do
    :: r < posted && r < before && !(open[r] && FITS(wanted[r], i)) -> r++
    :: r < posted && r < before && open[r] && FITS(wanted[r], i) -> break
    :: r >= posted || r >= before -> r = NOTHING; break
    od
}

inline arrived(s, i)
{
    rings[s]--;
    match_before(i, NOTHING);
    if
    :: r != NOTHING -> matched(s, i, r)
    :: else ->
        landed[s].here[i] = true;
        stored++;
        assert(stored <= U + N * (RING + 1));
        if
        :: stored > U -> on_full(s)
        :: else
        fi
    fi
}

#ifdef BREAK_BEFORE /* a fresh message may go to a receive that an older, declined one fits */
#define ANSWERED_BEFORE(s) NOTHING
#else
#define ANSWERED_BEFORE(s) (rx[s].asked != NOTHING -> rx[s].asked : rx[s].next)
#endif

inline match_fresh(s)
{
    m = 0;
    do
    :: m < M && (bits & (1 << m)) == 0 -> m++
    :: m < M && (bits & (1 << m)) != 0 ->
        h = ANSWERED_BEFORE(s);
        match_before(m, h);
        if
        :: r != NOTHING -> matched(s, m, r)
        :: else -> bits = bits & ~(1 << m); rx[s].declined = true
        fi;
        m++
    :: m == M -> break
    od
}

inline match_asked(s)
{
    r = rx[s].asked;
    m = 0;
    do
    :: bits != 1 << m -> m++
    :: else -> break
    od;
    if
    :: r != NOTHING -> matched(s, m, r)
    :: else -> bits = 0
    fi
}

#define IS_HELD(s) (rx[s].state == HELD || rx[s].state == PULLING || rx[s].state == GRANTED)

inline on_offer(s, id, offers)
{
    bits = offers;
    if
    :: id == 0 ->
#ifdef BREAK_NOTE
        if
        :: rx[s].state == OPEN && rx[s].in_table -> rx[s].state = HELD
        :: else
        fi;
#else
        on_noted(s);
#endif
        if
        :: IS_HELD(s) -> assert(rx[s].in_table); match_fresh(s)
        :: else -> bits = 0
        fi;
        tell(s, VERDICT, tx[s].out_id, bits)
    :: id != 0 && rx[s].state == PULLING && rx[s].pull_id == id ->
        match_asked(s);
        tell(s, VERDICT, tx[s].out_id, bits);
        pull_next(s)
    :: else -> on_noted(s); tell(s, VERDICT, tx[s].out_id, 0)
    fi
}

inline rx_head(s, type, a, b)
{
    if
    :: type == MESSAGE -> arrived(s, a)
    :: type == OFFER -> on_offer(s, a, b)
    :: type == PULL_NONE && rx[s].state == PULLING && rx[s].pull_id == a -> pull_next(s)
    :: type == DONE && rx[s].state == GRANTED ->
        granted = granted - rx[s].granted;
        rx[s].granted = 0;
        if
        :: a > 0 -> pull_next(s)
        :: else -> release(s)
        fi
    :: type == RELEASE_ACK && rx[s].state == RELEASING -> rx[s].state = (rx[s].in_table -> HELD : OPEN)
    :: else
    fi
}

inline post(wants)
{
    wanted[posted] = wants;
    open[posted] = true;
    h = 0;
    do /* landed messages first, the oldest of any sender */
    :: h < N ->
        m = 0;
        do
        :: m < M && !(landed[h].here[m] && FITS(wants, m)) -> m++
        :: m < M && landed[h].here[m] && FITS(wants, m) -> break
        :: m == M -> break
        od;
        if
        :: m < M -> break
        :: else -> h++
        fi
    :: else -> break
    od;
    posted++;
    if
    :: h < N ->
        landed[h].here[m] = false;
        stored--;
        matched(h, m, (posted - 1))
    :: h == N && holding ->
        asked_for[posted - 1] = true;
#ifndef BREAK_PULL
        h = 0;
        do
        :: h < N ->
            if
            :: rx[h].declined && rx[h].next == NOTHING ->
                rx[h].next = posted - 1;
                if
                :: rx[h].state == HELD -> pull_next(h)
                :: else
                fi
            :: else
            fi;
            h++
        :: else -> break
        od
#endif
    :: else
    fi
}

#define MAY_GRANT(s) (stored + granted < U && rx[s].state == HELD)

inline on_room(s)
{
    assert(rx[s].in_table);
    rx[s].state = GRANTED;
    rx[s].granted = 1;
    granted++;
    tell(s, GRANT, 1, 0)
}

#if N == 2
#define NONE_HELD (rx[0].state == OPEN && rx[1].state == OPEN)
#define ROOM (len(down[0]) < 3 && len(down[1]) < 3)
#else
#define NONE_HELD (rx[0].state == OPEN)
#define ROOM (len(down[0]) < 3)
#endif

proctype Receiver()
{
    mtype type;
    byte a, b, s;
end:
    do
    :: atomic { posted < R && ROOM ->
        if
        :: a = ANY
        :: a = 1
        :: a = 2
        fi;
        post(a);
        a = 0 }
    :: atomic { nempty(up[0]) && ROOM ->
        up[0]?type, a, b;
        rx_head(0, type, a, b);
        type = 0; a = 0; b = 0 }
    :: atomic { nempty(notes[0]) && ROOM -> notes[0]?_; on_noted(0) }
    :: atomic { MAY_GRANT(0) && ROOM -> on_room(0) }
#if N == 2
    :: atomic { nempty(up[1]) && ROOM ->
        up[1]?type, a, b;
        rx_head(1, type, a, b);
        type = 0; a = 0; b = 0 }
    :: atomic { nempty(notes[1]) && ROOM -> notes[1]?_; on_noted(1) }
    :: atomic { MAY_GRANT(1) && ROOM -> on_room(1) }
#endif
    :: atomic { hold_all && stored <= U / 2 ->
        hold_all = false;
        s = 0;
        do /* hold_those_noted */
        :: s < N -> rx[s].in_table = (rx[s].state != OPEN); s++
        :: else -> s = 0; break
        od }
    :: atomic { holding && stored <= U && NONE_HELD && !hold_all -> holding = false }
    od
}

/* The end of every run that ends: nothing waits for what is there. */
proctype Monitor()
{
end:
    timeout;
    atomic {
        m = 0;
        do
        :: m < M * N ->
            r = 0;
            do
            :: r < posted ->
                assert(!open[r] || landed[m / M].taken[m % M] || !FITS(wanted[r], (m % M)));
                r++
            :: else -> break
            od;
            m++
        :: else -> break
        od;
        m = 0; r = 0
    }
}

init
{
    atomic {
        byte s = 0;
        do
        :: s < N ->
            tx[s].state = RUN;
            rx[s].state = OPEN;
            rx[s].asked = NOTHING;
            rx[s].next = NOTHING;
            run Sender(s);
            s++
        :: else -> break
        od;
        run Receiver();
        run Monitor()
    }
}
