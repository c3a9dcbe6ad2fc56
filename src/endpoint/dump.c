/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "endpoint/waits.h"

#define LINE_BYTES 256u

/* The endpoints that answer, the first of a list, and the file; written before the handler is set.
 */
static _Atomic(dnet_ep_t *) asked;
static pthread_mutex_t asked_lock = PTHREAD_MUTEX_INITIALIZER; /* for who changes the list */
static char dump_path[4096];                                   /* "": stderr */

typedef struct {
    int fd;
    uint32_t rank, vci;
} out_t;

/* A line in one write: those of several ranks mix.  Each carries the rank. */
static void put_line(const out_t *out, const char *first, const char *rest)
{
    char line[LINE_BYTES];
    dnet_text_t t;
    dnet_text_begin(&t, line, sizeof(line) - 1);
    dnet_text_put(&t, "dimmnet[rank ");
    dnet_text_number(&t, out->rank);
    if (out->vci) {
        dnet_text_put(&t, " vci ");
        dnet_text_number(&t, out->vci);
    }
    dnet_text_put(&t, "] ");
    dnet_text_put(&t, first);
    dnet_text_put(&t, rest);
    *t.at++ = '\n';
    ssize_t written = write(out->fd, line, (size_t) (t.at - line));
    (void) written; /* there is nobody to tell */
}

static void put_wait(void *arg, const dnet_wait_t *w)
{
    char text[LINE_BYTES];
    dnet_wait_text(w, text, sizeof(text));
    put_line(arg, "  ", text);
}

static void put_count(dnet_text_t *t, uint64_t count, const char *of)
{
    dnet_text_number(t, count);
    dnet_text_put(t, of);
}

/* The application's call: of this thread, or else what the rank was seen to wait in last. */
static void find_call(const dnet_ep_t *ep, char *call, size_t bytes)
{
    const dnet_page_t *p = &ep->page;
    call[0] = '\0';
    if (ep->names.call)
        ep->names.call(call, bytes);
    uint64_t now = dnet_clock_ns();
    uint64_t seen = atomic_load_explicit(&p->seen_ns, memory_order_relaxed);
    if (!call[0] && p->mark == dnet_page_mark(p) && now - seen < DNET_PAGE_FRESH_NS) {
        dnet_text_t t;
        dnet_text_begin(&t, call, bytes);
        dnet_text_put(&t, p->call);
    }
}

void dnet_ep_dump(dnet_ep_t *ep, int fd)
{
    char call[32], line[LINE_BYTES];
    dnet_peek_t peek;
    dnet_text_t t;
    out_t out = {.fd = fd, .rank = ep->rank, .vci = ep->vci};
    find_call(ep, call, sizeof(call));
    dnet_text_begin(&t, line, sizeof(line));
    dnet_text_put(&t, call[0] ? "in " : "in no call, ");
    dnet_text_put(&t, call);
    dnet_text_put(&t, call[0] ? ", " : "");
    put_count(&t, ep->inbox.match.posted_count, " receives posted, ");
    put_count(&t, ep->inbox.match.unexpected_count, " messages unexpected (");
    put_count(&t, ep->page.unexpected_bytes, " bytes), ");
    put_count(&t, ep->ops.active, " sends under way, ");
    put_count(&t, ep->tx.open_channels, " peers with a queue, ");
    put_count(&t, ep->receiver.stopped.count, " senders stopped here");
    put_line(&out, "state: ", line);
    if (!dnet_peek_open(&peek)) {
        put_line(&out, "  no descriptors left to read more", "");
        return;
    }
    dnet_waits_visit(ep, &peek, call, put_wait, &out);
    dnet_peek_close(&peek);
}

static void answer(dnet_ep_t *ep)
{
    int fd = dump_path[0] ? open(dump_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                          : STDERR_FILENO;
    dnet_ep_dump(ep, fd < 0 ? STDERR_FILENO : fd);
    if (dump_path[0] && fd >= 0)
        close(fd);
}

static void on_signal(int number)
{
    int error = errno;
    dnet_ep_t *ep = atomic_load_explicit(&asked, memory_order_acquire);
    (void) number;
    for (; ep; ep = atomic_load_explicit(&ep->dumped, memory_order_acquire))
        answer(ep);
    errno = error;
}

void dnet_dump_long_wait(dnet_ep_t *ep, uint64_t now_ns)
{
    const uint64_t limit_ns = ep->options.hang_s * UINT64_C(1000000000);
    uint64_t since_ns = ep->page.since_ns;
    if (limit_ns == 0 || since_ns == 0 || since_ns == ep->progress.told_ns ||
        now_ns - since_ns < limit_ns)
        return;
    ep->progress.told_ns = since_ns;
    dnet_warn("has waited for %llu s (DIMMNET_HANG_S); dnet-stat %d shows the whole job",
              (unsigned long long) ep->options.hang_s, (int) ep->page.pid);
    answer(ep);
}

void dnet_dump_arm(dnet_ep_t *ep)
{
    struct sigaction old;
    const char *name = ep->options.dump_file;
    if (name &&
        (!strstr(name, "%r") || dnet_options_rank_path("DIMMNET_DUMP", name, ep->rank, ep->size,
                                                       dump_path, sizeof(dump_path)) != DNET_OK))
        snprintf(dump_path, sizeof(dump_path), "%s", name);
    if (sigaction(SIGUSR2, NULL, &old) != 0 ||
        (old.sa_handler != SIG_DFL && old.sa_handler != on_signal))
        return; /* the application has plans of its own */
    pthread_mutex_lock(&asked_lock);
    _Atomic(dnet_ep_t *) *end = &asked;
    while (*end)
        end = &(*end)->dumped;
    atomic_store_explicit(end, ep, memory_order_release);
    pthread_mutex_unlock(&asked_lock);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
}

void dnet_dump_disarm(dnet_ep_t *ep)
{
    pthread_mutex_lock(&asked_lock);
    _Atomic(dnet_ep_t *) *link = &asked;
    while (*link && *link != ep)
        link = &(*link)->dumped;
    if (*link)
        atomic_store_explicit(link, ep->dumped, memory_order_release);
    pthread_mutex_unlock(&asked_lock);
}
