/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pushed messages (docs/protocol.md 4.6): N senders send M messages of P pieces each, one after the other, to one
 * receiver with a ring for R pieces.  A cursor of the sender counts those that are taken: the sender sends its own from
 * the front on, as they find room, the receiver fetches its own from the end; either side may be slow or compute at any time.
 * The steps are those of src/endpoint/rndv_pushed.c, the heads those of heads.def.
 *
 *   N senders   M messages each   P pieces of each   R pieces that the ring holds
 *   DIES: a sender may die with a piece in hand
 *
 * Checked: each piece comes once, by one of the two ways; nothing is fetched from a buffer that its sender has taken
 * back; a receive that completes has all pieces, and none is left in the ring; no run ends before everything has arrived,
 * but for the dead; everything arrives (weak fairness).  Each BREAK_ macro leaves one mechanism out.
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
#ifndef R
#define R 2
#endif
#ifndef DIES
#define DIES 0
#endif

mtype = { CTS, ACK };

chan announced = [N] of { byte };   /* RTS: the sender */
chan ring = [R] of { byte, byte };  /* PIECE: the sender, which piece */
typedef way_t {
    chan to_sender = [2] of { mtype };
};
way_t way[N];
byte cursor[N];
bool shown[N];     /* the sender's buffer holds the message */
byte moved[P];     /* how often each piece of the message that is received has come */
byte received, sent, dead;

#ifdef BREAK_ATOMIC
#define CLAIM(s, number) number = cursor[s]; cursor[s] = number + 1
#else
#define CLAIM(s, number) d_step { number = cursor[s]; cursor[s] = number + 1 }
#endif

#ifdef BREAK_END
#define FETCHED_PIECE(fetched) fetched /* from the front on, as the sender */
#else
#define FETCHED_PIECE(fetched) (P - 1 - fetched)
#endif

active [N] proctype Sender()
{
    byte number, pushed, message;

    do
    :: message == M -> break
    :: else ->
        d_step {
            shown[_pid] = true;
            cursor[_pid] = 1;
            message++;
            pushed = 0;
        }
        announced!_pid;
        way[_pid].to_sender?CTS;
        do
        :: CLAIM(_pid, number);
            if
            :: number > P -> break
            :: else
            fi;
            if
            :: DIES && dead == 0 -> dead++; goto died
            :: else
            fi;
            ring!_pid, pushed;
            pushed++
        od;
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
    byte number, fetched, got, i, piece, sender;
    bool all_taken;

    do
    :: received == N * M -> break
    :: DIES && dead > 0 && received + M >= N * M && empty(announced) -> break
    :: announced?sender ->
        d_step {
            fetched = 0;
            got = 0;
            all_taken = false;
            i = 0;
            do
            :: i < P -> moved[i] = 0; i++
            :: else -> break
            od;
        }
        way[sender].to_sender!CTS;
        do
        :: got + fetched == P -> break
#ifdef BREAK_COUNT
        :: all_taken -> break
#endif
        :: ring?eval(sender), piece ->
            d_step {
                moved[piece]++;
                got++
            }
        :: !all_taken ->
            CLAIM(sender, number);
            if
            :: number > P -> all_taken = true
            :: else ->
                d_step {
                    assert(shown[sender]); /* else fetched from what is the sender's again */
                    moved[FETCHED_PIECE(fetched)]++;
                    fetched++
                }
            fi
        :: DIES && dead > 0 && all_taken && empty(ring) -> goto told /* the death is noticed */
        od;
        way[sender].to_sender!ACK;
        d_step {
            i = 0;
            do
            :: i < P -> assert(moved[i] == 1); i++
            :: else -> break
            od;
            assert(empty(ring));
            received++
        }
    od;
    assert(dead || received == N * M);
told:
    skip
}

ltl arrives { <> (received == N * M && sent == N * M) }
