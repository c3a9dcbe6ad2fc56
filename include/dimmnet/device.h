/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A NIC as one process sees it: the memory map of the data sheet (section 3), reduced to the areas
 * of one WID, and what an emulated NIC needs in addition, which a board or its kernel driver has.
 *
 * Host stores and host loads of the register pages go through two pointers, because several offsets
 * hold one register for stores and another for loads (0x700: Head and Tail).  On a board both
 * pointers are the same page.  After a store the host calls dnet_reg_store(), which tells the NIC
 * when the register is one whose store has an effect of its own.
 *
 * Threads: a device belongs to one process and is used by one thread at a time.
 */
#ifndef DIMMNET_DEVICE_H
#define DIMMNET_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "dimmnet/format.h"
#include "dimmnet/status.h"

/** Register offsets: DNET_UREG_<NAME> in the User Register page, DNET_SREG_<NAME> in the System
 * page. */
enum {
#define DNET_REGISTER(page, name, offset, access, reset, store, clause, title) \
    DNET_##page##_##name = (offset),
#include "dimmnet/registers.def"
#undef DNET_REGISTER
    DNET_REGISTER_END_
};

/** Ranges of memory, in their order. */
typedef struct {
    struct iovec *range;
    size_t n;
} dnet_ranges_t;
#define DNET_COPY_RANGES 1024 /* what the kernel takes at once */

/** Sizes of the areas of one WID.  The prototype profile has the data sheet's. */
typedef struct {
    uint32_t ww_count; /* Write Windows of DNET_WINDOW_BYTES each */
    uint32_t pw_count; /* Prefetch Windows of DNET_WINDOW_BYTES each */
    uint32_t llcm_bytes;
    uint32_t lh_entries;     /* power of two; one stays unused */
    uint32_t flow_entries;   /* power of two; 0: this NIC has no flow ring (prototype) */
    uint32_t aperture_slots; /* 0: no apertures (prototype) */
    uint64_t sodimm_bytes;   /* own half of the SO-DIMM space */
} dnet_geometry_t;

typedef struct dnet_device dnet_device_t;

#define DNET_COPY_TIMED_BYTES 16384 /* copy_time() */

/** Memory that a process lets another host read: what the reader has to know. */
typedef struct {
    uint64_t address;
    uint64_t key[2]; /* as the network wants them, of all rails */
} dnet_remote_memory_t;

