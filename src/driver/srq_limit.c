/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH entries offered to the NIC by a thread (docs/protocol.md 6.2), the way software keeps an
 * InfiniBand shared receive queue filled: the NIC has `refill` entries and a few, the limit event
 * says when few are left, and the thread offers as many again.
 *
 * The polling thread gives entries back in `returned` and never stores Head; the event thread never
 * reads a ring.
 */
#include "driver/driver.h"

void dnet_drv_srq_return(dnet_drv_t *nic)
{
    dnet_drv_srq_t *p = &nic->srq;
    /* Sequentially consistent, as in dnet_drv_srq_refill(): one of the two sees what the other has
     * stored. */
    atomic_store(&p->returned, nic->lh_read);
    if (atomic_load(&p->wanting))
        dnet_drv_srq_limit_raise(nic);
}

uint32_t dnet_drv_srq_limit_wait(dnet_drv_t *nic, uint32_t seen, uint64_t *when_ns_p)
{
    return nic->dev->ops->event_wait(nic->dev, seen, when_ns_p);
}

void dnet_drv_srq_limit_raise(dnet_drv_t *nic)
{
    nic->dev->ops->event_raise(nic->dev);
}

/* Offered entries that are not filled yet. */
static uint32_t entries_left(const dnet_drv_t *nic)
{
    uint32_t tail =
        (uint32_t) dnet_reg_load(nic->dev, DNET_UREG_LH_NEXT_WRITE) / DNET_LH_ENTRY_BYTES;
    return (nic->srq.offered - 1 - tail) & nic->lh_mask;
}

/* Offer up to `refill` entries.  @return false: all that were given back are offered already */
static bool offer(dnet_drv_t *nic)
{
    dnet_drv_srq_t *p = &nic->srq;
    uint32_t most = atomic_load(&p->returned) + nic->lh_mask + 1;
    uint32_t n = most - p->offered < p->refill ? most - p->offered : p->refill;
    p->offered += n;
    dnet_reg_store_quiet(nic->dev, DNET_UREG_LH_NEXT_READ,
                         (uint64_t) (p->offered & nic->lh_mask) * DNET_LH_ENTRY_BYTES);
    return n > 0;
}

void dnet_drv_srq_refill(dnet_drv_t *nic)
{
    dnet_drv_srq_t *p = &nic->srq;
    atomic_store(&p->wanting, false);
    do {
        if (!offer(nic)) {
            atomic_store(&p->wanting, true);
            if (!offer(nic))
                return; /* dnet_drv_srq_return() raises the event */
            atomic_store(&p->wanting, false);
        }
    } while (entries_left(nic) <= p->mark);
    dnet_reg_store(nic->dev, DNET_UREG_LH_LIMIT, p->mark);
}
