/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded into a rank: it is killed at call number DIMMNET_FAULT_CALL of those that MPI_Init
 * makes to get memory, open files and talk to others.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int in_init, calls;

static void count(void)
{
    const char *wanted = getenv("DIMMNET_FAULT_CALL");
    if (in_init && wanted && ++calls == atoi(wanted))
        kill(getpid(), SIGKILL);
}

#define COUNTED(type, name, parameters, arguments) \
    type name parameters \
    { \
        type(*real) parameters = (type(*) parameters) dlsym(RTLD_NEXT, #name); \
        count(); \
        return real arguments; \
    }

COUNTED(int, memfd_create, (const char *name, unsigned flags), (name, flags))
COUNTED(int, mkstemp, (char *name), (name))
COUNTED(int, unlink, (const char *name), (name))
COUNTED(int, close, (int fd), (fd))
COUNTED(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))
COUNTED(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))
COUNTED(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
        (at, bytes, protection, flags, fd, offset))

int MPI_Init(int *argc, char ***argv)
{
    int (*real)(int *, char ***) = (int (*)(int *, char ***)) dlsym(RTLD_NEXT, "MPI_Init");
    in_init = 1;
    int error = real(argc, argv);
    in_init = 0;
    return error;
}
