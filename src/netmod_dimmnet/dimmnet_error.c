/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From statuses to MPI errors.
 */
#include "dimmnet_impl.h"

#include <signal.h>
#include <unistd.h>

static const char *why(dnet_status_t status)
{
    return MPIDI_DIMMNET_EP(0) ? dnet_ep_why(MPIDI_DIMMNET_EP(0), status)
                               : dnet_status_text(status);
}

/* The class stands in each call: MPICH's extracterrmsgs reads the source. */
int MPIDI_DIMMNET_error(dnet_status_t status, const char *doing)
{
    if (status == DNET_ERR_NO_MEMORY)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_NO_MEM, "**nomem", 0);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**dimmnet_status", "**dimmnet_status %s %s", doing,
                                why(status));
}

int MPIDI_DIMMNET_error_no_request(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPIX_ERR_NOREQ, "**nomemreq", 0);
}

int MPIDI_DIMMNET_error_no_memory(size_t bytes)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**dimmnet_nomem", "**dimmnet_nomem %L",
                                (long long) bytes);
}

int MPIDI_DIMMNET_error_truncated(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_TRUNCATE, "**truncate", NULL);
}

/* MPID_Abort() asks the process manager to end the job, waits for an answer, and may come back. The
 * manager may be in trouble as well: then SIGALRM ends this process. */
void MPIDI_DIMMNET_abort(dnet_status_t status)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    alarm(1);
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, 1, why(status));
    _exit(1);
}
