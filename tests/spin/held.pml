/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages held back by a receiver whose store for unexpected messages is full (docs/protocol.md 6.1): N senders,
 * one receiver.  The steps are those of src/endpoint/offer.c (sender) and hold.c (receiver); heads have the names of
 * heads.def.  The NIC's part is its hold table: whether a message is refused is decided when it is sent, and the
 * sender is told at once; the note of it for the receiver goes through a flow ring that may lose it.
 *
 *   N senders   M messages each, the last one with a tag of its own   R receives, each for any tag or one
 *   U messages the store may hold   K messages in one OFFER   RING packets a ring holds
 *   LOST       how many notes of holds get lost
 *   SPURIOUS   how many messages are held for nothing
 *   EVERYBODY  1: nobody knows who an envelope is of, so that all are held
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
#ifndef EVERYBODY
#define EVERYBODY 0
#endif

mtype = { OFFER, VERDICT, WANT, NONE, OPENED, GRANT, DONE, LET_GO }; /* heads.def */
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

typedef tx_t { /* dnet_channel_t */
    byte at[M];
    byte started, queued;
    bool held, opened, granting, asked;
    byte grant, granted; /* messages */
    byte want_id, want_tag;
    byte out, out_id;    /* offered messages, one bit each */
};

typedef rx_t { /* dnet_hold_t */
    bool in_table;
    bool held;     /* there is a record of it */
    bool openings, declined, waiting;
    byte granted;
    byte want_id, asked, at; /* numbers of receives; NOTHING */
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
byte stored = 0, granted = 0, want_id = 0;
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

inline answer_want(s)
{
    tx[s].asked = false;
    m = 0;
    do
    :: m < M && !(tx[s].at[m] == DECLINED && FITS(tx[s].want_tag, m)) -> m++
    :: m < M && tx[s].at[m] == DECLINED && FITS(tx[s].want_tag, m) ->
        tx[s].at[m] = OUT;
        tx[s].out = 1 << m;
        tx[s].out_id = tx[s].want_id;
        say(s, OFFER, tx[s].want_id, tx[s].out);
        break
    :: m == M -> say(s, NONE, tx[s].want_id, 0); break
    od
}

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
    if
    :: tx[s].out != 0 -> say(s, OFFER, 0, tx[s].out)
    :: else
    fi
}

inline offer_next(s)
{
    if
    :: tx[s].granting
    :: else ->
        if
        :: tx[s].asked && tx[s].out == 0 -> answer_want(s)
        :: else
        fi;
        if
        :: tx[s].out == 0 -> offer_fresh(s)
        :: else
        fi
    fi
}

/* A queue with nothing in it is closed, and what it knew with it. */
inline close_if_empty(s)
{
    if
    :: tx[s].queued == 0 && !tx[s].granting ->
        tx[s].held = false;
        tx[s].opened = false;
        tx[s].asked = false
    :: else
    fi
}

inline let_go(s)
{
    tx[s].held = false;
    tx[s].opened = false;
    tx[s].granting = false;
    tx[s].granted = 0;
    m = 0;
    do
    :: m < M && tx[s].at[m] == DECLINED -> tx[s].at[m] = FRESH; m++
    :: m < M && tx[s].at[m] != DECLINED -> m++
    :: m == M -> break
    od
}

inline verdict(s, id, taken)
{
    assert(tx[s].out != 0 && id == tx[s].out_id);
    m = 0;
    do
    :: m < M && tx[s].at[m] == OUT && (taken & (1 << m)) != 0 -> tx[s].at[m] = TAKEN; tx[s].queued--; m++
    :: m < M && tx[s].at[m] == OUT && (taken & (1 << m)) == 0 -> tx[s].at[m] = DECLINED; m++
    :: m < M && tx[s].at[m] != OUT -> m++
    :: m == M -> break
    od;
    tx[s].out = 0;
    if
    :: tx[s].opened -> let_go(s)
    :: !tx[s].opened && tx[s].granting -> tx[s].granted = tx[s].grant
    :: else -> offer_next(s); close_if_empty(s)
    fi
}

