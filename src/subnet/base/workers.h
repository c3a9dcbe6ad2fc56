/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work that falls into independent items, on all processors.
 */
#ifndef DNET_SUBNET_WORKERS_H
#define DNET_SUBNET_WORKERS_H

#define DNET_WORKERS_MAX 16

/** Threads worth having: processors this process may run on now, 1 to MAX. */
int dnet_workers(void);

/**
 * Do items 0 to n - 1; returns when all are done.  Which thread does which item is not determined,
 * so that a result must not depend on it.
 *
 * @param threads  at most so many, 1 to MAX; fewer where the system has no more
 * @param work     called with `arg`, the number of the thread (below `threads`; 0 is the caller's)
 *                 and the item
 */
void dnet_workers_run(int n, int threads, void (*work)(void *arg, int worker, int item), void *arg);

#endif
