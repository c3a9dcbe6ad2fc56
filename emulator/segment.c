/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment of a NIC: one sealed memfd file, its areas, and the memory behind them.
 *
 * The areas every NIC uses are reserved when it is made.  SO-DIMM memory and the flow ring are
 * committed piece by piece before their first use, so that a full machine gives an error and never
 * a signal.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "emulator/nic.h"
#include "emulator/swif/swif.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define AREA_ALIGN (2u * 1024 * 1024)

/* [nic 3, OP-51] [X.4] Offsets of the areas in the file; a function of the profile alone. */
typedef struct {
    uint64_t state, sreg_store, sreg_load;
    struct {
        uint64_t ureg_store, ureg_load, ww, pw, llcm, lh, flow, sodimm;
    } wid[DNET_PROCESSES_PER_NIC];
    uint64_t reserved_end; /* [0, reserved_end) is reserved when the NIC is made */
    uint64_t bytes;
} layout_t;

typedef struct {
    uint32_t windows; /* bytes of all Write (Prefetch) Windows of a WID */
    uint32_t llcm_bytes;
    uint32_t lh_entries;
    uint32_t flow_entries;
    uint32_t aperture_slots;
} profile_t;

static const profile_t profiles[] = {
    [DNET_PROFILE_PROTOTYPE] = {2048, 32768, 64, 0, 0},
    [DNET_PROFILE_EXTENDED] = {2048, 32768, 1024, 16384, DNET_EMU_APERTURES},
    [DNET_PROFILE_PROTOTYPE_FLOW] = {2048, 32768, 64, 16384, 0},
};

static uint64_t take(uint64_t *at, uint64_t bytes, uint64_t align)
{
    uint64_t start = (*at + align - 1) & ~(align - 1);

    *at = start + bytes;
    return start;
}

static layout_t layout_of(const profile_t *p)
{
    layout_t l;
    uint64_t at = 0;

    (void) take(&at, DNET_EMU_PAGE, DNET_EMU_PAGE); /* header */
    l.state = take(&at, sizeof(dnet_emu_state_t), DNET_EMU_PAGE);
    l.sreg_store = take(&at, DNET_EMU_PAGE, DNET_EMU_PAGE);
    l.sreg_load = take(&at, DNET_EMU_PAGE, DNET_EMU_PAGE);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        l.wid[w].ureg_store = take(&at, DNET_EMU_PAGE, DNET_EMU_PAGE);
        l.wid[w].ureg_load = take(&at, DNET_EMU_PAGE, DNET_EMU_PAGE);
        l.wid[w].ww = take(&at, p->windows, DNET_EMU_PAGE);
        l.wid[w].pw = take(&at, p->windows, DNET_EMU_PAGE);
        l.wid[w].llcm = take(&at, p->llcm_bytes, DNET_EMU_PAGE);
        l.wid[w].lh = take(&at, p->lh_entries * DNET_LH_ENTRY_BYTES, DNET_EMU_PAGE);
    }
    l.reserved_end = take(&at, 0, DNET_EMU_PAGE);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        l.wid[w].flow =
            take(&at, (uint64_t) p->flow_entries * sizeof(dnet_flow_entry_t), DNET_EMU_PAGE);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        l.wid[w].sodimm = take(&at, DNET_EMU_AREA_MAX, AREA_ALIGN);
    l.bytes = at;
    return l;
}

/* ---- memory that is there ---- */

static uint64_t number_in(const char *path, const char *format)
{
    char line[256];
    unsigned long long value = 0;
    FILE *file = fopen(path, "re");
    bool found = false;

    if (!file)
        return UINT64_MAX;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, format, &value) == 1;
    fclose(file);
    return found ? value : UINT64_MAX;
}

/* Bytes this process may still use: what the machine has free, and what its control group allows.
 */
static uint64_t memory_available(void)
{
    uint64_t kilobytes = number_in("/proc/meminfo", "MemAvailable: %llu kB");
    uint64_t available = kilobytes == UINT64_MAX ? UINT64_MAX : kilobytes * 1024;
    uint64_t max = number_in("/sys/fs/cgroup/memory.max", "%llu");
    uint64_t used = number_in("/sys/fs/cgroup/memory.current", "%llu");

    if (max != UINT64_MAX && used != UINT64_MAX && max - used < available && used <= max)
        available = max - used;
    return available;
}

