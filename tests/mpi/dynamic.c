/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spawning processes and opening ports is refused with an error that says so, and the job goes on.
 */
#include "check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME] = "", text[MPI_MAX_ERROR_STRING] = "";
    int length, codes[1], error = MPI_Open_port(MPI_INFO_NULL, port);
    CHECK(error != MPI_SUCCESS, "MPI_Open_port succeeded");
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, "Processes cannot be added to a running job"), "MPI_Open_port says: %s",
          text);
    error =
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    CHECK(error != MPI_SUCCESS, "MPI_Comm_spawn succeeded");
    error = MPI_Comm_connect("nonsense", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    CHECK(error != MPI_SUCCESS, "MPI_Comm_connect succeeded");
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "after the errors the sum is %d", sum);
    return check_end();
}
