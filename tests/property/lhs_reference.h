/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow, obviously correct matcher: MPI 4.0 section 3.5 word for word.  One list of receives in
 * posting order, one list of messages in order of arrival, each searched from its beginning, field
 * by field.  It shares no code with src/lhs_match, so that each checks the other.
 */
#ifndef DNET_LHS_REFERENCE_H
#define DNET_LHS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define DNET_REF_MAX 256
#define DNET_REF_NONE (-1)
#define DNET_REF_ANY (-1)

/** A receive (rank or tag may be DNET_REF_ANY) or a message. */
typedef struct {
    int id; /* the caller's number, 0 or more */
    int context;
    int rank;
    int64_t tag;
} dnet_ref_entry_t;

typedef struct {
    dnet_ref_entry_t entry[DNET_REF_MAX];
    int count;
} dnet_ref_list_t;

typedef struct {
    dnet_ref_list_t posted;
    dnet_ref_list_t unexpected;
} dnet_ref_t;

/** A message arrives.  Returns the id of the receive it completes, removed; else DNET_REF_NONE. */
int dnet_ref_arrive(dnet_ref_t *r, dnet_ref_entry_t message);

/** Keep a message no receive has taken. */
void dnet_ref_keep(dnet_ref_t *r, dnet_ref_entry_t message);

/** The id of the first message a receive may take, removed when `take`; else DNET_REF_NONE. */
int dnet_ref_lookup(dnet_ref_t *r, dnet_ref_entry_t receive, bool take);

/** Post a receive. */
void dnet_ref_post(dnet_ref_t *r, dnet_ref_entry_t receive);

/** Withdraw the posted receive `id`.  Returns whether it was posted. */
bool dnet_ref_withdraw(dnet_ref_t *r, int id);

#endif
