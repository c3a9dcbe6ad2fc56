/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI without MPI_Init: a session, its process sets, a communicator from a group, traffic, and the
 * end.
 */
#include "check.h"

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sum = 0, wanted;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS)
        return 1;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "dimmnet.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    wanted = size * (size - 1) / 2;
    CHECK(sum == wanted, "sum of ranks %d, wanted %d", sum, wanted);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return check_failures != 0;
}
