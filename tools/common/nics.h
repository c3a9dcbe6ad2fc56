/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs of this user, as tools find them: all of them, or those of one job.
 */
#ifndef DNET_TOOLS_NICS_H
#define DNET_TOOLS_NICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dimmnet/emulator.h"

typedef struct {
    dnet_emu_locator_t at;
    dnet_emu_description_t is;
    uint8_t pgid;
} nics_nic_t;

typedef struct {
    nics_nic_t *nic; /* freed by the caller */
    uint32_t count;
} nics_t;

/** Each NIC once, in the order of LIDs. */
nics_t nics_all(void);

/**
 * Keep the NICs of a job: of the processes that `pid` has started; or, when `pid` is itself one of
 * the job's processes, its own and those of its siblings in the same process group.
 *
 * @param at_p, wid_p  index of the NIC that `pid` uses, and as which WID; else 0
 */
void nics_job(nics_t *nics, int32_t pid, uint32_t *at_p, unsigned *wid_p);

/** A word that a NIC or its process writes now. */
static inline uint64_t nics_load(const void *at)
{
    return atomic_load_explicit((const _Atomic uint64_t *) at, memory_order_acquire);
}

#endif
