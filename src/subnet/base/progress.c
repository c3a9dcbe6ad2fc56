/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress lines (progress.h).
 */
#include "subnet/base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

#define DNET_PROGRESS_LONG 1.0 /* seconds; a shorter phase is not worth a line */

static struct {
    bool on, terminal;
    const char *what;
    long total;
    double started, shown;
} progress;

double dnet_progress_seconds(void)
{
    return (double) dnet_clock_ns() * 1e-9;
}

void dnet_progress_enable(bool on)
{
    progress.on = on;
    progress.terminal = isatty(STDERR_FILENO);
}

void dnet_progress_begin(const char *what, long total)
{
    progress.what = what;
    progress.total = total;
    progress.started = progress.shown = progress.on ? dnet_progress_seconds() : 0;
}

void dnet_progress(long done)
{
    if (!progress.on || (done & 15))
        return;
    double now = dnet_progress_seconds();
    if (now - progress.started < DNET_PROGRESS_LONG ||
        now - progress.shown < (progress.terminal ? 0.2 : 10))
        return;
    progress.shown = now;
    fprintf(stderr, "%s%s: %ld of %ld, %.1f s%s", progress.terminal ? "\r" : "", progress.what,
            done, progress.total, now - progress.started, progress.terminal ? "  " : "\n");
    fflush(stderr);
}

void dnet_progress_end(void)
{
    if (!progress.on || dnet_progress_seconds() - progress.started < DNET_PROGRESS_LONG)
        return;
    fprintf(stderr, "%s%s: done in %.2f s%s\n", progress.terminal ? "\r" : "", progress.what,
            dnet_progress_seconds() - progress.started, progress.terminal ? "          " : "");
}
