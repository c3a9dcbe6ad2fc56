/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of the library's own, which wait most of the time.
 */
#ifndef DNET_COMMON_THREAD_H
#define DNET_COMMON_THREAD_H

#include <pthread.h>

/** Start one with a small stack.  No signal of the program is handled there.  @return 0, or an
 * error number */
int dnet_thread_start(pthread_t *thread_p, void *(*run)(void *), void *arg);

#endif
