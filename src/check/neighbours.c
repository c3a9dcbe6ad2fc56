/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What neighbours say to each other, on a communicator of the checker's own beside each of the
 * program's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check/check.h"

static const char *const names[] = {
#define DNET_CHECK_CALL(name) "MPI_" #name,
#include "check/calls.def"
#undef DNET_CHECK_CALL
};

/* A collective that this rank has entered, and what its left neighbour says. */
typedef struct word word_t;
struct word {
    dnet_check_record_t mine, theirs;
    MPI_Request sent, heard;
    word_t *next;
};

/* A communicator that is watched. */
typedef struct watched watched_t;
struct watched {
    MPI_Comm comm;   /* the program's */
    MPI_Comm beside; /* the checker's, of the same ranks */
    int rank, left, right;
    bool gone;                      /* the program has freed it */
    char name[MPI_MAX_OBJECT_NAME]; /* when it is gone */
    word_t *first, **end;           /* oldest first */
    watched_t *next;
};

static watched_t *all;
static int keyval = MPI_KEYVAL_INVALID;

/* ---- text ---- */

static int world_rank(MPI_Comm comm, int rank)
{
    MPI_Group here, world;
    int there = MPI_UNDEFINED;
    PMPI_Comm_group(comm, &here);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(here, 1, &rank, world, &there);
    PMPI_Group_free(&here);
    PMPI_Group_free(&world);
    return there;
}

static void say_record(char *text, size_t room, const dnet_check_record_t *r)
{
    int n = snprintf(text, room, "%s", r->call < DNET_CHECK_CALLS ? names[r->call] : "?");
    if (r->root >= 0)
        n += snprintf(text + n, room - (size_t) n, ", root %d", r->root);
    if (r->data.elements != UINT64_MAX)
        snprintf(text + n, room - (size_t) n, ", %llu elements",
                 (unsigned long long) r->data.elements);
}

static const char *difference(const dnet_check_record_t *a, const dnet_check_record_t *b)
{
    if (a->call != b->call)
        return "all ranks must enter the same collective";
    if (a->root != b->root)
        return "all ranks must name the same root";
    if (a->op && b->op && a->op != b->op)
        return "all ranks must use the same operation";
    if (a->data.elements == UINT64_MAX || b->data.elements == UINT64_MAX)
        return NULL;
    if (a->data.elements != b->data.elements)
        return "all ranks must give the same number of elements";
    if (a->data.hash != b->data.hash)
        return "the elements are of different types";
    return NULL;
}

