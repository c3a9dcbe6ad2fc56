/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI without MPI_Init: sessions, their process sets, communicators from groups, traffic, and the
 * end.  One stays open while others come and go; the last to end is not the first.  Errors go to
 * the handler of their session.
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

static int errors;

static void count_error(MPI_Session *session, int *code, ...)
{
    (void) session;
    (void) code;
    errors++;
}

/* The handler is the one that the session began with, then another. */
static void refuse(void)
{
    MPI_Session session;
    MPI_Errhandler handler, has;
    MPI_Group group;
    MPI_Session_create_errhandler(count_error, &handler);
    MPI_Session_init(MPI_INFO_NULL, handler, &session);
    MPI_Session_get_errhandler(session, &has);
    CHECK(has == handler, "the session has another handler");
    MPI_Errhandler_free(&has);
    MPI_Errhandler_free(&handler);
    int code = MPI_Group_from_session_pset(session, "dimmnet://none", &group);
    MPI_Session_call_errhandler(session, code);
    CHECK(code != MPI_SUCCESS && errors == 2, "%d errors, code %d", errors, code);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
    code = MPI_Group_from_session_pset(session, "dimmnet://none", &group);
    CHECK(code != MPI_SUCCESS && errors == 2, "%d errors afterwards, code %d", errors, code);
    MPI_Session_finalize(&session);
}

int main(void)
{
    MPI_Session stays = open_session(), last;
    refuse();
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