inline let_go_heard(s)
{
    if
    :: tx[s].asked -> tx[s].asked = false; say(s, NONE, tx[s].want_id, 0)
    :: else
    fi;
    say(s, OPENED, 0, 0);
    if
    :: tx[s].held && tx[s].out != 0 -> tx[s].opened = true
    :: tx[s].held && tx[s].out == 0 -> let_go(s)
    :: else
    fi
}

inline tx_head(s, type, a, b)
{
    if
    :: type == VERDICT -> verdict(s, a, b)
    :: type == WANT && (!tx[s].held || tx[s].opened) -> say(s, NONE, a, 0)
    :: type == WANT && tx[s].held && !tx[s].opened ->
        tx[s].asked = true;
        tx[s].want_id = a;
        tx[s].want_tag = b;
        offer_next(s)
    :: type == GRANT && (!tx[s].held || tx[s].opened) -> say(s, DONE, 0, 0)
    :: type == GRANT && tx[s].held && !tx[s].opened ->
        tx[s].granting = true;
        tx[s].grant = a;
        tx[s].granted = (tx[s].out != 0 -> 0 : a)
    :: type == LET_GO -> let_go_heard(s)
    fi
}

/* The NIC has refused the oldest message. */
inline offer_start(s)
{
    tx[s].held = true;
    offer_next(s)
}

/* The oldest message of a queue that is not held, or is granted. */
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
        offer_start(s)
    :: !pass && spurious > 0 && !rx[s].in_table -> spurious--; offer_start(s)
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
        if
        :: tx[s].held && !tx[s].opened -> offer_next(s)
        :: else
        fi }
    :: atomic { !tx[s].held && tx[s].queued > 0 && rings[s] < RING && nfull(notes[s]) -> transmit(s, false) }
    :: atomic { tx[s].granting && tx[s].out == 0 && tx[s].granted > 0 && tx[s].queued > 0 && rings[s] < RING ->
        transmit(s, true);
        tx[s].granted-- }
    :: atomic { tx[s].granting && tx[s].out == 0 && (tx[s].granted == 0 || tx[s].queued == 0) ->
        tx[s].granting = false;
        tx[s].granted = 0;
        say(s, DONE, tx[s].queued, 0);
        offer_next(s);
        close_if_empty(s) }
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
        :: rx[n].at == q -> next_wanted(n, q)
        :: else
        fi;
        n++
    :: else -> break
    od
}

/* rx[s].at = the first receive behind q that is asked for */
inline next_wanted(s, q)
{
    rx[s].at = q + 1;
    do
    :: rx[s].at < posted && !asked_for[rx[s].at] -> rx[s].at++
    :: rx[s].at < posted && asked_for[rx[s].at] -> break
    :: rx[s].at >= posted -> rx[s].at = NOTHING; break
    od
}

inline ask_next(s)
{
    if
    :: rx[s].at != NOTHING && !rx[s].waiting && rx[s].granted == 0 ->
        rx[s].asked = rx[s].at;
        want_id++;
        rx[s].waiting = true;
        rx[s].want_id = want_id;
        tell(s, WANT, want_id, wanted[rx[s].asked]);
        next_wanted(s, rx[s].asked)
    :: else
    fi
}

inline hold_open(s)
{
    rx[s].in_table = false;
    rx[s].openings = true;
    rx[s].declined = false;
    rx[s].waiting = false;
    rx[s].asked = NOTHING;
    rx[s].at = NOTHING;
#ifdef BREAK_LET_GO /* as an entry of a flow ring, it may get lost */
    if
    :: tell(s, LET_GO, 0, 0)
    :: true
    fi
#else
    tell(s, LET_GO, 0, 0)
#endif
}

inline hold_get(s)
{
    rx[s].held = true
}

inline hold_noted(s)
{
    if
    :: rx[s].in_table -> hold_get(s)
    :: !rx[s].in_table && !rx[s].held -> hold_get(s); hold_open(s)
    :: else
    fi
}

