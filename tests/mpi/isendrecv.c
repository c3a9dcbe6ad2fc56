/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Isendrecv and MPI_Isendrecv_replace: types with gaps, also ones that the program frees or
 * goes on to use, the receive's status, messages that are too long, and MPI_PROC_NULL.
 */
#include "check.h"

enum { ROUNDS = 5, PAIRS = 100 };

static int to, from;

static void check_status(const MPI_Status *status, int source, int tag, int ints)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == ints,
          "status: source %d, tag %d, %d ints", status->MPI_SOURCE, status->MPI_TAG, count);
}

/* Of each two ints the first one. */
static MPI_Datatype every_other(void)
{
    MPI_Datatype type;
    MPI_Type_vector(PAIRS, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The program's type is its own afterwards. */
static void types_with_gaps(void)
{
    MPI_Datatype type = every_other();
    for (int round = 0; round < ROUNDS; round++) {
        int buf[2 * PAIRS], in[PAIRS], bytes;
        MPI_Request request;
        MPI_Status status;
        for (int i = 0; i < 2 * PAIRS; i++)
            buf[i] = rank * 1000 + round + i;
        MPI_Isendrecv(buf, 1, type, to, round, in, PAIRS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                      MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        check_status(&status, from, round, PAIRS);
        for (int i = 0; i < PAIRS; i++)
            CHECK(in[i] == from * 1000 + round + 2 * i, "int %d is %d", i, in[i]);
        MPI_Isendrecv_replace(buf, 1, type, to, round, from, round, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        check_status(&status, from, round, PAIRS);
        for (int i = 0; i < 2 * PAIRS; i++)
            CHECK(buf[i] == (i % 2 ? rank : from) * 1000 + round + i, "replaced int %d is %d", i,
                  buf[i]);
        MPI_Datatype another = every_other(); /* in the place of one that has been freed */
        MPI_Type_size(type, &bytes);
        CHECK(bytes == PAIRS * (int) sizeof(int), "the type has %d bytes", bytes);
        MPI_Type_free(&another);
    }
    MPI_Type_free(&type);
}

static void freed_at_once(void)
{
    int out[2 * PAIRS], in[2 * PAIRS];
    MPI_Datatype type = every_other();
    MPI_Request request;
    for (int i = 0; i < 2 * PAIRS; i++) {
        out[i] = rank * 1000 + i;
        in[i] = -1;
    }
    MPI_Isendrecv(out, 1, type, to, 1, in, 1, type, from, 1, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * PAIRS; i++)
        CHECK(in[i] == (i % 2 ? -1 : from * 1000 + i), "int %d is %d", i, in[i]);
}

static void too_long(void)
{
    int out[8] = {0}, in[4], class;
    MPI_Request request;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Isendrecv(out, 8, MPI_INT, to, 2, in, 4, MPI_INT, from, 2, comm, &request);
    MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
    CHECK(class == MPI_ERR_TRUNCATE, "8 ints for 4: error class %d", class);
    MPI_Comm_free(&comm);
}

/* @param a, b  to whom, and from whom: of each two one is MPI_PROC_NULL, or both are */
static void nobody(MPI_Comm comm, int a, int b, int replaces)
{
    int word = rank, got = -1, self;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_rank(comm, &self);
    if (replaces)
        MPI_Isendrecv_replace(&word, 1, MPI_INT, a, 3, b, 3, comm, &request);
    else
        MPI_Isendrecv(&word, 1, MPI_INT, a, 3, &got, 1, MPI_INT, b, 3, comm, &request);
    MPI_Wait(&request, &status);
    if (b == MPI_PROC_NULL)
        check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    else
        check_status(&status, b, 3, 1);
    CHECK(replaces || (got == -1) == (b == MPI_PROC_NULL), "got %d", got);
    CHECK(!replaces || b != MPI_PROC_NULL || word == rank, "%d in the place of %d", word, rank);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    types_with_gaps();
    freed_at_once();
    too_long();
    for (int replaces = 0; replaces < 2; replaces++) {
        nobody(MPI_COMM_WORLD, MPI_PROC_NULL, MPI_PROC_NULL, replaces);
        nobody(MPI_COMM_SELF, MPI_PROC_NULL, MPI_PROC_NULL, replaces);
        /* a line of ranks */
        nobody(MPI_COMM_WORLD, rank + 1 < size ? to : MPI_PROC_NULL,
               rank > 0 ? from : MPI_PROC_NULL, replaces);
    }
    return check_end();
}
