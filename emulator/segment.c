/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment of a NIC: one sealed memfd file and its areas.  Those that every NIC uses are
 * reserved when it is made; the sparse ones are memory.c's.
 *
 * A process maps four parts of it apart from each other: what every packet needs, side by side
 * with that of other NICs, so that many share a page of page tables; the flow rings; of SO-DIMM a
 * window for each WID, as large as is used; a WID's guest table, if there are guests.
 */
#include "config.h"

#include "emulator/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_size.h"
#include "common/log.h"
#include "emulator/descriptor.h"
#include "emulator/memory.h"
#include "emulator/process.h"

#define AREA_ALIGN (2u * 1024 * 1024)
#define SHELF_BYTES (8u * 1024 * 1024)
#define SODIMM_WINDOW_BYTES DNET_EMU_PAGE /* what is used of the rest is touched at once */
#define GUESTS_BYTES ((DNET_GUESTS_MAX + 1) * sizeof(dnet_emu_guest_entry_t))

/* [nic 3, OP-51] [X.4] Offsets of the areas in the file; a function of the profile alone. */
typedef struct {
    uint64_t state, sreg_store, sreg_load;
    struct {
        uint64_t ureg_store, ureg_load, ww, pw, llcm, lh, flow, guests, sodimm;
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
    [DNET_PROFILE_EXTENDED] = {2048, 32768, DNET_EMU_LH_ENTRIES, 16384, DNET_EMU_APERTURES},
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
        l.wid[w].guests = take(&at, GUESTS_BYTES, DNET_EMU_PAGE);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        l.wid[w].sodimm = take(&at, DNET_EMU_AREA_MAX, AREA_ALIGN);
    l.bytes = at;
    return l;
}

/* ---- making, joining, leaving ---- */

static dnet_emu_nic_t *nic_alloc(void)
{
    dnet_emu_nic_t *nic = calloc(1, sizeof *nic);

    if (!nic)
        dnet_error("no memory for a NIC: %zu bytes needed", sizeof *nic);
    else
        nic->fd = nic->spare_fd[0] = nic->spare_fd[1] = -1;
    return nic;
}

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
        if (nic->flow_rings)
            a->flow = (dnet_flow_entry_t *) (void *) (nic->flow_rings +
                                                      (l->wid[w].flow - l->wid[0].flow));
        a->sodimm_at = l->wid[w].sodimm;
    }
    nic->lh_mask = p->lh_entries * DNET_LH_ENTRY_BYTES - 1;
    nic->flow_entries = p->flow_entries;
    nic->aperture_slots = p->aperture_slots;
    nic->llcm_bytes = p->llcm_bytes;
    nic->extended = p == &profiles[DNET_PROFILE_EXTENDED];
    nic->pid = getpid();
}

static void set_options(dnet_emu_nic_t *nic)
{
    struct stat st;

    nic->inode = fstat(nic->fd, &st) == 0 ? st.st_ino : 0;
    nic->pgid_check = !(nic->header->options & DNET_EMU_NO_PGID_CHECK);
    nic->strict_swid = nic->header->options & DNET_EMU_STRICT_SWID;
    nic->in_line = !nic->extended || (nic->header->options & DNET_EMU_IN_LINE);
    nic->touched = !(nic->header->options & DNET_EMU_MANY_SENDERS);
}

/* What the caller can do about what the operating system refuses. */
static const char *advice(int error)
{
    switch (error) {
        case EACCES:
        case EPERM:
            return "; it may not be looked into, and passes nothing (other network namespace?)";
        case ETIMEDOUT:
            return "; it has to pass it, and does not answer (is it stopped?)";
        case EMFILE:
            return "; raise the limit on open files (ulimit -n)";
        case ENFILE:
            return "; raise the machine's limit on open files (fs.file-max)";
        case ENOMEM:
            return "; raise the limits on address space (ulimit -v) and mappings (vm.max_map_count)";
    }
    return "";
}

static dnet_status_t status_of(int error)
{
    switch (error) {
        case ENOENT:
        case ESRCH:
            return DNET_ERR_PEER_DEAD;
        case ENOMEM:
            return DNET_ERR_NO_MEMORY;
        case EMFILE:
        case ENFILE:
        case ETIMEDOUT:
            return DNET_ERR_LIMIT;
    }
    return DNET_ERR_SYSTEM;
}