static dnet_status_t reserve(int fd, uint64_t offset, uint64_t bytes, const char *what)
{
    uint64_t available = memory_available();

    if (bytes <= available && fallocate(fd, 0, (off_t) offset, (off_t) bytes) == 0)
        return DNET_OK;
    if (bytes <= available && errno != ENOSPC && errno != ENOMEM) {
        dnet_error("cannot reserve %" PRIu64 " bytes for %s: %m", bytes, what);
        return DNET_ERR_SYSTEM;
    }
    dnet_error("no memory for %s: %" PRIu64 " bytes needed, %" PRIu64 " available", what, bytes,
               available);
    return DNET_ERR_NO_MEMORY;
}

static void mark_committed(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset, uint64_t len)
{
    uint64_t last = (offset + len - 1) >> DNET_EMU_GRANULE_SHIFT;

    for (uint64_t g = offset >> DNET_EMU_GRANULE_SHIFT; g <= last; g++)
        atomic_fetch_or_explicit(&nic->area[wid].state->committed[g / 64], 1ull << (g % 64),
                                 memory_order_relaxed);
}

/* Some piece of the range is not committed yet: make all of it so. */
DNET_EMU_COLD bool dnet_emu_sodimm_commit_slow(const dnet_emu_nic_t *nic, unsigned wid,
                                               uint64_t offset, uint64_t len)
{
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    uint64_t end = offset + len;

    for (uint64_t at = offset & ~(granule - 1); at < end; at += granule) {
        uint64_t g = at >> DNET_EMU_GRANULE_SHIFT;

        if (atomic_load_explicit(&nic->area[wid].state->committed[g / 64], memory_order_relaxed) >>
                (g % 64) &
            1)
            continue;
        /* EINVAL: a kernel before 5.14, where the page fault itself must do. */
        if (madvise(nic->area[wid].sodimm + at, granule, MADV_POPULATE_WRITE) != 0 &&
            errno != EINVAL) {
            dnet_error("no memory for SO-DIMM at %#" PRIx64 ": %" PRIu64 " bytes needed, %" PRIu64
                       " available",
                       at, granule, memory_available());
            return false;
        }
        mark_committed(nic, wid, at, granule);
    }
    return true;
}

/* Commit the page of the flow ring that entry `index` lies in. */
DNET_EMU_COLD bool dnet_emu_flow_commit(const dnet_emu_nic_t *nic, unsigned wid, uint32_t index)
{
    uint8_t *page =
        (uint8_t *) nic->area[wid].flow +
        ((uint64_t) index * sizeof(dnet_flow_entry_t) & ~(uint64_t) (DNET_EMU_PAGE - 1));

    if (madvise(page, DNET_EMU_PAGE, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
        return true;
    dnet_error("no memory for the flow ring: %u bytes needed, %" PRIu64 " available", DNET_EMU_PAGE,
               memory_available());
    return false;
}

dnet_status_t dnet_emu_reserve(dnet_device_t *dev, uint64_t offset, uint64_t len)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    uint64_t from = offset & ~(granule - 1);
    uint64_t bytes, base;
    dnet_status_t status;

    if (len == 0)
        return DNET_OK;
    if (offset >= dnet_emu_sodimm_area(d->nic) || len > dnet_emu_sodimm_area(d->nic) - offset) {
        dnet_error("SO-DIMM range %#" PRIx64 "+%#" PRIx64 " is outside the area of %" PRIu64
                   " bytes",
                   offset, len, dnet_emu_sodimm_area(d->nic));
        return DNET_ERR_ARGUMENT;
    }
    bytes = ((offset + len + granule - 1) & ~(granule - 1)) - from;
    base = (uint64_t) (d->area->sodimm - (uint8_t *) d->nic->header);
    status = reserve(d->nic->fd, base + from, bytes, "SO-DIMM");
    if (status == DNET_OK)
        mark_committed(d->nic, dev->wid, from, bytes);
    return status;
}

void dnet_emu_unreserve(dnet_device_t *dev, uint64_t offset, uint64_t len)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    uint64_t from = (offset + granule - 1) & ~(granule - 1);
    uint64_t end = (offset + len) & ~(granule - 1);

    if (from >= end || end > dnet_emu_sodimm_area(d->nic))
        return;
    for (uint64_t g = from >> DNET_EMU_GRANULE_SHIFT; g < end >> DNET_EMU_GRANULE_SHIFT; g++)
        atomic_fetch_and_explicit(&d->area->state->committed[g / 64], ~(1ull << (g % 64)),
                                  memory_order_relaxed);
    if (fallocate(d->nic->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  d->area->sodimm - (uint8_t *) d->nic->header + (off_t) from,
                  (off_t) (end - from)))
        dnet_warn("cannot give back %" PRIu64 " bytes of SO-DIMM: %m", end - from);
}

