/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libdimmnet-check: collective calls that do not fit together (`mpirun -n 4 dnet-check ./program`).
 * It stands between a program and any MPI 4 library of MPICH's binary interface, by the profiling
 * interface (MPI 4.0, section 15), and costs a program that is run without it nothing.
 *
 * Each rank tells its right neighbour in the communicator which collective it has entered, and
 * hears the same from its left one.  If any two ranks of the communicator differ, two neighbours
 * do.
 */
#ifndef DNET_CHECK_H
#define DNET_CHECK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/** The collective calls that are compared. */
typedef enum {
#define DNET_CHECK_CALL(name) DNET_CHECK_##name,
#include "check/calls.def"
#undef DNET_CHECK_CALL
    DNET_CHECK_CALLS
} dnet_check_call_t;

/** What a buffer holds: how many basic elements, and a hash of their kinds in order.  Gaps, and how
 * the type was made, do not matter (MPI 4.0, 3.3.1 and 5.1.11). */
typedef struct {
    uint64_t elements;
    uint64_t hash;
} dnet_check_signature_t;

/** Nothing is known of the data, or each rank has its own amount: fits all. */
#define DNET_CHECK_ANY ((dnet_check_signature_t){UINT64_MAX, 0})

/** Of `count` items of a type. */
dnet_check_signature_t dnet_check_signature(MPI_Aint count, MPI_Datatype type);

/** What a rank says of a collective that it enters; sent as bytes. */
typedef struct {
    uint32_t call; /* dnet_check_call_t */
    int32_t root;  /* -1: the call has none */
    int64_t op;    /* handle of a predefined operation; 0: none, or the program's own */
    dnet_check_signature_t data;
} dnet_check_record_t;

/** Watch a communicator, which all of its ranks have just made; MPI_COMM_NULL and
 * intercommunicators are passed over. */
void dnet_check_watch(MPI_Comm comm);

/** Is the communicator watched?  If not, MPI may not read what the arguments of a call on it say.
 * When none ever was, a line says so once. */
bool dnet_check_watches(MPI_Comm comm);

/**
 * This rank enters a collective.  A difference from the left neighbour's ends the job with a line
 * that names both.
 *
 * @param waits  the call blocks: so does this, until the neighbour has entered its own; else what
 *               the neighbour says is looked at by dnet_check_look()
 */
void dnet_check_enter(MPI_Comm comm, const dnet_check_record_t *record, bool waits);

/** The program ends: MPI_COMM_WORLD is watched no longer. */
void dnet_check_end(void);

/** Compare what neighbours have said meanwhile.  @return false: nothing is awaited any more */
bool dnet_check_look(void);

#endif
