/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes that share a NIC: has one ended, what one of them at a time may hold, waking one
 * that sleeps.
 */
#include "config.h"

#include "emulator/process.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define SETTLE_NS 1000
#define SLEEP_FRESH_US 1000
#define SPINS_BEFORE_YIELD 200
#define ROUNDS_BEFORE_CHECK 64
#define YIELD_NS 1000000u
#define WAIT_PAUSE_NS 50000
#define TELL_NS 1000000000u

/* What a process does that has nothing to do, in its futex word `sleeping`. */
enum { AWAKE, SLEEPS, YIELDS };

/* The state letter that /proc shows of a process; 0: not known. */
static char state_of(int32_t pid)
{
    char path[32], text[256];
    const char *state = NULL;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fgets(text, sizeof text, file))
        state = strrchr(text, ')'); /* ends the command's name, which may hold anything */
    fclose(file);
    return state ? state[2] : 0;
}

/* As dnet_emu_process_ended(), where pidfd_open() is refused: no descriptors left, an old kernel, a
 * seccomp filter. */
static bool ended_without_pidfd(int32_t pid)
{
    char state;

    if (kill(pid, 0) != 0)
        return errno == ESRCH;
    state = state_of(pid);
    return state == 'Z' || state == 'X';
}

DNET_COLD bool dnet_emu_process_ended(int32_t pid)
{
    int fd = (int) syscall(SYS_pidfd_open, pid, 0);
    struct pollfd state = {.fd = fd, .events = POLLIN};
    bool ended;

    if (fd < 0)
        return errno == ESRCH || ended_without_pidfd(pid);
    ended = poll(&state, 1, 0) == 1;
    close(fd);
    return ended;
}

/* The effective user of a process; `own` where that is not shown. */
static uid_t user_of(int32_t pid, uid_t own)
{
    char path[32], line[128];
    unsigned user = own;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Uid: %*u %u", &user) == 1)
            break;
    if (file)
        fclose(file);
    return user;
}

/* Does it map that NIC?  True also where its maps are not shown. */
static bool maps(const dnet_emu_nic_t *nic, int32_t pid)
{
    char path[32], line[512];
    bool shown = false, found = false;
    uint64_t inode;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        shown = true;
        found = strstr(line, DNET_EMU_SEGMENT_LINK) &&
                sscanf(line, "%*s %*s %*s %*s %" SCNu64, &inode) == 1 && inode == nic->inode;
    }
    if (file)
        fclose(file);
    return found || !shown;
}

/* All that use a NIC are of its user. */
DNET_COLD bool dnet_emu_process_gone(const dnet_emu_nic_t *nic, int32_t pid)
{
    return dnet_emu_process_ended(pid) || user_of(pid, geteuid()) != geteuid() || !maps(nic, pid);
}

const char *dnet_emu_process_doing(int32_t pid)
{
    switch (state_of(pid)) {
        case 'T':
            return "is stopped (kill -CONT lets it go on)";
        case 't':
            return "is stopped by a debugger";
        case 'D':
            return "waits in the kernel";
    }
    return "does not go on";
}

/* A holder that lives is held for a few hundred instructions: it is not on a processor.  The longer
 * that lasts, the less of this one is spent on it. */
