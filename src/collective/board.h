/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A board (collective.h): what it takes to have one, and what a rank knows of it.
 */
#ifndef DNET_COLLECTIVE_BOARD_H
#define DNET_COLLECTIVE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective/choice.h"
#include "common/compiler.h"
#include "common/kernel_copies.h"

/** Bytes of a board's slots, at most, and of a slot's data; slots of a rank. */
#define DNET_BOARD_MAX_BYTES (4u << 20)
#define DNET_BOARD_SLOT_MAX_BYTES 16384u
#define DNET_BOARD_MAX_SLOTS 16u
/** Of two ranks with a processor each that have far memory: more data of a step lie there.  On
 * Zen 1 it is faster from 2 KB on (4 KB of a broadcast 0.58 us instead of 0.78). */
#define DNET_BOARD_NEAR_BYTES 4096u
#define DNET_BOARD_NEAR_BYTES_ZEN1 1024u
/** Nonblocking collectives: those that a rank may have contributed to and others not have read yet;
 * data of all of them together, and of one of one rank, at most, of two ranks and of more; words of
 * a rank beside. */
#define DNET_NONBLOCKING_SLOTS 8u
#define DNET_NONBLOCKING_MAX_BYTES (2u << 20)
#define DNET_NONBLOCKING_SLOT_OF_TWO_BYTES 16384u
#define DNET_NONBLOCKING_SLOT_MAX_BYTES 32768u
#define DNET_NONBLOCKING_COUNTERS 2u
/** More ranks than this have no board: their slots would be too small. */
#define DNET_BOARD_MAX_RANKS 256u

/** What a board wants of its owner. */
typedef struct {
    /** This rank has to wait: called again and again; may sleep as long as
     * dnet_board_waits() says that it has to, until it is woken.  `first`: of this wait */
    void (*idle)(void *arg, bool first);
    /** Wake that rank, if it sleeps. */
    void (*wake)(void *arg, uint32_t rank);
    /** Copy `bytes` bytes at `from` in that rank's own memory to `to`.  NULL: that cannot be done,
     * by no rank. */
    void (*read)(void *arg, uint32_t rank, const void *from, void *to, size_t bytes);
    /** The same from this rank's memory `from` to that rank's `to`.  NULL where read is. */
    void (*write)(void *arg, uint32_t rank, const void *from, void *to, size_t bytes);
    void *arg;
    /** How fast read() and write() are; the same on all ranks. */
    dnet_kernel_copies_t copies;
} dnet_board_owner_t;

#define DNET_BOARD_NO_RANK UINT32_MAX

/** One rank's view of a board. */
typedef struct {
    uint8_t *memory;
    uint8_t *words;      /* counters of ranks, behind them first lines of slots */
    uint8_t *short_data; /* of slots */
    uint8_t *data;       /* of slots: those of a rank side by side */
    uint32_t size, rank;
    uint32_t slots;                           /* of each rank */
    uint32_t slot_bytes;                      /* data of one step at most; a multiple of 64 */
    uint32_t near_bytes;                      /* of a step's data: up to so many lie in its slot */
    struct {                                  /* where more lie: far memory */
        uint8_t *memory;                      /* NULL: there is none, and slots have room for all */
        uint32_t bytes;                       /* of each rank */
        uint32_t next;                        /* place */
        uint32_t place[DNET_BOARD_MAX_SLOTS]; /* of each step that may be under way */
    } far;
    size_t rank_bytes; /* from one rank's data to the next one's */
    uint64_t step;     /* number of the last one; the first is 1 */
    uint64_t all_done; /* with this step, as far as is known */
    uint64_t meetings; /* number of the last one */
    bool spins;        /* there is a processor for each rank */
    bool backwards;    /* the direction in which others' memory was read last */
    struct {           /* the last broadcast or scatter */
        uint64_t step;
        uint32_t root;
    } bcast;
    dnet_choices_t reduces; /* of two ranks to this one: by slots, or read */
    struct {                /* nonblocking collectives (nonblocking.h) */
        uint8_t *words, *short_data, *data;
        uint32_t short_bytes;                 /* data of one rank at most, of short ones */
        uint32_t slot_bytes;                  /* and of others */
        uint64_t last;                        /* number; the first is 1 */
        uint64_t all_done;                    /* with this one, as far as is known */
        struct dnet_nonblocking *first, *end; /* under way, in order */
        struct dnet_nonblocking *untaken;     /* the first of them that is */
        unsigned looks;                       /* in vain, in a row */
        bool dozes;
        _Atomic uint32_t waits_for; /* once it dozes; else DNET_BOARD_NO_RANK */
    } nonblocking;
    dnet_board_owner_t owner;
    struct {                                    /* what it waits for; other threads may ask */
        _Atomic(const _Atomic uint64_t *) word; /* NULL: nothing */
        _Atomic uint64_t step;                  /* that the word has to come to */
        _Atomic uint64_t meets_in;              /* the step of the collective, */
        _Atomic uint32_t rank;                  /* if it is all of which one is waited for */
    } wait;
} dnet_board_t;

/** Bytes of a board for so many ranks, 2 to DNET_BOARD_MAX_RANKS; and of its front, where all is
 * that short collectives use. */
size_t dnet_board_bytes(uint32_t size);
size_t dnet_board_front_bytes(uint32_t size);

/**
 * Take part in a board.
 *
 * @param memory  dnet_board_bytes() bytes, 64-byte aligned; the front zeroed by one rank before any
 *                other takes part
 * @param spins   there is a processor for each rank: poll for a while before owner->idle is called;
 *                the same on all ranks, which take other ways without
 */
void dnet_board_join(dnet_board_t *board, void *memory, uint32_t size, uint32_t rank, bool spins,
                     const dnet_board_owner_t *owner);

/** Have the pages of its front, and of a few ranks those that come next, in this process's page
 * tables, so that no collective waits for that. */
void dnet_board_touch(const dnet_board_t *board);

static inline uint32_t dnet_board_near_bytes(void)
{
    return dnet_is_zen1() ? DNET_BOARD_NEAR_BYTES_ZEN1 : DNET_BOARD_NEAR_BYTES;
}

/**
 * Would a collective of which a rank contributes so many bytes gain by far memory, which this board
 * does not have yet?  What fits into second-level caches comes back from the other processor's when
 * it is stored to again, not many lines at a time; so steps go round in memory that does not fit.
 */
static inline bool dnet_board_gains_by_far(const dnet_board_t *board, size_t bytes)
{
    return board->size == 2 && board->spins && !board->far.memory &&
           bytes > dnet_board_near_bytes();
}

/** Bytes of it, for all ranks. */
size_t dnet_board_far_bytes(const dnet_board_t *board);

/** Steps use it from now on.  All ranks call this between the same two collectives. */
void dnet_board_add_far(dnet_board_t *board, void *memory);

/** Does this rank wait for another one?  Also in a signal handler. */
bool dnet_board_waits(const dnet_board_t *board);

/** The rank that this one waits for now, the first of several, else that a nonblocking collective
 * has waited for in many looks; DNET_BOARD_NO_RANK: none.  Also in a signal handler. */
uint32_t dnet_board_waits_for(const dnet_board_t *board);

/** This rank will not use the board any more. */
void dnet_board_leave(dnet_board_t *board);

/** Have all ranks left it?  Then its memory may be used for something else. */
bool dnet_board_left_by_all(void *memory, uint32_t size);

#endif
