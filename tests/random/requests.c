/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways to wait for requests.
 */
#include "random.h"

#include <sched.h>

/* Lets other ranks have the processor that a program which polls does not need. */
static void poll_again(player_t *p)
{
    if (chance(&p->own, 20))
        sched_yield();
}

int request_finish(player_t *p, MPI_Request *request, MPI_Status *status)
{
    int flag = 0, code = MPI_SUCCESS;
    if (chance(&p->own, 50))
        return MPI_Wait(request, status);
    while (!flag && code == MPI_SUCCESS) {
        code = MPI_Test(request, &flag, status);
        if (!flag)
            poll_again(p);
    }
    return code;
}

/* The call said MPI_SUCCESS or one error; statuses tell which request it was, or it was this one.
 */
static void errors_of_all(player_t *p, int code, MPI_Status *statuses, int count)
{
    int class;
    MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS && class != MPI_ERR_IN_STATUS)
        differs(p, "error class %d of a call for %d requests is not MPI_ERR_IN_STATUS", class,
                count);
    for (int i = 0; i < count; i++)
        if (code == MPI_SUCCESS)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
}

/* After an error the others may be left as they are. */
static void finish_pending(player_t *p, MPI_Request *requests, MPI_Status *statuses, int count)
{
    for (int i = 0; i < count; i++) {
        int class;
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        if (class == MPI_ERR_PENDING)
            statuses[i].MPI_ERROR = request_finish(p, &requests[i], &statuses[i]);
    }
}

static void by_any(player_t *p, MPI_Request *requests, MPI_Status *statuses, int count, bool poll)
{
    for (int left = count; left > 0;) {
        MPI_Status status;
        int which, flag = 1;
        int code = poll ? MPI_Testany(count, requests, &which, &flag, &status)
                        : MPI_Waitany(count, requests, &which, &status);
        if (!flag && code == MPI_SUCCESS) {
            poll_again(p);
            continue;
        }
        if (which < 0 || which >= count)
            differs(p, "request %d of %d is finished, while %d are not", which, count, left);
        statuses[which] = status;
        statuses[which].MPI_ERROR = code;
        left--;
    }
}

static void by_some(player_t *p, MPI_Request *requests, MPI_Status *statuses, int count, bool poll)
{
    MPI_Status *some = malloc((size_t) count * sizeof(*some));
    int *which = malloc((size_t) count * sizeof(*which));
    if (!some || !which)
        abort();
    for (int left = count; left > 0;) {
        int n;
        int code = poll ? MPI_Testsome(count, requests, &n, which, some)
                        : MPI_Waitsome(count, requests, &n, which, some);
        if (n == 0 && poll) {
            poll_again(p);
            continue;
        }
        if (n < 1 || n > left)
            differs(p, "%d of %d requests are finished at once", n, left);
        errors_of_all(p, code, some, n);
        for (int i = 0; i < n; i++)
            statuses[which[i]] = some[i];
        left -= n;
    }
    free(which);
    free(some);
}

void requests_finish(player_t *p, MPI_Request *requests, MPI_Status *statuses, int count)
{
    if (count == 0)
        return;
    int flag = 0, code = MPI_SUCCESS;
    switch (below(&p->own, 7)) {
        case 0:
            for (int i = 0; i < count; i++)
                statuses[i].MPI_ERROR = request_finish(p, &requests[i], &statuses[i]);
            return;
        case 1:
            by_any(p, requests, statuses, count, false);
            return;
        case 2:
            by_any(p, requests, statuses, count, true);
            return;
        case 3:
            by_some(p, requests, statuses, count, false);
            return;
        case 4:
            by_some(p, requests, statuses, count, true);
            return;
        case 5:
            while (!flag && code == MPI_SUCCESS) {
                code = MPI_Testall(count, requests, &flag, statuses);
                if (!flag)
                    poll_again(p);
            }
            break;
        default:
            code = MPI_Waitall(count, requests, statuses);
            break;
    }
    errors_of_all(p, code, statuses, count);
    finish_pending(p, requests, statuses, count);
}
