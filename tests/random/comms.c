/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communicators of a thread: all ranks in their order and in another one, some of them, and an
 * intercommunicator between two parts.
 */
#include "random.h"

static void add(player_t *p, comm_t c)
{
    if (c.comm != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(c.comm, MPI_ERRORS_RETURN);
    p->comms[p->comms_count++] = c;
    progressed(p);
}

static void add_copy(player_t *p, MPI_Comm world)
{
    comm_t c = {.members = p->size, .me = p->rank};
    for (int i = 0; i < p->size; i++)
        c.rank[i] = i;
    MPI_Comm_dup(world, &c.comm);
    add(p, c);
}

/* Some ranks, in an order of their own.  At least two. */
static void add_part(player_t *p, MPI_Comm world)
{
    int order[RANKS_MAX];
    comm_t c = {.comm = MPI_COMM_NULL, .me = -1};
    c.members = 2 + (int) below(&p->plan, (uint32_t) p->size - 1);
    for (int i = 0; i < p->size; i++)
        order[i] = i;
    for (int i = p->size - 1; i > 0; i--) {
        int j = (int) below(&p->plan, (uint32_t) i + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (int i = 0; i < c.members; i++) {
        c.rank[i] = i;
        if (order[i] == p->rank)
            c.me = i;
    }
    if (chance(&p->plan, 50)) {
        MPI_Comm_split(world, c.me < 0 ? MPI_UNDEFINED : 0, c.me, &c.comm);
    } else if (c.me >= 0) {
        MPI_Group all, part;
        MPI_Comm_group(world, &all);
        MPI_Group_incl(all, c.members, order, &part);
        MPI_Comm_create_group(world, part, 1, &c.comm);
        MPI_Group_free(&part);
        MPI_Group_free(&all);
    }
    add(p, c);
}

/* Ranks below `first` on one side, the others on the other one. */
static void add_inter(player_t *p, MPI_Comm world)
{
    MPI_Comm side;
    int first = 1 + (int) below(&p->plan, (uint32_t) p->size - 1);
    comm_t c = {.inter = true, .members = p->size, .me = p->rank};
    for (int i = 0; i < p->size; i++) {
        c.side[i] = i >= first;
        c.rank[i] = i >= first ? i - first : i;
    }
    MPI_Comm_split(world, p->rank >= first, 0, &side);
    MPI_Intercomm_create(side, 0, world, p->rank >= first ? 0 : first, 2, &c.comm);
    MPI_Comm_free(&side);
    add(p, c);
}

void comms_make(player_t *p, MPI_Comm world)
{
    at(p, "making communicators", 0, 0);
    add_copy(p, world);
    add_part(p, world);
    if (chance(&p->plan, 60))
        add_inter(p, world);
    if (chance(&p->plan, 40))
        add_part(p, world);
}

void comms_free(player_t *p)
{
    for (int i = 0; i < p->comms_count; i++) {
        at(p, "freeing communicators", i, 0);
        if (p->comms[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&p->comms[i].comm);
        progressed(p);
    }
}

int comm_peer(const comm_t *c, int rank)
{
    for (int i = 0; i < c->members; i++)
        if (c->rank[i] == rank && (!c->inter || c->side[i] != c->side[c->me]))
            return i;
    return -1;
}

/* A communicator that lives for one step. */
void step_comm(player_t *p)
{
    const comm_t *from = &p->comms[below(&p->plan, (uint32_t) p->comms_count)];
    bool later = chance(&p->plan, 50);
    comm_t c = *from;
    if (c.me < 0)
        return;
    at(p, "duplicating a communicator", 0, 0);
    if (later && !c.inter) {
        MPI_Request request;
        MPI_Status status;
        expect_ok(p, MPI_Comm_idup(from->comm, &c.comm, &request), "MPI_Comm_idup");
        expect_ok(p, request_finish(p, &request, &status), "MPI_Comm_idup");
    } else {
        expect_ok(p, MPI_Comm_dup(from->comm, &c.comm), "MPI_Comm_dup");
    }
    MPI_Comm_set_errhandler(c.comm, MPI_ERRORS_RETURN);
    collective_finish(p, collective_start(p, &c, true));
    expect_ok(p, MPI_Comm_free(&c.comm), "MPI_Comm_free");
    progressed(p);
}
