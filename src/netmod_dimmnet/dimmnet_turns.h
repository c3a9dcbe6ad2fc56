/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns of threads that wait, where there is a lock for each VCI.
 *
 * A thread that waits polls, and where threads outnumber processors it does so in the place of one
 * that has work, perhaps of the process that it waits for.  So only as many of a process's threads
 * poll for long as it has processors; the others sleep until they are handed a turn.
 */
#ifndef DIMMNET_TURNS_H_INCLUDED
#define DIMMNET_TURNS_H_INCLUDED

/* Before there are threads: how many may poll at a time.  Until then: one. */
void MPIDI_DIMMNET_turns_init(unsigned turns);

/* A round of this thread's wait has brought nothing; it holds no lock.  After some such rounds it
 * waits for a turn, which it has until MPIDI_DIMMNET_turn_end(), or until others have waited for
 * theirs for some rounds. */
void MPIDI_DIMMNET_turn_idle(void);

/* This thread's wait is over, for now. */
void MPIDI_DIMMNET_turn_end(void);

/* As MPIDI_DIMMNET_turn_idle(), in a wait whose end is not told: after some rounds it waits until
 * it would be its turn. */
void MPIDI_DIMMNET_turn_pass(void);

#endif