/* [nic 6.0, OP-27] Bytes of SO-DIMM each WID owns: one module's capacity.  Bit 31 names apertures
 * when there are any, so an area then ends at 2 GB. */
uint64_t dnet_emu_sodimm_area(const dnet_emu_nic_t *nic)
{
    uint64_t code = dnet_emu_peek(nic->sreg_store + DNET_SREG_SODIMM_CAPACITY) & 0x3f;
    uint64_t limit = nic->extended ? 1ull << 31 : DNET_EMU_AREA_MAX;
    uint64_t bytes = 256ull << 20;

    if (code != 0 && (code & (code - 1)) == 0)
        bytes = code * (256ull << 20);
    return bytes < limit ? bytes : limit;
}

/* ---- making, joining, leaving ---- */

/* Enter the areas of a mapped segment. */
static void set_areas(dnet_emu_nic_t *nic, const profile_t *p, const layout_t *l)
{
    uint8_t *base = (uint8_t *) nic->header;

    nic->state = (dnet_emu_state_t *) (void *) (base + l->state);
    nic->sreg_store = base + l->sreg_store;
    nic->sreg_load = base + l->sreg_load;
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        dnet_emu_areas_t *a = &nic->area[w];

        a->state = &nic->state->wid[w];
        a->wc = &nic->state->wid[p == &profiles[DNET_PROFILE_EXTENDED] ? w : 0].wc;
        a->ureg_store = base + l->wid[w].ureg_store;
        a->ureg_load = base + l->wid[w].ureg_load;
        a->ww = base + l->wid[w].ww;
        a->pw = base + l->wid[w].pw;
        a->llcm = base + l->wid[w].llcm;
        a->lh = (dnet_lh_entry_t *) (void *) (base + l->wid[w].lh);
        a->flow = (dnet_flow_entry_t *) (void *) (base + l->wid[w].flow);
        a->sodimm = base + l->wid[w].sodimm;
    }
    nic->lh_mask = p->lh_entries * DNET_LH_ENTRY_BYTES - 1;
    nic->flow_entries = p->flow_entries;
    nic->aperture_slots = p->aperture_slots;
    nic->llcm_bytes = p->llcm_bytes;
    nic->bytes = l->bytes;
    nic->extended = p == &profiles[DNET_PROFILE_EXTENDED];
    nic->pid = getpid();
    dnet_emu_swif_choose(nic);
}

static dnet_status_t map(dnet_emu_nic_t *nic, int fd, const profile_t *p, const layout_t *l)
{
    int protection = nic->watched ? PROT_READ : PROT_READ | PROT_WRITE;
    void *base = mmap(NULL, l->bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (base == MAP_FAILED) {
        bool full = errno == ENOMEM;
        dnet_error("cannot map a NIC of %" PRIu64 " bytes: %m%s", l->bytes,
                   full ? "; raise the limit on address space (ulimit -v)" : "");
        return full ? DNET_ERR_NO_MEMORY : DNET_ERR_SYSTEM;
    }
    (void) madvise(base, l->bytes, MADV_DONTDUMP);
    nic->header = base;
    set_areas(nic, p, l);
    return DNET_OK;
}

dnet_status_t dnet_emu_segment_create(dnet_emu_nic_t *nic, const dnet_emu_config_t *config)
{
    const profile_t *p = &profiles[config->profile];
    layout_t l = layout_of(p);
    dnet_status_t status;
    uint64_t id = 0;
    int fd = memfd_create("dimmnet-nic", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0) {
        dnet_error("cannot make a NIC segment: %m");
        return DNET_ERR_SYSTEM;
    }
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t) l.bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        dnet_error("cannot prepare a NIC segment of %" PRIu64 " bytes: %m", l.bytes);
        close(fd);
        return DNET_ERR_SYSTEM;
    }
    status = reserve(fd, 0, l.reserved_end, "a NIC");
    if (status == DNET_OK)
        status = map(nic, fd, p, &l);
    if (status != DNET_OK) {
        close(fd);
        return status;
    }
    while (id == 0)
        if (getrandom(&id, sizeof id, 0) != (ssize_t) sizeof id)
            id = 0;
    *nic->header = (dnet_emu_header_t){
        .version = DNET_EMU_VERSION,
        .profile = (uint32_t) config->profile,
        .id = id,
        .bytes = l.bytes,
        .owner = nic->pid,
        .lid = config->lid,
        .options = (uint16_t) ((config->no_pgid_check ? DNET_EMU_NO_PGID_CHECK : 0) |
                               (config->strict_swid ? DNET_EMU_STRICT_SWID : 0) |
                               (config->rc_skip_errors ? DNET_EMU_RC_SKIP_ERRORS : 0) |
                               (config->in_line ? DNET_EMU_IN_LINE : 0)),
    };
    dnet_emu_publish(&nic->header->magic, DNET_EMU_MAGIC);
    nic->fd = fd;
    nic->id = id;
    nic->lid = config->lid;
    return DNET_OK;
}

