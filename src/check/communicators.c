/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls that make and free communicators, windows and files, those that wait or test, and
 * begin and end: a new communicator is watched from its first moment on.
 */
#include <sched.h>

#include "check/check.h"

/* MPI_Comm_free waits for nobody in any library, and programs free in whatever order they like. */
static void enter(MPI_Comm comm, dnet_check_call_t call)
{
    const dnet_check_record_t record = {call, -1, 0, DNET_CHECK_ANY};
    dnet_check_enter(comm, &record, call != DNET_CHECK_Comm_free);
}

/* ---- begin, end ---- */

int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);
    dnet_check_watch(MPI_COMM_WORLD);
    return error;
}

/* The checker holds no lock, so its calls are made by one thread at a time. */
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
    int error = PMPI_Init_thread(
        argc, argv, wanted < MPI_THREAD_SERIALIZED ? wanted : MPI_THREAD_SERIALIZED, provided);
    dnet_check_watch(MPI_COMM_WORLD);
    return error;
}

int MPI_Finalize(void)
{
    dnet_check_end();
    return PMPI_Finalize();
}

/* ---- communicators ---- */

/* MPI_`name`, which makes `*made` of `comm`. */
#define MAKES(name, parameters, arguments, made) \
    int MPI_##name parameters \
    { \
        enter(comm, DNET_CHECK_##name); \
        int error = PMPI_##name arguments; \
        if (error == MPI_SUCCESS) \
            dnet_check_watch(*made); \
        return error; \
    }

MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), made)
MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made), made)
MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made),
      made)
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
      (comm, type, key, info, made), made)
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), made)
MAKES(Cart_create,
      (MPI_Comm comm, int dims, const int *of, const int *around, int reorder, MPI_Comm *made),
      (comm, dims, of, around, reorder, made), made)
MAKES(Cart_sub, (MPI_Comm comm, const int *keep, MPI_Comm *made), (comm, keep, made), made)
MAKES(Graph_create,
      (MPI_Comm comm, int nodes, const int *index, const int *edges, int reorder, MPI_Comm *made),
      (comm, nodes, index, edges, reorder, made), made)
MAKES(Dist_graph_create,
      (MPI_Comm comm, int n, const int *from, const int *degree, const int *to, const int *weight,
       MPI_Info info, int reorder, MPI_Comm *made),
      (comm, n, from, degree, to, weight, info, reorder, made), made)
MAKES(Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int *from, const int *in_weight, int out, const int *to,
       const int *out_weight, MPI_Info info, int reorder, MPI_Comm *made),
      (comm, in, from, in_weight, out, to, out_weight, info, reorder, made), made)

/* Of some ranks only, so not a collective of `comm`. */
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    int error = PMPI_Comm_create_group(comm, group, tag, made);
    if (error == MPI_SUCCESS)
        dnet_check_watch(*made);
    return error;
}

int MPI_Intercomm_merge(MPI_Comm between, int high, MPI_Comm *made)
{
    int error = PMPI_Intercomm_merge(between, high, made);
    if (error == MPI_SUCCESS)
        dnet_check_watch(*made);
    return error;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    enter(*comm, DNET_CHECK_Comm_free);
    return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    enter(*comm, DNET_CHECK_Comm_disconnect);
    return PMPI_Comm_disconnect(comm);
}

/* ---- windows and files ---- */

int MPI_Win_create(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    enter(comm, DNET_CHECK_Win_create);
    return PMPI_Win_create(base, bytes, unit, info, comm, win);
}

int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base,
                     MPI_Win *win)
{
    enter(comm, DNET_CHECK_Win_allocate);
    return PMPI_Win_allocate(bytes, unit, info, comm, base, win);
}

int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base,
                            MPI_Win *win)
{
    enter(comm, DNET_CHECK_Win_allocate_shared);
    return PMPI_Win_allocate_shared(bytes, unit, info, comm, base, win);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    enter(comm, DNET_CHECK_Win_create_dynamic);
    return PMPI_Win_create_dynamic(info, comm, win);
}

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    enter(comm, DNET_CHECK_File_open);
    return PMPI_File_open(comm, name, mode, info, file);
}

/* ---- calls that wait, while neighbours may still say what does not fit ---- */

#define WAITS(name, test, parameters, arguments, tested) \
    int MPI_##name parameters \
    { \
        int done = 0, error = MPI_SUCCESS; \
        while (!done && error == MPI_SUCCESS) { \
            if (!dnet_check_look()) \
                return PMPI_##name arguments; \
            error = PMPI_##test tested; \
            sched_yield(); \
        } \
        return error; \
    }

WAITS(Wait, Test, (MPI_Request * request, MPI_Status *status), (request, status),
      (request, &done, status))
WAITS(Waitall, Testall, (int n, MPI_Request *request, MPI_Status *status), (n, request, status),
      (n, request, &done, status))
WAITS(Waitany, Testany, (int n, MPI_Request *request, int *index, MPI_Status *status),
      (n, request, index, status), (n, request, index, &done, status))
WAITS(Probe, Iprobe, (int from, int tag, MPI_Comm comm, MPI_Status *status),
      (from, tag, comm, status), (from, tag, comm, &done, status))
WAITS(Mprobe, Improbe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
      (from, tag, comm, message, status), (from, tag, comm, &done, message, status))
int MPI_Waitsome(int n, MPI_Request *request, int *count, int *index, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    *count = 0;
    while (*count == 0 && error == MPI_SUCCESS) {
        if (!dnet_check_look())
            return PMPI_Waitsome(n, request, count, index, status);
        error = PMPI_Testsome(n, request, count, index, status);
        sched_yield();
    }
    return error;
}

/* ---- calls that may be made until something has happened ---- */

#define ASKS(name, parameters, arguments) \
    int MPI_##name parameters \
    { \
        (void) dnet_check_look(); \
        return PMPI_##name arguments; \
    }

ASKS(Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status))
ASKS(Testall, (int n, MPI_Request *request, int *done, MPI_Status *status),
     (n, request, done, status))
ASKS(Testany, (int n, MPI_Request *request, int *index, int *done, MPI_Status *status),
     (n, request, index, done, status))
ASKS(Testsome, (int n, MPI_Request *request, int *count, int *index, MPI_Status *status),
     (n, request, count, index, status))
ASKS(Request_get_status, (MPI_Request request, int *done, MPI_Status *status),
     (request, done, status))
ASKS(Iprobe, (int from, int tag, MPI_Comm comm, int *there, MPI_Status *status),
     (from, tag, comm, there, status))
ASKS(Improbe,
     (int from, int tag, MPI_Comm comm, int *there, MPI_Message *message, MPI_Status *status),
     (from, tag, comm, there, message, status))
