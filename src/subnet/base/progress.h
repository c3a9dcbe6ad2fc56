/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of long computations on stderr, off unless a tool switches it on: a line that is redrawn
 * on a terminal, one line per phase of more than a second and one per ten seconds elsewhere.
 */
#ifndef DNET_SUBNET_PROGRESS_H
#define DNET_SUBNET_PROGRESS_H

#include <stdbool.h>

/** Print progress on stderr from now on, or no longer; off at the start. */
void dnet_progress_enable(bool on);

/** Start a phase of `total` steps. */
void dnet_progress_begin(const char *what, long total);

/** Report the number of finished steps; cheap enough for every step. */
void dnet_progress(long done);

/** Close the phase with its time. */
void dnet_progress_end(void);

/** Seconds on a monotonic clock, for measuring. */
double dnet_progress_seconds(void);

#endif
