/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory is registered for write protection, which is never switched on: so no access costs more,
 * and the kernel says what happens to the mapping.
 */
#include "config.h"

#include "emulator/swif/hosts/unmapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "common/thread.h"

#define USER_MODE_ONLY 1 /* UFFD_USER_MODE_ONLY: no privilege is needed */
#define EVENTS (UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE)
#define PAGE 4096u
#define SHARED_PAGE (UINT64_C(1) << 61) /* in /proc/self/pagemap */
#define PAGES_AT_ONCE 512u

struct dnet_emu_unmapped {
    pthread_mutex_t lock;
    pthread_t thread;
    bool running;
    int fd;     /* of the kernel's messages; -1: it gives none */
    int end_fd; /* an eventfd: the thread ends */
    int pages_fd;
    void (*gone)(void *arg, uintptr_t from, uintptr_t end);
    void *arg;
};

static int open_userfaultfd(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = EVENTS | UFFD_FEATURE_PAGEFAULT_FLAG_WP};
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);

    if (fd < 0) /* a kernel that does not know the flag */
        fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void take_messages(dnet_emu_unmapped_t *u)
{
    struct uffd_msg m;

    while (read(u->fd, &m, sizeof m) == sizeof m) {
        if (m.event == UFFD_EVENT_UNMAP || m.event == UFFD_EVENT_REMOVE)
            u->gone(u->arg, (uintptr_t) m.arg.remove.start, (uintptr_t) m.arg.remove.end);
        else if (m.event == UFFD_EVENT_REMAP)
            u->gone(u->arg, (uintptr_t) m.arg.remap.from,
                    (uintptr_t) (m.arg.remap.from + m.arg.remap.len));
    }
}

static void *listen_to(void *arg)
{
    dnet_emu_unmapped_t *u = arg;
    struct pollfd fds[] = {{.fd = u->fd, .events = POLLIN}, {.fd = u->end_fd, .events = POLLIN}};

    while ((poll(fds, 2, -1) > 0 || errno == EINTR) && !(fds[1].revents & POLLIN)) {
        dnet_emu_unmapped_lock(u);
        take_messages(u);
        dnet_emu_unmapped_unlock(u);
    }
    return NULL;
}

dnet_emu_unmapped_t *dnet_emu_unmapped_open(void (*gone)(void *arg, uintptr_t from, uintptr_t end),
                                            void *arg)
{
    dnet_emu_unmapped_t *u = calloc(1, sizeof *u);

    if (!u) {
        dnet_error("no memory to follow registered memory: %zu bytes needed", sizeof *u);
        return NULL;
    }
    pthread_mutex_init(&u->lock, NULL);
    u->gone = gone;
    u->arg = arg;
    u->fd = open_userfaultfd();
    u->end_fd = eventfd(0, EFD_CLOEXEC);
    u->pages_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    u->running = u->fd >= 0 && u->end_fd >= 0 && u->pages_fd >= 0 &&
                 dnet_thread_start(&u->thread, listen_to, u) == 0;
    if (u->fd >= 0 && !u->running) {
        close(u->fd);
        u->fd = -1;
    }
    return u;
}

bool dnet_emu_unmapped_watch(dnet_emu_unmapped_t *u, uintptr_t from, uintptr_t end)
{
    struct uffdio_register r = {.range = {.start = from, .len = end - from},
                                .mode = UFFDIO_REGISTER_MODE_WP};

    return u->fd >= 0 && ioctl(u->fd, UFFDIO_REGISTER, &r) == 0;
}

/* Else each part of a mapping that has been watched would stay a mapping of its own, of which a
 * process may have so many. */
void dnet_emu_unmapped_unwatch(dnet_emu_unmapped_t *u, uintptr_t from, uintptr_t end)
{
    struct uffdio_range r = {.start = from, .len = end - from};

    if (u->fd >= 0)
        (void) ioctl(u->fd, UFFDIO_UNREGISTER, &r);
}

bool dnet_emu_unmapped_is_told(const dnet_emu_unmapped_t *u, uintptr_t from, uintptr_t end)
{
    uint64_t page[PAGES_AT_ONCE];

    for (uintptr_t at = from; at < end;) {
        size_t n = (end - at) / PAGE < PAGES_AT_ONCE ? (end - at) / PAGE : PAGES_AT_ONCE;

        if (pread(u->pages_fd, page, n * sizeof *page, (off_t) (at / PAGE * sizeof *page)) !=
            (ssize_t) (n * sizeof *page))
            return false;
        for (size_t i = 0; i < n; i++)
            if (page[i] & SHARED_PAGE)
                return false;
        at += n * PAGE;
    }
    return true;
}

void dnet_emu_unmapped_lock(dnet_emu_unmapped_t *u)
{
    pthread_mutex_lock(&u->lock);
}

void dnet_emu_unmapped_unlock(dnet_emu_unmapped_t *u)
{
    pthread_mutex_unlock(&u->lock);
}

void dnet_emu_unmapped_close(dnet_emu_unmapped_t *u)
{
    const uint64_t one = 1;
    int fds[] = {u->fd, u->end_fd, u->pages_fd};

    if (u->running && write(u->end_fd, &one, sizeof one) == sizeof one)
        pthread_join(u->thread, NULL);
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]); /* that of the messages lets go who unmaps just now */
    pthread_mutex_destroy(&u->lock);
    free(u);
}
