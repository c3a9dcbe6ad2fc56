/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

dnet_log_level_t dnet_log_threshold = DNET_LOG_WARN;

static char identity[32];

static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};

void dnet_log_init(void)
{
    const char *value = getenv("DIMMNET_LOG");
    if (!value || !*value)
        return;
    for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(value, level_names[i]) == 0) {
            dnet_log_threshold = (dnet_log_level_t) i;
            return;
        }
    }
    dnet_warn("DIMMNET_LOG=%s is not a level; use error, warn, info, debug or trace", value);
}

void dnet_log_identity(const char *who)
{
    snprintf(identity, sizeof(identity), "%s", who);
}

/* The process that collects the output of a job ends it as soon as one rank is gone, and drops what
 * it has not read by then.  So after an error, which often is the last line, wait until the pipe is
 * empty. */
static void wait_until_read(void)
{
    int unread;
    for (int ms = 0; ms < 200; ms++) {
        if (ioctl(STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void dnet_log_line(dnet_log_level_t level, const char *fmt, ...)
{
    int saved_errno = errno;
    char line[1024];
    int used = identity[0]
                   ? snprintf(line, sizeof(line), "dimmnet[%s] %s: ", identity, level_names[level])
                   : snprintf(line, sizeof(line), "dimmnet[pid %d] %s: ", (int) getpid(),
                              level_names[level]);
    va_list args;
    va_start(args, fmt);
    errno = saved_errno; /* %m in the caller's format */
    int body = vsnprintf(line + used, sizeof(line) - (size_t) used, fmt, args);
    va_end(args);

    size_t len = (size_t) used + (body > 0 ? (size_t) body : 0);
    if (len > sizeof(line) - 2)
        len = sizeof(line) - 2;
    line[len++] = '\n';
    /* One write, so that lines of several ranks do not mix. */
    ssize_t written = write(STDERR_FILENO, line, len);
    (void) written;
    if (level == DNET_LOG_ERROR)
        wait_until_read();
    errno = saved_errno;
}