typedef struct {
    /** The host has stored to (or, for Controller Reset, loaded from) register `offset` of a page.
     */
    void (*kick)(dnet_device_t *dev, uint32_t offset, bool system_page);
    /** Let the NIC go on with requests that wait for room elsewhere. */
    void (*run)(dnet_device_t *dev);
    /**
     * Take what the network has brought for this WID, at most `budget` packets, where it is not the
     * sender that delivers.  To be called in every round of a process that has peers on other
     * hosts.
     *
     * @return whether anything has come
     */
    bool (*poll)(dnet_device_t *dev, unsigned budget);
    /**
     * LH Next Write has moved past an entry that does not come: entries whose sender has died while
     * it copied become void (Valid turns, Complete does not; line 1 says what they take up).  A
     * sender that lives and has not finished for a second is named in a line.  To be called from
     * time to time while an entry is missing.
     */
    void (*settle)(dnet_device_t *dev);
    /**
     * Sleep until something may have arrived for this WID, or timeout_us have passed.
     * still_idle(arg) is called once after the NIC has been told to wake the process; the sleep is
     * skipped when it returns false.
     */
    void (*sleep)(dnet_device_t *dev, uint32_t timeout_us, bool (*still_idle)(void *), void *arg);
    /**
     * Give the processor away, at most so many times, until something may have arrived for this
     * WID. still_idle() as for sleep().
     */
    void (*yield)(dnet_device_t *dev, uint32_t times, bool (*still_idle)(void *), void *arg);
    /**
     * Sleep until the limit event (LH Limit register) has happened more often than `seen` times.
     * For a thread that does nothing else; the only operation beside event_raise() that may run
     * next to others.
     *
     * @param when_ns_p  when it happened last, on CLOCK_MONOTONIC
     * @return how often it has happened
     */
    uint32_t (*event_wait)(dnet_device_t *dev, uint32_t seen, uint64_t *when_ns_p);
    /** Count one more limit event, so that event_wait() returns. */
    void (*event_raise)(dnet_device_t *dev);
    /**
     * Commit memory for part of the own SO-DIMM area, so that a full machine says so now.
     *
     * @param offset,len  bytes in the area
     * @return DNET_OK; DNET_ERR_ARGUMENT (outside the area); DNET_ERR_NO_MEMORY (bytes needed and
     *         available); DNET_ERR_SYSTEM; each logged
     */
    dnet_status_t (*reserve)(dnet_device_t *dev, uint64_t offset, uint64_t len);
    /**
     * Give back the memory of the whole pieces of 64 KB inside a part of the own SO-DIMM area.
     * They read as 0, and the next access or reserve() commits them anew.
     */
    void (*unreserve)(dnet_device_t *dev, uint64_t offset, uint64_t len);
    /** May this process copy straight into and out of that one's memory?  Tried by a real copy. */
    bool (*can_copy)(dnet_device_t *dev, uint16_t lid, unsigned wid);
    /** What a copy of DNET_COPY_TIMED_BYTES between processes takes at least, in ns: a few are
     * timed, in this process alone.  0: there is no such copy. */
    uint32_t (*copy_time)(dnet_device_t *dev);
    /**
     * Copy out of the memory of the process that has that WID, which can_copy().  Any thread may.
     *
     * @param stores      into that memory instead
     * @param own,theirs  ranges of as many bytes in all, at most DNET_COPY_RANGES each; used up
     * @return DNET_OK; DNET_ERR_ARGUMENT: there is no such memory; DNET_ERR_PEER_DEAD: the process
     *         has ended, or does not let us any more (both logged)
     */
    dnet_status_t (*copy)(dnet_device_t *dev, uint16_t lid, unsigned wid, bool stores,
                          dnet_ranges_t own, dnet_ranges_t theirs);
    /**
     * Has the process of that WID ended without closing its device, or, on another host, not been
     * heard of for too long?  Only NICs with which this process has exchanged packets are known;
     * for others the answer is false.
     */
    bool (*peer_lost)(dnet_device_t *dev, uint16_t lid, unsigned wid);
    /**
     * Map part of the SO-DIMM area of a WID into this process, for loads and stores, as long as
     * unmap() is not called.  Its owner has committed it (reserve()).
     *
     * @param offset,len  bytes in the area, whole pages
     * @return NULL: not to be had (logged)
     */
    void *(*map)(dnet_device_t *dev, uint16_t lid, unsigned wid, uint64_t offset, uint64_t len);
    void (*unmap)(dnet_device_t *dev, void *memory, uint64_t len);
    /**
     * Longest message, in bytes with its envelope, that one LHSv2 brings to an area of any process
     * as one: that of a packet, or of the packets that are handed over together where there is
     * nothing but shared memory, or a plug to other hosts, between the NICs.
     */
    uint32_t (*message_bytes)(dnet_device_t *dev);
    /**
     * The next message to that WID is likely to come from this process and to put so many bytes
     * into its ring: ask for the lines of their place, so that they are this processor's when they
     * are stored to.
     */
    void (*expect)(dnet_device_t *dev, uint16_t lid, unsigned wid, uint32_t bytes);
    /** Let sleep() of that WID's process return, if it is in it. */
    void (*wake)(dnet_device_t *dev, uint16_t lid, unsigned wid);
    void (*close)(dnet_device_t *dev);
    /** Packets to other hosts with so many bytes of data are issued from now on, and may leave
     * together; 0: these were all.  For a caller that issues several at once. */
    void (*gather)(dnet_device_t *dev, uint32_t bytes);
    /**
     * Let the process of that WID, which is on another host, read memory of this one, whatever this
     * process does meanwhile, until take_back().
     *
     * @return what take_back() wants; NULL: the network, or the memory, is not made for that
     */
    void *(*lend)(dnet_device_t *dev, uint16_t lid, unsigned wid, const void *at, uint64_t bytes,
                  dnet_remote_memory_t *memory_p);
    /** The next packet to that WID says what is lent, and the network may bring the memory with it,
     * before it is read.  NULL: the packet has been sent, or will not be. */
    void (*send_ahead)(dnet_device_t *dev, uint16_t lid, unsigned wid, void *loan);
    void (*take_back)(dnet_device_t *dev, void *loan);
    /** Read what the process of that WID has lent.  True: read_ended() will give `tag`; false: it
     * cannot be read. */
    bool (*read)(dnet_device_t *dev, uint16_t lid, unsigned wid, const dnet_remote_memory_t *from,
                 void *to, uint64_t bytes, void *tag);
    /** The next read that has ended; NULL: there is none.  @param status_p  DNET_OK: all is there;
     * else nothing will be written to `to` any more */
    void *(*read_ended)(dnet_device_t *dev, dnet_status_t *status_p);
} dnet_device_ops_t;

