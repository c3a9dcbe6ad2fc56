/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's counters (MPI_T performance variables) by their names without "dimmnet_", and what
 * decides which of them count.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include "check.h"

static MPI_T_pvar_session counter_session;
static struct {
    const char *name;
    MPI_T_pvar_handle handle;
} counter_known[16];
static int counter_count;

static inline MPI_T_pvar_handle counter_open(const char *name)
{
    int provided, index, elements;
    char full[64];
    MPI_T_pvar_handle handle;
    if (counter_count == 0) {
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        MPI_T_pvar_session_create(&counter_session);
    }
    snprintf(full, sizeof(full), "dimmnet_%s", name);
    if (MPI_T_pvar_get_index(full, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) {
        fprintf(stderr, "no variable %s\n", full);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_pvar_handle_alloc(counter_session, index, NULL, &handle, &elements);
    CHECK(elements == 1, "%s has %d elements", full, elements);
    counter_known[counter_count].name = name;
    counter_known[counter_count++].handle = handle;
    return handle;
}

static inline unsigned long long counter(const char *name)
{
    unsigned long long value = 0;
    for (int i = 0; i < counter_count; i++)
        if (strcmp(counter_known[i].name, name) == 0) {
            MPI_T_pvar_read(counter_session, counter_known[i].handle, &value);
            return value;
        }
    MPI_T_pvar_read(counter_session, counter_open(name), &value);
    return value;
}

/* After the last counter(). */
static inline void counters_end(void)
{
    if (counter_count == 0)
        return;
    MPI_T_pvar_session_free(&counter_session);
    MPI_T_finalize();
}

/* Where the kernel copies fairly fast two ranks read what else is a message. */
static inline int copies_are_fair(void)
{
    const char *copies = getenv("DIMMNET_KERNEL_COPIES");
    return copies && strcmp(copies, "fair") == 0;
}

#endif