/* A call for a NIC's segment has failed; `quiet`: what may pass is not logged. */
static dnet_status_t refused(int32_t pid, const char *what, int error, bool quiet)
{
    dnet_status_t status = status_of(error);

    if (!quiet || (status != DNET_ERR_NO_MEMORY && status != DNET_ERR_LIMIT))
        dnet_error("cannot %s the NIC of process %d: %s%s", what, pid, strerror(error),
                   advice(error));
    return status;
}

/* Addresses side by side for the parts that every packet needs. */
static struct {
    pthread_mutex_t lock;
    uint8_t *next; /* PROT_NONE from here on */
    uint64_t left;
} shelf = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* NULL: wherever there are some. */
static void *take_place(uint64_t bytes)
{
    void *place = NULL;

    pthread_mutex_lock(&shelf.lock);
    if (shelf.left < bytes) {
        void *more =
            mmap(NULL, SHELF_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        shelf.next = more == MAP_FAILED ? NULL : more;
        shelf.left = more == MAP_FAILED ? 0 : SHELF_BYTES;
    }
    if (shelf.left >= bytes) {
        place = shelf.next;
        shelf.next += bytes;
        shelf.left -= bytes;
    }
    pthread_mutex_unlock(&shelf.lock);
    return place;
}

/* Unmap what may have been mapped there; the place that was taken last can be taken again. */
static void give_back(void *place, uint64_t bytes)
{
    pthread_mutex_lock(&shelf.lock);
    if ((uint8_t *) place + bytes == shelf.next &&
        mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) != MAP_FAILED) {
        shelf.next = place;
        shelf.left += bytes;
    } else {
        munmap(place, bytes);
    }
    pthread_mutex_unlock(&shelf.lock);
}

static void *map_part(const dnet_emu_nic_t *nic, int fd, void *place, uint64_t at, uint64_t bytes)
{
    int protection = nic->watched ? PROT_READ : PROT_READ | PROT_WRITE;
    void *part = mmap(place, bytes, protection,
                      MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED : 0), fd, (off_t) at);

    if (part == MAP_FAILED) {
        if (place)
            give_back(place, bytes);
        return NULL;
    }
    (void) madvise(part, bytes, MADV_DONTDUMP);
    return part;
}

/* In the opposite order of map(). */
static void unmap(dnet_emu_nic_t *nic)
{
    for (unsigned w = DNET_PROCESSES_PER_NIC; w-- > 0;) {
        dnet_emu_areas_t *a = &nic->area[w];

        if (a->sodimm)
            give_back(a->sodimm, a->sodimm_window);
        if (a->sodimm_before)
            munmap(a->sodimm_before, a->sodimm_before_window);
    }
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        if (nic->guests[w])
            munmap(nic->guests[w], GUESTS_BYTES);
    if (nic->flow_rings)
        munmap(nic->flow_rings, nic->flow_bytes);
    if (nic->header)
        give_back(nic->header, nic->mapped_bytes);
}

static dnet_status_t map(dnet_emu_nic_t *nic, int fd, int32_t pid, bool quiet, const profile_t *p,
                         const layout_t *l)
{
    const unsigned last = DNET_PROCESSES_PER_NIC - 1;
    bool good;
    int error;

    nic->mapped_bytes = l->reserved_end;
    nic->flow_bytes =
        l->wid[last].flow + p->flow_entries * sizeof(dnet_flow_entry_t) - l->wid[0].flow;
    nic->header = map_part(nic, fd, take_place(nic->mapped_bytes), 0, nic->mapped_bytes);
    good = nic->header != NULL;
    if (good && p->flow_entries > 0) {
        nic->flow_rings = map_part(nic, fd, NULL, l->wid[0].flow, nic->flow_bytes);
        good = nic->flow_rings != NULL;
    }
    for (unsigned w = 0; good && w < DNET_PROCESSES_PER_NIC && !nic->watched; w++) {
        dnet_emu_areas_t *a = &nic->area[w];

        a->sodimm_bytes = a->sodimm_window = SODIMM_WINDOW_BYTES;
        a->sodimm =
            map_part(nic, fd, take_place(a->sodimm_window), l->wid[w].sodimm, a->sodimm_window);
        good = a->sodimm != NULL;
    }
    if (!good) {
        error = errno;
        unmap(nic);
        return refused(pid, "map", error, quiet);
    }
    set_areas(nic, p, l);
    return DNET_OK;
}

