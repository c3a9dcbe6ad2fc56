/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which memory of this process has been unmapped, moved or emptied, from the kernel (userfaultfd):
 * so that what an adapter has registered is never taken for memory that came later to the same
 * address.
 *
 * The thread that unmaps goes on when the kernel's message has been read, and that is done under
 * the lock together with gone(); so who looks under the lock afterwards finds what gone() has done.
 * Nobody may unmap or free memory under the lock.
 */
#ifndef DNET_EMU_UNMAPPED_H
#define DNET_EMU_UNMAPPED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct dnet_emu_unmapped dnet_emu_unmapped_t;

/**
 * Start a thread that listens.
 *
 * @param gone  bytes [from, end) are gone; called under the lock
 * @return NULL: no memory (logged)
 */
dnet_emu_unmapped_t *dnet_emu_unmapped_open(void (*gone)(void *arg, uintptr_t from, uintptr_t end),
                                            void *arg);

/** Listen for whole pages [from, end) as well.  @return false: nobody tells, of these or of any */
bool dnet_emu_unmapped_watch(dnet_emu_unmapped_t *u, uintptr_t from, uintptr_t end);

/** No more; for pages that nothing else watches. */
void dnet_emu_unmapped_unwatch(dnet_emu_unmapped_t *u, uintptr_t from, uintptr_t end);

/** Are these pages, which exist, memory of this process alone?  What is said of others may be
 * incomplete: shmdt() says nothing. */
bool dnet_emu_unmapped_is_told(const dnet_emu_unmapped_t *u, uintptr_t from, uintptr_t end);

void dnet_emu_unmapped_lock(dnet_emu_unmapped_t *u);
void dnet_emu_unmapped_unlock(dnet_emu_unmapped_t *u);

void dnet_emu_unmapped_close(dnet_emu_unmapped_t *u);

#endif
