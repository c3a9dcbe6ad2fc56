/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Split messages (docs/protocol.md 4.1): N senders send M messages of P pieces each, one after the other, to one
 * receiver, which may put a message off when it has its first piece.  A cursor of the sender counts those that are taken, the receiver's from the front, the sender's from the
 * end; either side may be slow or compute at any time.
 * The steps are those of src/endpoint/rndv_split.c, the heads those of heads.def; RVS_END is the receive status.
 *
 *   N senders   M messages each   P pieces of each   DIES: a sender may die in a piece
 *
 * Checked: each piece is moved once, out of a buffer that its sender has not taken back, into one that its receiver
 * has not; a receive that completes has all pieces; no run ends before everything has arrived, but for the dead;
 * everything arrives (weak fairness).  Each BREAK_ macro leaves one mechanism out.
 */
#ifndef N
#define N 2
#endif
#ifndef M
#define M 2
#endif
#ifndef P
#define P 3
#endif
#ifndef DIES
#define DIES 0
#endif

mtype = { RTS, CTS, ACK, RVS_END };

chan to_receiver = [2 * N] of { mtype, byte }; /* kind, sender */
typedef way_t {
    chan to_sender = [2] of { mtype };
};
way_t way[N];
byte cursor[N];    /* BREAK_WHERE: cursor[0] is the receiver's, for all */
bool shown[N];     /* the sender's buffer holds the message */
byte from = N;     /* whose message the receive buffer is for; N: nobody's */
byte moved[P];     /* how often each of its pieces has been moved */
byte received, sent, dead;

#ifdef BREAK_WHERE
#define CURSOR(s) cursor[0]
#else
#define CURSOR(s) cursor[s]
#endif

#ifdef BREAK_ATOMIC
#define CLAIM(s, number) number = CURSOR(s); CURSOR(s) = number + 1
#else
#define CLAIM(s, number) d_step { number = CURSOR(s); CURSOR(s) = number + 1 }
#endif

active [N] proctype Sender()
{
    byte number, stored, message;
    bool end_due;

    do
    :: message == M -> break
    :: else ->
        d_step {
            shown[_pid] = true;
#ifndef BREAK_WHERE
            cursor[_pid] = 1;
#endif
            message++;
            end_due = false;
            stored = 0;
        }
        to_receiver!RTS, _pid;
        way[_pid].to_sender?CTS;
        do
        :: CLAIM(_pid, number);
            if
            :: number >= P -> break
            :: else
            fi;
            assert(from == _pid); /* else stored into what is the receiver's again */
            if
            :: DIES && dead == 0 -> dead++; goto died
            :: else
            fi;
            d_step {
                assert(from == _pid);
                stored++;
                moved[P - stored]++;
                end_due = true;
            }
            if
            :: number == P - 1 -> end_due = false; to_receiver!RVS_END, _pid
            :: else
            fi
        od;
        if
#ifndef BREAK_STATUS
        :: end_due -> to_receiver!RVS_END, _pid
#endif
        :: else
        fi;
#ifdef BREAK_ACK
        shown[_pid] = false;
#endif
        way[_pid].to_sender?ACK;
        d_step {
            shown[_pid] = false;
            sent++
        }
    od;
died:
    skip
}

active proctype Receiver()
{
    byte number, fetched, i, sender;
    bool landed; /* the sender's status has come while the receiver dealt with other messages */
    mtype kind;

    do
    :: received == N * M -> break
    :: DIES && dead > 0 && received + M >= N * M && empty(to_receiver) -> break
    :: to_receiver?kind, sender ->
        assert(kind == RTS);
        d_step {
            from = sender;
            fetched = 0;
            number = 0;
            landed = false;
            i = 0;
            do
            :: i < P -> moved[i] = 0; i++
            :: else -> break
            od;
#ifdef BREAK_WHERE
            cursor[0] = 1;
#endif
        }
        way[sender].to_sender!CTS;
        do
        :: number >= P || landed -> break
        :: else ->
            assert(shown[sender]);
            d_step {
                assert(shown[sender]); /* else fetched from what is the sender's again */
                moved[fetched]++;
                fetched++
            }
            if
            :: fetched == 1 && to_receiver??[RVS_END, eval(sender)] ->
                to_receiver??RVS_END, eval(sender);
                landed = true
            :: CLAIM(sender, number)
            fi
        od;
        way[sender].to_sender!ACK;
        if
#ifndef BREAK_EARLY
        :: fetched < P && !landed ->
            if
            :: to_receiver??RVS_END, eval(sender)
            :: DIES && dead > 0 && !(to_receiver??[RVS_END, eval(sender)]) -> goto told /* the death is noticed */
            fi
#endif
        :: else
        fi;
        d_step {
            i = 0;
            do
            :: i < P -> assert(moved[i] == 1); i++
            :: else -> break
            od;
            from = N;
            received++
        }
    od;
    assert(dead || received == N * M);
told:
    skip
}

ltl arrives { <> (received == N * M && sent == N * M) }
