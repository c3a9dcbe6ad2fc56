/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Apertures (extension, docs/protocol.md section 5; no clause of the data sheet): host memory of a
 * process, opened slot by slot to the NIC, so that RVS and RVL move data between user buffers with
 * one copy.  In the slot's own process that copy is memcpy, elsewhere
 * process_vm_readv/process_vm_writev.
 */
#include "config.h"

#include "emulator/aperture.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/log.h"

void dnet_emu_aperture_set(const dnet_emu_nic_t *nic, unsigned wid)
{
    uint64_t word = dnet_emu_ureg(nic, wid, DNET_UREG_APERTURE_LENGTH);
    uint64_t slot = DNET_GET(word, APL_SLOT);
    dnet_emu_aperture_t *a;

    if (slot >= nic->aperture_slots) {
        dnet_emu_event(nic, DNET_EMU_DROP_REQUEST);
        return;
    }
    a = &nic->area[wid].state->aperture[slot];
    /* Closed while address and length do not belong together; each store is seen after the one
     * before it, which pairs with dnet_emu_aperture_find(). */
    atomic_store_explicit(&a->length, 0, memory_order_release);
    atomic_store_explicit(&a->address, dnet_emu_ureg(nic, wid, DNET_UREG_APERTURE_ADDRESS),
                          memory_order_release);
    atomic_store_explicit(&a->length, DNET_GET(word, APL_LENGTH), memory_order_release);
}

bool dnet_emu_aperture_find(const dnet_emu_nic_t *nic, unsigned wid, uint32_t address,
                            uint64_t *base_p, uint64_t *length_p, int32_t *pid_p)
{
    uint64_t slot = DNET_GET(address, AP_SLOT);
    const dnet_emu_aperture_t *a;
    uint64_t base, length;

    if (slot >= nic->aperture_slots)
        return false;
    a = &nic->area[wid].state->aperture[slot];
    length = atomic_load_explicit(&a->length, memory_order_acquire);
    base = atomic_load_explicit(&a->address, memory_order_acquire);
    if (length == 0 || atomic_load_explicit(&a->length, memory_order_acquire) != length)
        return false;
    *base_p = base;
    *length_p = length;
    *pid_p = atomic_load_explicit(&nic->area[wid].state->owner, memory_order_relaxed);
    if (DNET_LIKELY(*pid_p == nic->process[wid]))
        return *pid_p != 0;
    return nic->process[wid] == 0; /* and the segment is believed */
}

bool dnet_emu_remote_probe(int32_t pid, uint64_t from, uint64_t *word_p)
{
    struct iovec local = {word_p, sizeof *word_p};
    struct iovec remote = {(void *) (uintptr_t) from, sizeof *word_p};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t) sizeof *word_p;
}

/* Bytes have been copied; ranges that are empty are passed over. */
static void go_on(dnet_ranges_t *r, size_t bytes)
{
    while (r->n > 0 && bytes >= r->range->iov_len) {
        bytes -= r->range->iov_len;
        r->range++;
        r->n--;
    }
    if (r->n > 0) {
        r->range->iov_base = (uint8_t *) r->range->iov_base + bytes;
        r->range->iov_len -= bytes;
    }
}

dnet_status_t dnet_emu_remote_copy(int32_t pid, bool stores, dnet_ranges_t own,
                                   dnet_ranges_t theirs)
{
    int why;

    for (ssize_t n = 0;;) {
        go_on(&own, (size_t) n);
        go_on(&theirs, (size_t) n);
        if (own.n == 0 || theirs.n == 0)
            return DNET_OK;
        n = stores ? process_vm_writev(pid, own.range, own.n, theirs.range, theirs.n, 0)
                   : process_vm_readv(pid, own.range, own.n, theirs.range, theirs.n, 0);
        if (n <= 0)
            break;
    }
    why = errno;
    if (stores)
        dnet_error("cannot write %zu bytes to process %d, at %p: %s", theirs.range->iov_len, pid,
                   theirs.range->iov_base, strerror(why));
    else
        dnet_error("cannot read %zu bytes of process %d, at %p: %s", theirs.range->iov_len, pid,
                   theirs.range->iov_base, strerror(why));
    return why == EFAULT ? DNET_ERR_ARGUMENT : DNET_ERR_PEER_DEAD;
}

static bool copy_one(int32_t pid, bool stores, void *own, uint64_t theirs, uint64_t bytes)
{
    struct iovec local = {own, bytes};
    struct iovec remote = {(void *) (uintptr_t) theirs, bytes};

    return dnet_emu_remote_copy(pid, stores, (dnet_ranges_t){&local, 1},
                                (dnet_ranges_t){&remote, 1}) == DNET_OK;
}

bool dnet_emu_remote_read(int32_t pid, uint64_t from, void *to, uint64_t bytes)
{
    return copy_one(pid, false, to, from, bytes);
}

bool dnet_emu_remote_store(int32_t pid, const void *from, uint64_t to, uint64_t bytes)
{
    return copy_one(pid, true, (void *) (uintptr_t) from, to, bytes);
}

/* Of eight the least was up to twice that of a hundred. */
#define COPIES_TIMED 32

uint32_t dnet_emu_remote_time(int32_t own_pid)
{
    uint8_t from[DNET_COPY_TIMED_BYTES], to[DNET_COPY_TIMED_BYTES];
    struct iovec local = {to, sizeof to}, remote = {from, sizeof from};
    uint64_t least = UINT64_MAX;

    memset(from, 0, sizeof from);
    memset(to, 0, sizeof to);
    for (int i = 0; i < COPIES_TIMED; i++) {
        uint64_t start = dnet_clock_ns(), took;

        if (process_vm_readv(own_pid, &local, 1, &remote, 1, 0) != (ssize_t) sizeof to)
            return 0;
        took = dnet_clock_ns() - start;
        least = took < least ? took : least;
    }
    return least < UINT32_MAX ? (uint32_t) least : UINT32_MAX;
}

bool dnet_emu_remote_write(int32_t pid, const dnet_emu_packet_t *packet, uint64_t to,
                           uint64_t bytes)
{
    for (unsigned s = 0; s < packet->spans && bytes > 0; s++) {
        const dnet_emu_span_t *span = &packet->span[s];
        uint64_t n = span->bytes < bytes ? span->bytes : bytes;
        uint64_t done = 0;

        if (span->pid == 0) {
            if (!dnet_emu_remote_store(pid, span->at, to, n))
                return false;
        } else {
            while (done < n) {
                uint8_t bounce[16384];
                uint64_t piece = n - done < sizeof bounce ? n - done : sizeof bounce;

                if (!dnet_emu_remote_read(span->pid, (uintptr_t) span->at + done, bounce, piece) ||
                    !dnet_emu_remote_store(pid, bounce, to + done, piece))
                    return false;
                done += piece;
            }
        }
        to += n;
        bytes -= n;
    }
    return true;
}