struct dnet_device {
    const dnet_device_ops_t *ops;
    uint8_t *ww;               /* Write Windows, store only */
    const uint8_t *pw;         /* Prefetch Windows, load only [nic OP-53] */
    uint8_t *llcm;             /* load and store, any size */
    const dnet_lh_entry_t *lh; /* LH Buffer, load only */
    uint8_t *ureg_store;       /* User Register page */
    const uint8_t *ureg_load;
    uint8_t *sreg_store; /* System Register page; NULL: not privileged */
    const uint8_t *sreg_load;
    const dnet_flow_entry_t *flow; /* flow ring; NULL in the prototype profile */
    /* own SO-DIMM area mapped into the host (extension); else NULL.  Only what reserve() has
     * committed may be touched. */
    uint8_t *sodimm;
    dnet_geometry_t geometry;
    unsigned wid; /* 0 or 1 */
};

/** Values of the Flow Mode register (extension; docs/protocol.md section 6). */
typedef enum {
    DNET_FLOW_MODE_STALL = 0,  /* full rings stall reception, as the data sheet says */
    DNET_FLOW_MODE_STOP = 1,   /* full rings stop exactly the sender that hit the limit */
    DNET_FLOW_MODE_PAUSED = 2, /* not ready: every sender is stopped */
    /* as STOP; and messages of the senders in the hold table are held back */
    DNET_FLOW_MODE_HOLD = 3,
    DNET_FLOW_MODE_RETRY = 4, /* full rings refuse the packet, and its receiver is not told */
} dnet_flow_mode_t;

/** Result field of the Stop Report register: what became of the last request of this WID. */
typedef enum {
    DNET_REPORT_DELIVERED = 0,
    /* [63:32] = bytes of the primitive that were delivered before */
    DNET_REPORT_STOPPED = 1,
    DNET_REPORT_UNREACHABLE = 2, /* no NIC has that LID, or its process is gone */
    DNET_REPORT_HELD = 3,        /* the receiver holds this sender's messages back */
    /* waits in the NIC for room at the receiver; a later report follows */
    DNET_REPORT_STALLED = 4,
    /* this process lacks what it takes to deliver: descriptors, address space, rights; logged */
    DNET_REPORT_REFUSED = 5,
    /* the network has had no way to that LID for too long (dimmnet/emulator.h); logged */
    DNET_REPORT_NO_WAY = 6,
} dnet_report_t;

static inline void dnet_reg_store_quiet(dnet_device_t *dev, uint32_t offset, uint64_t value)
{
    /* Release: what the host did before (freeing ring entries) is done before the NIC sees it.
     * Pairs with the acquire loads of registers in the NIC. */
    atomic_store_explicit((_Atomic uint64_t *) (void *) (dev->ureg_store + offset), value,
                          memory_order_release);
}

/** Store to a user register; `offset` is a DNET_UREG_ constant. */
static inline void dnet_reg_store(dnet_device_t *dev, uint32_t offset, uint64_t value)
{
    dnet_reg_store_quiet(dev, offset, value);
    dev->ops->kick(dev, offset, false);
}

static inline uint64_t dnet_reg_load(const dnet_device_t *dev, uint32_t offset)
{
    return atomic_load_explicit((const _Atomic uint64_t *) (const void *) (dev->ureg_load + offset),
                                memory_order_acquire);
}

#endif