inline over_budget(s)
{
    holding = true;
    if
    :: EVERYBODY && !hold_all ->
        hold_all = true;
        h = 0;
        do
        :: h < N -> rx[h].in_table = true; h++
        :: else -> break
        od
    :: !EVERYBODY && !rx[s].in_table -> hold_get(s); rx[s].in_table = true
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
        :: stored > U -> over_budget(s)
        :: else
        fi
    fi
}

#ifdef BREAK_BEFORE /* a fresh message may go to a receive that an older, declined one fits */
#define ANSWERED_BEFORE(s) NOTHING
#else
#define ANSWERED_BEFORE(s) (rx[s].waiting && rx[s].asked != NOTHING -> rx[s].asked : rx[s].at)
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

#define VALID(s) (rx[s].in_table && rx[s].held && !rx[s].openings)

inline offered(s, id, offers)
{
    bits = offers;
#ifdef BREAK_NOTE
    if
    :: rx[s].in_table -> hold_get(s)
    :: else
    fi;
#else
    hold_noted(s);
#endif
    if
    :: VALID(s) && id == 0 -> match_fresh(s)
    :: VALID(s) && id != 0 && rx[s].waiting && rx[s].want_id == id -> match_asked(s)
    :: else -> bits = 0; id = 0
    fi;
    tell(s, VERDICT, tx[s].out_id, bits);
    if
    :: id != 0 -> rx[s].waiting = false; rx[s].asked = NOTHING; ask_next(s)
    :: else
    fi
}

inline rx_head(s, type, a, b)
{
    if
    :: type == MESSAGE -> arrived(s, a)
    :: type == OFFER -> offered(s, a, b)
    :: type == NONE && rx[s].held && rx[s].waiting && rx[s].want_id == a ->
        rx[s].waiting = false;
        rx[s].asked = NOTHING;
        ask_next(s)
    :: type == DONE && rx[s].held && rx[s].granted > 0 ->
        granted = granted - rx[s].granted;
        rx[s].granted = 0;
        if
        :: a > 0 -> ask_next(s)
        :: a == 0 && rx[s].in_table -> hold_open(s)
        :: else
        fi
    :: type == OPENED && rx[s].held && rx[s].openings ->
        rx[s].openings = false;
        if
        :: !rx[s].in_table -> rx[s].held = false
        :: else
        fi
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
#ifndef BREAK_WANT
        h = 0;
        do
        :: h < N ->
            if
            :: rx[h].held && rx[h].declined && rx[h].at == NOTHING -> rx[h].at = posted - 1; ask_next(h)
            :: else
            fi;
            h++
        :: else -> break
        od
#endif
    :: else
    fi
}

#define MAY_GRANT(s) \
    (stored + granted < U && rx[s].held && rx[s].in_table && !rx[s].openings && !rx[s].waiting && \
     rx[s].granted == 0)

#if N == 2
#define NOBODY (!rx[0].held && !rx[1].held)
#define ROOM (len(down[0]) < 3 && len(down[1]) < 3)
#else
#define NOBODY (!rx[0].held)
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
    :: atomic { nempty(notes[0]) && ROOM -> notes[0]?_; hold_noted(0) }
    :: atomic { MAY_GRANT(0) && ROOM -> rx[0].granted = 1; granted++; tell(0, GRANT, 1, 0) }
#if N == 2
    :: atomic { nempty(up[1]) && ROOM ->
        up[1]?type, a, b;
        rx_head(1, type, a, b);
        type = 0; a = 0; b = 0 }
    :: atomic { nempty(notes[1]) && ROOM -> notes[1]?_; hold_noted(1) }
    :: atomic { MAY_GRANT(1) && ROOM -> rx[1].granted = 1; granted++; tell(1, GRANT, 1, 0) }
#endif
    :: atomic { hold_all && stored <= U / 2 ->
        hold_all = false;
        s = 0;
        do /* hold_those_noted */
        :: s < N -> rx[s].in_table = rx[s].held; s++
        :: else -> s = 0; break
        od }
    :: atomic { holding && stored <= U && NOBODY && !hold_all -> holding = false }
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
            rx[s].asked = NOTHING;
            rx[s].at = NOTHING;
            run Sender(s);
            s++
        :: else -> break
        od;
        run Receiver();
        run Monitor()
    }
}
