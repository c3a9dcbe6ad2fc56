/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"

#include <pthread.h>
#include <stdlib.h>

#define KEPT_LEAST (64u << 10)
#define KEPT_MOST (4u << 20)
#define KEPT_BUFFERS 8

/* What stands before each buffer, as long as a line. */
typedef union {
    size_t bytes; /* behind it */
    char line[64];
} head_t;

static struct {
    pthread_mutex_t lock;
    head_t *buffers[KEPT_BUFFERS];
    int count;
    size_t bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One of up to twice the length.  NULL: there is none */
static head_t *take_kept(size_t bytes)
{
    head_t *head = NULL;
    pthread_mutex_lock(&kept.lock);
    for (int i = kept.count - 1; i >= 0 && !head; i--) {
        if (kept.buffers[i]->bytes < bytes || kept.buffers[i]->bytes / 2 > bytes)
            continue;
        head = kept.buffers[i];
        kept.buffers[i] = kept.buffers[--kept.count];
        kept.bytes -= head->bytes;
    }
    pthread_mutex_unlock(&kept.lock);
    return head;
}

static bool keep(head_t *head)
{
    pthread_mutex_lock(&kept.lock);
    bool has_room = kept.count < KEPT_BUFFERS && kept.bytes + head->bytes <= KEPT_MOST;
    if (has_room) {
        kept.buffers[kept.count++] = head;
        kept.bytes += head->bytes;
    }
    pthread_mutex_unlock(&kept.lock);
    return has_room;
}

void *MPIDI_DIMMNET_buffer_alloc(size_t bytes)
{
    head_t *head = bytes >= KEPT_LEAST ? take_kept(bytes) : NULL;
    if (!head && bytes <= SIZE_MAX - sizeof(*head) &&
        (head = MPL_malloc(sizeof(*head) + bytes, MPL_MEM_BUFFER)))
        head->bytes = bytes;
    return head ? head + 1 : NULL;
}

void MPIDI_DIMMNET_buffer_free(void *buffer)
{
    head_t *head = buffer ? (head_t *) buffer - 1 : NULL;
    if (head && !(head->bytes >= KEPT_LEAST && keep(head)))
        MPL_free(head);
}

void MPIDI_DIMMNET_buffers_finalize(void)
{
    while (kept.count > 0)
        MPL_free(kept.buffers[--kept.count]);
    kept.bytes = 0;
}