/* Copy the header of a segment that is about to be joined and look for reasons not to. */
static dnet_status_t check_segment(int fd, const dnet_emu_locator_t *at, bool any_id,
                                   dnet_emu_header_t *header)
{
    struct stat st;
    layout_t l;

    if (fstat(fd, &st) != 0 || pread(fd, header, sizeof *header, 0) != (ssize_t) sizeof *header) {
        dnet_error("NIC of process %d: cannot read its header", at->pid);
        return DNET_ERR_FORMAT;
    }
    if (st.st_uid != geteuid()) {
        dnet_error("NIC of process %d: belongs to user %u", at->pid, (unsigned) st.st_uid);
        return DNET_ERR_SYSTEM;
    }
    if (header->magic != DNET_EMU_MAGIC || (header->id != at->id && !any_id)) {
        dnet_error("NIC of process %d: descriptor %d is not that NIC", at->pid, at->fd);
        return DNET_ERR_FORMAT;
    }
    if (header->version != DNET_EMU_VERSION || header->profile > DNET_PROFILE_PROTOTYPE_FLOW) {
        dnet_error("NIC of process %d: version %u, this library has version %u", at->pid,
                   header->version, DNET_EMU_VERSION);
        return DNET_ERR_FORMAT;
    }
    l = layout_of(&profiles[header->profile]);
    if ((uint64_t) st.st_size != l.bytes || header->bytes != l.bytes) {
        dnet_error("NIC of process %d: %lld bytes, expected %" PRIu64, at->pid,
                   (long long) st.st_size, l.bytes);
        return DNET_ERR_FORMAT;
    }
    return DNET_OK;
}

dnet_status_t dnet_emu_segment_attach(dnet_emu_nic_t *nic, const dnet_emu_locator_t *at)
{
    char path[64];
    dnet_emu_header_t header;
    dnet_status_t status;
    layout_t l;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", at->pid, at->fd);
    fd = open(path, (nic->watched ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        int error = errno;

        dnet_error("cannot join the NIC of process %d: %m", at->pid);
        return error == ENOENT || error == ESRCH ? DNET_ERR_PEER_DEAD : DNET_ERR_SYSTEM;
    }
    status = check_segment(fd, at, nic->watched && at->id == 0, &header);
    if (status == DNET_OK) {
        l = layout_of(&profiles[header.profile]);
        status = map(nic, fd, &profiles[header.profile], &l);
    }
    if (status != DNET_OK) {
        close(fd);
        return status;
    }
    nic->fd = fd;
    nic->id = header.id;
    nic->lid = header.lid;
    return DNET_OK;
}

/* Give back all SO-DIMM memory: it reads as 0 again. */
void dnet_emu_segment_forget(dnet_emu_nic_t *nic)
{
    const layout_t l = layout_of(&profiles[nic->header->profile]);

    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        if (fallocate(nic->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) l.wid[w].sodimm,
                      DNET_EMU_AREA_MAX) != 0)
            dnet_warn("cannot give back the SO-DIMM of NIC %#x: %m", nic->lid);
        else
            memset((void *) nic->area[w].state->committed, 0, sizeof nic->area[w].state->committed);
    }
}

/* A process that is not privileged may look at the System Register page only (section 3). */
void dnet_emu_segment_protect(dnet_emu_nic_t *nic)
{
    (void) mprotect(nic->header, DNET_EMU_PAGE, PROT_READ);
    (void) mprotect(nic->sreg_store, DNET_EMU_PAGE, PROT_READ);
}

void dnet_emu_segment_unmap(dnet_emu_nic_t *nic)
{
    if (nic->header)
        munmap(nic->header, nic->bytes);
    nic->header = NULL;
    if (nic->fd >= 0)
        close(nic->fd);
    nic->fd = -1;
}