/* What a segment of so many bytes takes of the system, whatever is free. */
static dnet_status_t check_system(uint64_t bytes)
{
    long page = sysconf(_SC_PAGESIZE);

    if (page != DNET_EMU_PAGE) {
        dnet_error("cannot make a NIC: this kernel's pages have %ld bytes, a NIC's %u; boot a "
                   "kernel with pages of 4 KB",
                   page, DNET_EMU_PAGE);
        return DNET_ERR_SYSTEM;
    }
    if (!dnet_file_size_allowed(bytes)) {
        dnet_error("cannot make a NIC: it is a file of %" PRIu64 " bytes, most of them never used; "
                   "raise the limit on the size of files (ulimit -f unlimited)",
                   bytes);
        return DNET_ERR_LIMIT;
    }
    return DNET_OK;
}

/* What this process has mapped, but for what it only looks at. */
static struct {
    pthread_mutex_t lock;
    dnet_emu_nic_t *first;
} joined = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of several threads each may have the NIC mapped, and deliver there. */
static void enter(dnet_emu_nic_t *nic)
{
    const dnet_emu_nic_t *other;

    pthread_mutex_lock(&joined.lock);
    other = joined.first;
    while (other && other->id != nic->id)
        other = other->next;
    if (!other)
        dnet_emu_disown_nic(nic);
    nic->next = joined.first;
    joined.first = nic;
    pthread_mutex_unlock(&joined.lock);
}

/* The opposite. */
static void leave(const dnet_emu_nic_t *nic)
{
    dnet_emu_nic_t **at = &joined.first;

    pthread_mutex_lock(&joined.lock);
    while (*at && *at != nic)
        at = &(*at)->next;
    if (*at)
        *at = nic->next;
    pthread_mutex_unlock(&joined.lock);
}

static dnet_status_t make(dnet_emu_nic_t *nic, const dnet_emu_config_t *config)
{
    const profile_t *p = &profiles[config->profile];
    layout_t l = layout_of(p);
    dnet_status_t status = check_system(l.bytes);
    uint64_t id = 0;
    int fd;

    if (status != DNET_OK)
        return status;
    fd = memfd_create("dimmnet-nic", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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
    status = dnet_emu_memory_reserve(fd, 0, l.reserved_end, "a NIC");
    if (status == DNET_OK)
        status = map(nic, fd, getpid(), false, p, &l);
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
                               (config->in_line ? DNET_EMU_IN_LINE : 0) |
                               (config->many_senders ? DNET_EMU_MANY_SENDERS : 0)),
    };
    dnet_emu_publish(&nic->header->magic, DNET_EMU_MAGIC);
    nic->fd = fd;
    nic->id = id;
    nic->lid = nic->as_lid = config->lid;
    return DNET_OK;
}

