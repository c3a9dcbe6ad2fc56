/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_turns.h"

#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI

#include <pthread.h>
#include <semaphore.h>

/* Idle rounds before a thread asks for a turn, and after which it hands it on: what it waits for
 * mostly comes sooner than another thread could be woken. */
#define ROUNDS 64u

typedef struct waiter {
    sem_t turn;
    struct waiter *next;
} waiter_t;

/* Who waits gets its turn in order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned free_turns = 1;
static waiter_t *last;           /* its next is the first; NULL: nobody waits */
static _Atomic unsigned waiting; /* how many */

/* A wait may begin within a round of another one, and ends that one's turn. */
static _Thread_local unsigned rounds;
static _Thread_local bool has_turn;

void MPIDI_DIMMNET_turns_init(unsigned turns)
{
    free_turns = turns;
}

static void take(void)
{
    waiter_t self;
    pthread_mutex_lock(&lock);
    bool sleeps = free_turns == 0;
    if (sleeps) {
        sem_init(&self.turn, 0, 0);
        self.next = last ? last->next : &self;
        if (last)
            last->next = &self;
        last = &self;
        atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);
    } else {
        free_turns--;
    }
    pthread_mutex_unlock(&lock);
    while (sleeps && sem_wait(&self.turn) != 0) { /* a signal */
    }
    if (sleeps)
        sem_destroy(&self.turn);
    has_turn = true;
}

static void give(void)
{
    has_turn = false;
    pthread_mutex_lock(&lock);
    waiter_t *first = last ? last->next : NULL;
    if (!first) {
        free_turns++;
    } else {
        if (first == last)
            last = NULL;
        else
            last->next = first->next;
        atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    if (first)
        sem_post(&first->turn);
}

void MPIDI_DIMMNET_turn_idle(void)
{
    if (++rounds % ROUNDS)
        return;
    if (has_turn && atomic_load_explicit(&waiting, memory_order_relaxed) == 0)
        return;
    if (has_turn)
        give();
    take();
}

void MPIDI_DIMMNET_turn_end(void)
{
    rounds = 0;
    if (has_turn)
        give();
}

void MPIDI_DIMMNET_turn_pass(void)
{
    if (++rounds % ROUNDS || has_turn)
        return;
    take();
    give();
}

#endif
