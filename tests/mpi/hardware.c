/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Comm_split_type by hardware, which a process looks up when it is asked for first: each rank
 * binds itself to a processor of its own after MPI_Init, and is alone there.
 */
#define _GNU_SOURCE /* CPU_SET */
#include <sched.h>
#include <stdbool.h>

#include "check.h"

/* Bind this process to the nth processor that it may use.  false: there are fewer than ranks. */
static bool bind_to(int nth)
{
    cpu_set_t may, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(may), &may) != 0 || CPU_COUNT(&may) < size)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && nth-- == 0)
            CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Ranks in this one's part; 0: it is in none. */
static int part(int type, const char *key, const char *value)
{
    MPI_Info info;
    MPI_Comm comm;
    int ranks = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &comm);
    MPI_Info_free(&info);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &ranks);
        MPI_Comm_free(&comm);
    }
    return ranks;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int bound = bind_to(rank), all;
    MPI_Allreduce(&bound, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        if (rank == 0)
            puts("fewer processors than ranks");
        MPI_Finalize();
        return 77;
    }
    int own = part(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "pu");
    CHECK(own == 1, "%d ranks on this one's processor", own);
    int none = part(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "pci:ffff:ff:1f.7");
    CHECK(none == 0, "%d ranks at a device that there is not", none);
    int near = part(MPI_COMM_TYPE_SHARED, "shmem_topo", "machine");
    CHECK(near == size, "%d ranks on this host", near);
    int others =
        part(rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, "mpi_assert_no_any_tag", "true");
    CHECK(others == (rank == 0 ? 0 : size - 1), "%d ranks without rank 0", others);
    return check_end();
}