dnet_status_t dnet_emu_segment_create(const dnet_emu_config_t *config, dnet_emu_nic_t **nic_p)
{
    dnet_emu_nic_t *nic = nic_alloc();
    dnet_status_t status = nic ? make(nic, config) : DNET_ERR_NO_MEMORY;

    if (status != DNET_OK) {
        free(nic);
        return status;
    }
    set_options(nic);
    enter(nic);
    nic->offered = true;
    dnet_emu_descriptor_offer();
    *nic_p = nic;
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

static dnet_status_t join(dnet_emu_nic_t *nic, const dnet_emu_locator_t *at, bool quiet)
{
    dnet_emu_header_t header;
    dnet_status_t status;
    layout_t l;
    int fd;

    fd = dnet_emu_descriptor_open(at, (nic->watched ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY |
                                          O_NONBLOCK);
    if (fd < 0)
        return refused(at->pid, "join", errno, quiet);
    status = check_segment(fd, at, nic->watched && at->id == 0, &header);
    if (status == DNET_OK) {
        l = layout_of(&profiles[header.profile]);
        status = map(nic, fd, at->pid, quiet, &profiles[header.profile], &l);
    }
    if (status != DNET_OK) {
        close(fd);
        return status;
    }
    nic->fd = fd;
    nic->id = header.id;
    nic->lid = nic->as_lid = header.lid;
    return DNET_OK;
}

dnet_status_t dnet_emu_segment_attach(const dnet_emu_locator_t *at, unsigned how,
                                      dnet_emu_nic_t **nic_p)
{
    dnet_emu_nic_t *nic = nic_alloc();
    dnet_status_t status;

    if (!nic)
        return DNET_ERR_NO_MEMORY;
    nic->watched = how & DNET_EMU_ATTACH_WATCH;
    status = join(nic, at, how & DNET_EMU_ATTACH_QUIET);
    if (status != DNET_OK) {
        free(nic);
        return status;
    }
    set_options(nic);
    if (!nic->watched)
        enter(nic);
    *nic_p = nic;
    return DNET_OK;
}

void *dnet_emu_segment_map_sodimm(const dnet_emu_locator_t *at, unsigned wid, uint64_t offset,
                                  uint64_t len)
{
    dnet_emu_header_t header;
    void *memory = MAP_FAILED;
    int fd = dnet_emu_descriptor_open(at, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd >= 0 && check_segment(fd, at, false, &header) == DNET_OK) {
        layout_t l = layout_of(&profiles[header.profile]);

        memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      (off_t) (l.wid[wid].sodimm + offset));
        if (memory == MAP_FAILED)
            (void) refused(at->pid, "map memory of", errno, false);
        else
            (void) madvise(memory, len, MADV_DONTDUMP);
    } else if (fd < 0) {
        (void) refused(at->pid, "join", errno, false);
    }
    if (fd >= 0)
        close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

uint64_t dnet_emu_segment_guests_at(const dnet_emu_nic_t *nic, unsigned wid)
{
    return layout_of(&profiles[nic->header->profile]).wid[wid].guests;
}

bool dnet_emu_segment_map_guests(dnet_emu_nic_t *nic, unsigned wid)
{
    if (nic->guests[wid])
        return true;
    nic->guests[wid] =
        map_part(nic, nic->fd, NULL, dnet_emu_segment_guests_at(nic, wid), GUESTS_BYTES);
    if (!nic->guests[wid])
        (void) refused(nic->header->owner, "map the guest table of", errno, false);
    else
        dnet_emu_disown(&nic->guests[wid]->holder, nic->pid);
    return nic->guests[wid] != NULL;
}

void dnet_emu_segment_forget(const dnet_emu_nic_t *nic)
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

void dnet_emu_segment_protect(const dnet_emu_nic_t *nic)
{
    (void) mprotect(nic->header, DNET_EMU_PAGE, PROT_READ);
    (void) mprotect(nic->sreg_store, DNET_EMU_PAGE, PROT_READ);
}

/* The pages from `from` up to `to` may be looked at, and no more. */
static void look_only(void *from, const void *to)
{
    (void) mprotect(from, (size_t) ((const uint8_t *) to - (uint8_t *) from), PROT_READ);
}

void dnet_emu_segment_protect_peer(const dnet_emu_nic_t *nic)
{
    /* What a sender stores to while others wait is in its page tables from the start. */
    (void) madvise(nic->header, nic->mapped_bytes, MADV_POPULATE_WRITE);
    dnet_emu_memory_touch(nic, nic->header, nic->mapped_bytes);
    dnet_emu_segment_protect(nic);
    look_only(nic->state->amt_address, nic->state + 1);
    look_only(nic->sreg_load, nic->sreg_load + DNET_EMU_PAGE);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        const dnet_emu_areas_t *a = &nic->area[w];

        look_only(a->ureg_store, a->ureg_store + DNET_EMU_PAGE);
        look_only(a->ww, a->ww + DNET_EMU_PAGE);
        /* The prototype's one executor is worked by whoever has sent it an RVL. */
        if (nic->extended)
            look_only(&a->state->owner, a->state->committed);
    }
}

void dnet_emu_segment_close_descriptor(dnet_emu_nic_t *nic)
{
    close(nic->fd);
    nic->fd = -1;
}

void dnet_emu_segment_leave(dnet_emu_nic_t *nic)
{
    if (nic->offered)
        dnet_emu_descriptor_withdraw();
    leave(nic);
    unmap(nic);
    if (nic->fd >= 0)
        close(nic->fd);
    free(nic);
}
