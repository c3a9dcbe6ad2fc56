/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI without MPI_Init: sessions, their process sets, communicators from groups, traffic, and the
 * end.  One stays open while others come and go; the last to end is not the first.
 */
#include "check.h"

enum { ROUNDS = 20 };

static MPI_Session open_session(void)
{
    MPI_Session session;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS)
        exit(1);
    return session;
}

/* Traffic in a communicator of all processes. */
static void use(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int sum = 0, wanted;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    wanted = size * (size - 1) / 2;
    CHECK(sum == wanted, "%s: sum of ranks %d, wanted %d", tag, sum, wanted);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

int main(void)
{
    MPI_Session stays = open_session(), last;
    use(stays, "dimmnet.stays");
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Session session = open_session();
        use(session, "dimmnet.comes");
        MPI_Session_finalize(&session);
        use(stays, "dimmnet.stays");
    }
    last = open_session();
    MPI_Session_finalize(&stays);
    use(last, "dimmnet.last");
    MPI_Session_finalize(&last);
    return check_failures != 0;
}
