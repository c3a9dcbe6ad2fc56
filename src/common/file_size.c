/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/file_size.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

bool dnet_file_size_allowed(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

int dnet_file_reserve(int fd, uint64_t offset, uint64_t bytes)
{
    sigset_t all, before;
    int error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    do
        error = posix_fallocate(fd, (off_t) offset, (off_t) bytes);
    while (error == EINTR); /* a debugger, a freezer */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