static void wait_for_holder(uint64_t waited_ns)
{
    const struct timespec pause = {.tv_nsec = WAIT_PAUSE_NS};

    if (waited_ns < YIELD_NS)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

DNET_COLD bool dnet_emu_acquire_slow(const dnet_emu_nic_t *nic, _Atomic uint32_t *holder,
                                     const char *what)
{
    uint64_t start = 0, waited = 0;
    uint32_t known = 0; /* it is told of, and does use this NIC */

    for (unsigned round = 1;; round++) {
        uint32_t seen = atomic_load_explicit(holder, memory_order_relaxed);
        bool ended = false;

        if (round % ROUNDS_BEFORE_CHECK == 0 && seen != 0) {
            waited = start ? dnet_clock_ns() - start : 0;
            start = start ? start : dnet_clock_ns();
            ended = dnet_emu_process_ended((int32_t) seen);
            if (!ended && seen != known && waited >= TELL_NS) {
                ended = dnet_emu_process_gone(nic, (int32_t) seen);
                if (!ended && known == 0)
                    dnet_warn("process %u has been in the middle of a packet to NIC %#x for 1 s, "
                              "and this process waits for it: it holds the %s and %s",
                              seen, nic->lid, what, dnet_emu_process_doing((int32_t) seen));
                known = seen;
            }
        }
        if (seen == 0 || ended) {
            if (atomic_compare_exchange_strong_explicit(holder, &seen, (uint32_t) nic->pid,
                                                        memory_order_acquire, memory_order_relaxed))
                return ended;
        } else if (round < SPINS_BEFORE_YIELD) {
            dnet_cpu_relax();
        } else {
            wait_for_holder(waited);
        }
    }
}

void dnet_emu_disown_entry(const dnet_emu_nic_t *nic, unsigned wid, uint32_t at, int32_t pid)
{
    uint32_t index = (at & nic->lh_mask) / DNET_LH_ENTRY_BYTES;
    uint64_t seen = (uint64_t) at << 32 | (uint32_t) pid;

    atomic_compare_exchange_strong_explicit(&nic->area[wid].state->reserved[index].owner, &seen,
                                            (uint64_t) at << 32 | DNET_EMU_NOBODY,
                                            memory_order_acq_rel, memory_order_relaxed);
}

/* Those of which the host has not seen the end; the last one may not be counted yet. */
static void disown_entries(const dnet_emu_nic_t *nic, unsigned wid)
{
    uint32_t tail = dnet_emu_observe32(&nic->area[wid].state->lh_tail);
    uint32_t bytes = (tail - (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_LH_NEXT_READ)) &
                     nic->lh_mask & -DNET_LH_ENTRY_BYTES;

    for (uint32_t at = tail - bytes; at != tail + DNET_LH_ENTRY_BYTES; at += DNET_LH_ENTRY_BYTES)
        dnet_emu_disown_entry(nic, wid, at, nic->pid);
}

void dnet_emu_disown_nic(const dnet_emu_nic_t *nic)
{
    uint64_t stalled = atomic_load_explicit(&nic->state->stalled_by, memory_order_acquire);

    if ((int32_t) stalled == nic->pid)
        atomic_compare_exchange_strong_explicit(&nic->state->stalled_by, &stalled,
                                                stalled >> 32 << 32 | DNET_EMU_NOBODY,
                                                memory_order_acq_rel, memory_order_relaxed);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        disown_entries(nic, w);
        dnet_emu_disown(&nic->area[w].state->rc_holder, nic->pid);
        if (!nic->extended)
            dnet_emu_disown(&nic->area[w].wc->holder, nic->pid);
    }
}

DNET_COLD void dnet_emu_wake_slow(dnet_emu_wid_t *state)
{
    if (atomic_exchange_explicit(&state->sleeping, AWAKE, memory_order_acq_rel) == SLEEPS)
        syscall(SYS_futex, &state->sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- sleeping ---- */

/* Until a packet arrives for this WID.  One whose sender has not seen YIELDS (dnet_emu_sleep()) is
 * found after `times` yields.  Between them one word is looked at, for each look at another page is
 * a walk through page tables that others have displaced. */
void dnet_emu_yield(dnet_device_t *dev, uint32_t times, bool (*still_idle)(void *), void *arg)
{
    dnet_emu_wid_t *s = ((dnet_emu_device_t *) (void *) dev)->area->state;

    atomic_exchange_explicit(&s->sleeping, YIELDS, memory_order_seq_cst);
    if (still_idle(arg))
        do
            sched_yield();
        while (--times && atomic_load_explicit(&s->sleeping, memory_order_relaxed) == YIELDS);
    atomic_store_explicit(&s->sleeping, AWAKE, memory_order_relaxed);
}

/*
 * Sleep until a packet arrives for this WID.  Senders look at `sleeping` after they have delivered,
 * with no barrier of their own, so one may miss it whose delivery is not visible yet: both are
 * under way for as long as a processor keeps stores to itself, some 0.1 us.  So the rings are
 * looked at for SETTLE_NS more, and a process that has just set `sleeping` sleeps for
 * SLEEP_FRESH_US at most, whatever it is asked for.
 *
 * A barrier on every processor (membarrier) would need neither, but takes 8 us here, and 5 us of
 * the process on each other processor: of 64 senders that were stopped the bystanders lost a third
 * of their time so.
 *
 * `sleeping` stays set when nothing has come: a process that goes on sleeping is known to sleep,
 * and for others it costs one wake-up for nothing.
 */
void dnet_emu_sleep(dnet_device_t *dev, uint32_t timeout_us, bool (*still_idle)(void *), void *arg)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    dnet_emu_wid_t *s = d->area->state;
    bool fresh = atomic_exchange_explicit(&s->sleeping, SLEEPS, memory_order_seq_cst) == AWAKE;
    bool idle = still_idle(arg), timed_out = false;
    struct timespec timeout;

    for (uint64_t start = dnet_clock_ns(); fresh && idle && dnet_clock_ns() - start < SETTLE_NS;)
        idle = still_idle(arg);
    if (fresh && timeout_us > SLEEP_FRESH_US)
        timeout_us = SLEEP_FRESH_US;
    timeout = (struct timespec){.tv_sec = timeout_us / 1000000,
                                .tv_nsec = (long) (timeout_us % 1000000) * 1000};
    if (idle)
        timed_out = syscall(SYS_futex, &s->sleeping, FUTEX_WAIT, SLEEPS, &timeout, NULL, 0) != 0 &&
                    errno == ETIMEDOUT;
    if (!timed_out)
        atomic_store_explicit(&s->sleeping, AWAKE, memory_order_relaxed);
}
