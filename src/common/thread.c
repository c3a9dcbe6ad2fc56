/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/thread.h"

#include <signal.h>

#define STACK_BYTES 65536u

int dnet_thread_start(pthread_t *thread_p, void *(*run)(void *), void *arg)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    sigfillset(&all);
    (void) pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread_p, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}
