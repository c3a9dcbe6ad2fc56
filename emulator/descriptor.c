/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ordinary way is /proc/<pid>/fd/<fd>, which costs its owner nothing.  It needs the right to
 * trace the owner, which processes of one user have, unless the owner is not dumpable (set-id or
 * capabilities on its program, or PR_SET_DUMPABLE), or lives in another user namespace, as each
 * rank in an unprivileged container of its own does.  An owner of which that may be so has a thread
 * that waits on a socket and passes the descriptor (SCM_RIGHTS) to processes of its user.
 *
 * The socket has an abstract name: it needs no directory that all containers share and leaves
 * nothing behind. Peers must share the network namespace, as they must share the one of process
 * numbers.
 */
#include "config.h"

#include "emulator/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"

#define FIRST_USER_NAMESPACE \
    0xeffffffdul /* the kernel's number of the one that the machine starts with */
#define WAIT_S 5

/* What is asked for: an answer without a descriptor says that there is none. */
typedef struct {
    uint64_t id; /* of the segment */
    int32_t fd;  /* the owner's descriptor of it */
    uint32_t reserved;
} query_t;

/* The thread of this process; after fork() a child has none. */
static struct {
    pthread_mutex_t lock;
    unsigned offers;
    int32_t pid;
    int listener;
    pthread_t thread;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER, .listener = -1};

/* ---- name ---- */

static socklen_t name_of(int32_t pid, struct sockaddr_un *name)
{
    struct stat processes = {0};
    int n;

    (void) stat("/proc/self/ns/pid", &processes);
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    n = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "dimmnet-nic-%lu-%d",
                 (unsigned long) processes.st_ino, pid);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) n);
}

/* Is the process at the other end one of this user? */
static bool same_user(int s)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void wait_at_most(int s)
{
    const struct timeval most = {.tv_sec = WAIT_S};

    (void) setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void) setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

/* Is a call to be made again that a signal has ended, or a stop?  With a time limit the kernel does
 * not, whatever SA_RESTART says.  Signals may come more often than the limit, so that they alone
 * are not waited for any longer than since `start`. */
static bool is_interrupted(ssize_t result, uint64_t start)
{
    return result < 0 && errno == EINTR && dnet_clock_ns() - start < WAIT_S * 1000000000ull;
}

/* ---- the owner's side ---- */

/* Is it the NIC that is meant, and not another file of this process? */
static bool is_segment(const query_t *q)
{
    dnet_emu_header_t header;

    return pread(q->fd, &header, sizeof header, 0) == (ssize_t) sizeof header &&
           header.magic == DNET_EMU_MAGIC && header.id == q->id;
}

static void answer(int s)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    query_t q;
    struct iovec text = {&q, sizeof q};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
    uint64_t start = dnet_clock_ns();
    ssize_t n;

    if (!same_user(s)) /* others must not keep this one waiting */
        return;
    do
        n = recv(s, &q, sizeof q, MSG_WAITALL);
    while (is_interrupted(n, start));
    if (n != (ssize_t) sizeof q)
        return;
    if (is_segment(&q)) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &q.fd, sizeof(int));
    }
    (void) sendmsg(s, &message, MSG_NOSIGNAL);
}

static void *serve(void *arg)
{
    int listener = *(int *) arg;

    for (;;) {
        int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (s < 0 && (errno == EINVAL || errno == EBADF)) /* shut down */
            return NULL;
        if (s < 0) {
            usleep(1000); /* no descriptor now */
            continue;
        }
        wait_at_most(s);
        answer(s);
        close(s);
    }
}

/* Without the right to trace this process, can others open its descriptors? */
static bool closed_to_peers(void)
{
    struct stat users;

    return prctl(PR_GET_DUMPABLE) != 1 || stat("/proc/self/ns/user", &users) != 0 ||
           users.st_ino != FIRST_USER_NAMESPACE;
}

static void start(void)
{
    struct sockaddr_un name;
    socklen_t len = name_of(getpid(), &name);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

    service.listener = s;
    if (s < 0 || bind(s, (struct sockaddr *) &name, len) != 0 || listen(s, SOMAXCONN) != 0)
        error = errno;
    else
        error = dnet_thread_start(&service.thread, serve, &service.listener);
    if (error == 0)
        return;
    dnet_warn("cannot pass the NIC to processes that may not look into this one: %s",
              strerror(error));
    if (s >= 0)
        close(s);
    service.listener = -1;
}

void dnet_emu_descriptor_offer(void)
{
    pthread_mutex_lock(&service.lock);
    if (service.pid != getpid()) {
        service.offers = 0;
        service.listener = -1;
        service.pid = getpid();
    }
    service.offers++;
    if (service.listener < 0 && closed_to_peers())
        start();
    pthread_mutex_unlock(&service.lock);
}

void dnet_emu_descriptor_withdraw(void)
{
    pthread_mutex_lock(&service.lock);
    if (service.pid == getpid() && --service.offers == 0 && service.listener >= 0) {
        shutdown(service.listener, SHUT_RDWR);
        pthread_join(service.thread, NULL);
        close(service.listener);
        service.listener = -1;
    }
    pthread_mutex_unlock(&service.lock);
}

/* ---- the other side ---- */

/* Over a socket.  -1 and errno: EACCES where the owner passes none, ETIMEDOUT where it does not
 * answer now. */
static int ask_over(int s, const dnet_emu_locator_t *at)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    query_t q = {.id = at->id, .fd = at->fd};
    struct iovec text = {&q, sizeof q};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct sockaddr_un name;
    socklen_t len = name_of(at->pid, &name);
    uint64_t start = dnet_clock_ns();
    ssize_t n;
    int fd = -1;

    wait_at_most(s);
    do
        n = connect(s, (struct sockaddr *) &name, len);
    while (is_interrupted(n, start));
    if (n != 0 || !same_user(s)) {
        errno = n != 0 && (errno == EAGAIN || errno == EINTR) ? ETIMEDOUT : EACCES;
        return -1;
    }
    n = send(s, &q, sizeof q, MSG_NOSIGNAL); /* for which there is room: it waits for nothing */
    if (n == (ssize_t) sizeof q)
        do
            n = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
        while (is_interrupted(n, start));
    if (n <= 0)
        errno = ETIMEDOUT;
    else if (message.msg_flags & MSG_CTRUNC) /* no descriptor for it here */
        errno = EMFILE;
    else if (message.msg_controllen < sizeof control || control.head.cmsg_type != SCM_RIGHTS)
        errno = EACCES;
    else
        memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

/* Ask the owner.  -1 and errno: as ask_over(), or what there is no socket for want of. */
static int ask(const dnet_emu_locator_t *at)
{
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, error;

    if (s < 0)
        return -1;
    fd = ask_over(s, at);
    error = errno;
    close(s);
    errno = error;
    return fd;
}

unsigned dnet_emu_descriptor_takes(void)
{
    return closed_to_peers() ? DNET_EMU_SPARE_FDS : 1;
}

int dnet_emu_descriptor_open(const dnet_emu_locator_t *at, int flags)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", at->pid, at->fd);
    fd = open(path, flags);
    return fd >= 0 || (errno != EACCES && errno != EPERM) ? fd : ask(at);
}
