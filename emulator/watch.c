/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs seen from outside: which exist, which processes use them, what their memory holds.  Nothing
 * here changes a NIC.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "emulator/memory.h"
#include "emulator/process.h"

static bool link_names_segment(const char *path)
{
    char target[64];
    ssize_t n = readlink(path, target, sizeof target - 1);

    target[n > 0 ? n : 0] = '\0';
    return strncmp(target, DNET_EMU_SEGMENT_LINK, sizeof DNET_EMU_SEGMENT_LINK - 1) == 0;
}

/* The header of a segment of this user behind a descriptor of another process. */
static bool read_header(const char *path, dnet_emu_header_t *header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    bool good;

    if (fd < 0)
        return false;
    good = fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
           pread(fd, header, sizeof *header, 0) == (ssize_t) sizeof *header &&
           header->magic == DNET_EMU_MAGIC;
    close(fd);
    return good;
}

static void find_in(int32_t pid, void (*visit)(void *arg, const dnet_emu_locator_t *at), void *arg)
{
    char path[64];
    struct dirent *entry;
    DIR *directory;

    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    directory = opendir(path);
    while (directory && (entry = readdir(directory))) {
        dnet_emu_locator_t at = {.pid = pid, .fd = atoi(entry->d_name)};
        dnet_emu_header_t header;

        snprintf(path, sizeof path, "/proc/%d/fd/%d", at.pid, at.fd);
        if (!isdigit((unsigned char) entry->d_name[0]) || !link_names_segment(path) ||
            !read_header(path, &header))
            continue;
        at.id = header.id;
        at.lid = header.lid;
        visit(arg, &at);
    }
    if (directory)
        closedir(directory);
}

void dnet_emu_find(void (*visit)(void *arg, const dnet_emu_locator_t *at), void *arg)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (isdigit((unsigned char) entry->d_name[0]))
            find_in(atoi(entry->d_name), visit, arg);
    if (directory)
        closedir(directory);
}

void dnet_emu_describe(const dnet_emu_nic_t *nic, dnet_emu_description_t *description_p)
{
    *description_p = (dnet_emu_description_t){
        .profile = (dnet_profile_t) nic->header->profile,
        .id = nic->id,
        .lid = nic->lid,
        .maker = nic->header->owner,
    };
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        const dnet_emu_wid_t *s = nic->area[w].state;
        uint32_t member = atomic_load_explicit(&s->member, memory_order_acquire);

        int32_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);

        description_p->process[w] = owner && !dnet_emu_process_gone(nic, owner) ? owner : 0;
        description_p->member[w] = description_p->process[w] ? (int32_t) member - 1 : -1;
        description_p->pgid[w] = dnet_emu_pgid(nic, w);
    }
}

dnet_status_t dnet_emu_sodimm_peek(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset,
                                   void *to, uint64_t len)
{
    uint64_t base;

    if (wid >= DNET_PROCESSES_PER_NIC || offset > dnet_emu_sodimm_area(nic) ||
        len > dnet_emu_sodimm_area(nic) - offset) {
        dnet_error("SO-DIMM range %#" PRIx64 "+%#" PRIx64 " is outside the area of %" PRIu64
                   " bytes",
                   offset, len, dnet_emu_sodimm_area(nic));
        return DNET_ERR_ARGUMENT;
    }
    /* Through the file: a load from a page that is not there would commit it. */
    base = nic->area[wid].sodimm_at;
    while (len > 0) {
        ssize_t n = pread(nic->fd, to, len, (off_t) (base + offset));

        if (n <= 0) {
            dnet_error("cannot read SO-DIMM at %#" PRIx64 ": %m", offset);
            return DNET_ERR_SYSTEM;
        }
        to = (uint8_t *) to + n;
        offset += (uint64_t) n;
        len -= (uint64_t) n;
    }
    return DNET_OK;
}