static void compare(watched_t *w, const word_t *word)
{
    const char *why = difference(&word->mine, &word->theirs);
    char mine[128], theirs[128];
    int length;
    if (!why)
        return;
    say_record(mine, sizeof(mine), &word->mine);
    say_record(theirs, sizeof(theirs), &word->theirs);
    if (!w->gone)
        PMPI_Comm_get_name(w->comm, w->name, &length);
    fprintf(stderr, "dnet-check: rank %d is in %s where rank %d is in %s, on %s: %s\n",
            world_rank(w->beside, w->rank), mine, world_rank(w->beside, w->left), theirs,
            w->name[0] ? w->name : "a communicator without a name", why);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- words ---- */

static void drop_first(watched_t *w)
{
    word_t *word = w->first;
    w->first = word->next;
    if (!w->first)
        w->end = &w->first;
    free(word);
}

static void hear_all(watched_t *w)
{
    while (w->first) {
        PMPI_Wait(&w->first->heard, MPI_STATUS_IGNORE);
        compare(w, w->first);
        PMPI_Wait(&w->first->sent, MPI_STATUS_IGNORE);
        drop_first(w);
    }
}

static void look(watched_t *w)
{
    while (w->first) {
        int heard, sent;
        PMPI_Test(&w->first->heard, &heard, MPI_STATUS_IGNORE);
        if (!heard)
            break;
        compare(w, w->first);
        PMPI_Test(&w->first->sent, &sent, MPI_STATUS_IGNORE);
        if (!sent)
            break;
        drop_first(w);
    }
}

/* Of a communicator that is gone nothing is awaited: a rank that is in another call there, where
 * its left neighbour has freed it, waits and finds that itself. */
bool dnet_check_look(void)
{
    bool waits = false;
    for (watched_t **link = &all, *w; (w = *link) != NULL;) {
        look(w);
        waits |= w->first != NULL && !w->gone;
        if (!w->gone || w->first) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        PMPI_Comm_free(&w->beside);
        free(w);
    }
    return waits;
}

static watched_t *find(MPI_Comm comm)
{
    watched_t *w = NULL;
    int is_set = 0;
    if (keyval != MPI_KEYVAL_INVALID && comm != MPI_COMM_NULL)
        PMPI_Comm_get_attr(comm, keyval, &w, &is_set);
    return is_set ? w : NULL;
}

bool dnet_check_watches(MPI_Comm comm)
{
    static bool said;
    int rank = -1;
    if (keyval == MPI_KEYVAL_INVALID && !said) {
        said = true;
        PMPI_Comm_rank(comm, &rank);
        if (rank == 0)
            fprintf(stderr, "dnet-check: nothing is compared: the program began MPI by a call that "
                            "is not seen, that of use mpi_f08 or of a session\n");
    }
    return find(comm) != NULL;
}

void dnet_check_enter(MPI_Comm comm, const dnet_check_record_t *record, bool waits)
{
    watched_t *w = find(comm);
    word_t *word = w ? calloc(1, sizeof(*word)) : NULL;
    if (!word)
        return;
    word->mine = *record;
    *w->end = word;
    w->end = &word->next;
    PMPI_Irecv(&word->theirs, sizeof(word->theirs), MPI_BYTE, w->left, 0, w->beside, &word->heard);
    PMPI_Isend(&word->mine, sizeof(word->mine), MPI_BYTE, w->right, 0, w->beside, &word->sent);
    if (waits)
        hear_all(w);
    else
        dnet_check_look();
}

/* ---- communicators ---- */

/* The neighbours may free it later, so what they say of it is heard later. */
static int unwatch(MPI_Comm comm, int key, void *value, void *extra)
{
    watched_t *w = value;
    int length;
    (void) key, (void) extra;
    PMPI_Comm_get_name(comm, w->name, &length);
    w->gone = true;
    return MPI_SUCCESS;
}

/* Are all its processes of this MPI_COMM_WORLD?  Those that MPI_Comm_spawn has started, or that
 * have been connected to, may run without the checker; they see that of these, too. */
static bool is_of_one_world(MPI_Comm comm)
{
    MPI_Group group, world, both;
    int began, size, common;
    PMPI_Initialized(&began);
    if (!began) /* sessions alone */
        return true;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_intersection(group, world, &both);
    PMPI_Group_size(group, &size);
    PMPI_Group_size(both, &common);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    PMPI_Group_free(&both);
    return size == common;
}

void dnet_check_watch(MPI_Comm comm)
{
    int between = 1, size;
    MPI_Group group;
    if (comm != MPI_COMM_NULL)
        PMPI_Comm_test_inter(comm, &between);
    if (between || !is_of_one_world(comm))
        return;
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, unwatch, &keyval, NULL);
    watched_t *w = calloc(1, sizeof(*w));
    if (!w)
        return;
    w->comm = comm;
    w->end = &w->first;
    /* A duplicate would have copies of the program's attributes. */
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_create(comm, group, &w->beside);
    PMPI_Group_free(&group);
    PMPI_Comm_rank(comm, &w->rank);
    PMPI_Comm_size(comm, &size);
    w->left = (w->rank + size - 1) % size;
    w->right = (w->rank + 1) % size;
    w->next = all;
    all = w;
    PMPI_Comm_set_attr(comm, keyval, w);
}

void dnet_check_end(void)
{
    watched_t *world = find(MPI_COMM_WORLD);
    if (world) {
        hear_all(world);
        PMPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    }
    (void) dnet_check_look();
    /* What a neighbour frees only now, or never, is not heard any more. */
    for (watched_t *w = all; w; w = w->next)
        for (word_t *word = w->first; word && w->gone; word = word->next) {
            if (word->heard == MPI_REQUEST_NULL)
                continue;
            PMPI_Cancel(&word->heard);
            PMPI_Wait(&word->heard, MPI_STATUS_IGNORE);
        }
}
