/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators of all kinds keep their messages apart: duplicates, halves, an intercommunicator
 * and its merged form, reversed ranks; with the same tag in all of them.  The two sides of the
 * intercommunicator know it by different numbers.
 */
#include "check.h"

static void ring(MPI_Comm comm, int mark)
{
    int r, n, got = -1;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    int sent = mark * 1000 + r;
    MPI_Sendrecv(&sent, 1, MPI_INT, (r + 1) % n, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 comm, MPI_STATUS_IGNORE);
    CHECK(got == mark * 1000 + (r + n - 1) % n, "communicator %d delivered %d", mark, got);
}

/* In parts, from the leader of each side to the other's. */
static void in_parts(MPI_Comm inter)
{
    int out[4], in[4];
    MPI_Request send, receive;
    MPI_Psend_init(out, 2, 2, MPI_INT, 0, 8, inter, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, 2, MPI_INT, 0, 8, inter, MPI_INFO_NULL, &receive);
    MPI_Start(&receive);
    MPI_Start(&send);
    for (int i = 0; i < 4; i++)
        out[i] = rank * 10 + i;
    MPI_Pready_range(0, 1, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    int other = rank ? 0 : size / 2;
    CHECK(in[3] == other * 10 + 3, "the last of the parts is %d", in[3]);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

/* From the last rank of each side to all of the other one, waited for and not. */
static void from_the_last(MPI_Comm inter, int upper)
{
    int local, mine, theirs;
    MPI_Comm_rank(inter, &local);
    MPI_Comm_size(inter, &mine);
    MPI_Comm_remote_size(inter, &theirs);
    for (int i = 0; i < 4; i++) {
        const int gives = i / 2 == upper, root = gives ? MPI_PROC_NULL : theirs - 1;
        int value = gives ? 77 + i : -1;
        MPI_Request request = MPI_REQUEST_NULL;
        if (i % 2)
            MPI_Bcast(&value, 1, MPI_INT, gives && local == mine - 1 ? MPI_ROOT : root, inter);
        else
            MPI_Ibcast(&value, 1, MPI_INT, gives && local == mine - 1 ? MPI_ROOT : root, inter,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(value == 77 + i, "the last rank of the other side gave %d", value);
    }
}

/* Lists of blocks are as long as the other side has ranks; rank 0 of the lower one is the root. */
static void blocks_of_the_other_side(MPI_Comm inter, int upper)
{
    enum { ALLGATHERV, ALLTOALLV, GATHERV, SCATTERV, KINDS };
    int local, theirs;
    MPI_Comm_rank(inter, &local);
    MPI_Comm_remote_size(inter, &theirs);
    const int root = upper        ? 0
                     : local == 0 ? MPI_ROOT
                                  : MPI_PROC_NULL,
              first = upper ? 0 : size / 2;
    const size_t list = (size_t) theirs * sizeof(int);
    int *counts = check_alloc(list), *places = check_alloc(list);
    int *sent = check_alloc(3 * list), *got = check_alloc(3 * list);
    for (int i = 0; i < 3 * theirs; i++)
        sent[i] = rank * 100 + i;
    for (int r = 0; r < theirs; r++) {
        counts[r] = 2;
        places[r] = 3 * r;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Request request;
        memset(got, -1, 3 * list);
        if (kind == ALLGATHERV)
            MPI_Iallgatherv(sent, 2, MPI_INT, got, counts, places, MPI_INT, inter, &request);
        else if (kind == ALLTOALLV)
            MPI_Ialltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, inter,
                           &request);
        else if (kind == GATHERV)
            MPI_Igatherv(sent, 2, MPI_INT, got, counts, places, MPI_INT, root, inter, &request);
        else
            MPI_Iscatterv(sent, counts, places, MPI_INT, got, 2, MPI_INT, root, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const int takes = kind <= ALLTOALLV || (kind == GATHERV ? root == MPI_ROOT : upper);
        for (int r = 0; takes && r < (kind == SCATTERV ? 1 : theirs); r++) {
            int want = (first + r) * 100 + (kind == ALLTOALLV || kind == SCATTERV ? 3 * local : 0);
            CHECK(got[3 * r] == want && got[3 * r + 1] == want + 1 && got[3 * r + 2] == -1,
                  "kind %d: block %d of the other side is %d %d", kind, r, got[3 * r],
                  got[3 * r + 1]);
        }
    }
    free(counts);
    free(places);
    free(sent);
    free(got);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm comms[20], half, more[5], inter, merged, reversed;
    for (int i = 0; i < 20; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    /* Messages wait in each communicator while the others are used. */
    int in[20], out[20], neighbour = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[20];
    for (int i = 0; i < 20; i++) {
        out[i] = i * 100 + rank;
        MPI_Isend(&out[i], 1, MPI_INT, neighbour, 1, comms[i], &requests[i]);
    }
    for (int i = 19; i >= 0; i--) {
        MPI_Recv(&in[i], 1, MPI_INT, before, 1, comms[i], MPI_STATUS_IGNORE);
        CHECK(in[i] == i * 100 + before, "communicator %d delivered %d", i, in[i]);
    }
    MPI_Waitall(20, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 20; i++)
        MPI_Comm_free(&comms[i]);

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    ring(reversed, 1);
    MPI_Comm_free(&reversed);

    int upper = rank >= size / 2, remote, sum = 0, one = 1, got = -1, local;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    ring(half, 2 + upper);
    for (int i = 0; i < 5 && upper; i++)
        MPI_Comm_dup(half, &more[i]);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 12, &inter);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_rank(inter, &local);
    CHECK(remote == (upper ? size / 2 : size - size / 2), "%d remote ranks", remote);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote, "the other side has %d ranks", sum);
    if (local == 0) {
        MPI_Status status;
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE, 5, inter, &status);
        CHECK(got == (upper ? 0 : size / 2) && status.MPI_SOURCE == 0, "leader %d from %d", got,
              status.MPI_SOURCE);
        in_parts(inter);
    }
    from_the_last(inter, upper);
    for (int i = 0; i < 5; i++)
        blocks_of_the_other_side(inter, upper);
    for (int i = 0; i < 5 && upper; i++)
        MPI_Comm_free(&more[i]);
    MPI_Intercomm_merge(inter, upper, &merged);
    ring(merged, 4);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return check_end();
}
