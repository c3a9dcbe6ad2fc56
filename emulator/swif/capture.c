/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface that writes what passes it to a file (docs/tracing.md section 1): pcapng, link
 * type USER0, a 64-bit word of what is known beside the packet (CAP fields of format.def), then the
 * packet.
 *
 * It stands in the place of the ordinary one, so a NIC without a capture pays nothing.  A packet is
 * written by the process in whose context it is sent, once, and before the call returns: what a
 * process has sent is in the file even if it is killed next.  A packet that a stalling receiver has
 * not taken yet is still on its way, and is written when it is taken.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file_size.h"
#include "common/log.h"
#include "emulator/swif/swif.h"
#include "emulator/write_unit.h"

#define LINKTYPE_USER0 147
#define BUFFER_BYTES 65536u
#define HEAD_BYTES 24u

enum { /* block types and option codes of pcapng */
       SECTION_HEADER = 0x0a0d0d0a,
       INTERFACE_DESCRIPTION = 1,
       ENHANCED_PACKET = 6,
       OPT_IF_NAME = 2,
       OPT_IF_RESOLUTION = 9,
       OPT_PACKET_FLAGS = 2,
       INBOUND = 1,
       OUTBOUND = 2,
};

struct dnet_emu_capture {
    int fd;         /* -1: the file could not grow */
    int control_fd; /* of the page; -1: nobody can switch */
    dnet_emu_capture_control_t *control;
    uint32_t data_bytes;
    uint64_t size;
    uint32_t used;
    uint8_t buffer[BUFFER_BYTES];
    char path[];
};

/* ---- blocks ---- */

static void put(dnet_emu_capture_t *c, const void *from, size_t bytes)
{
    memcpy(c->buffer + c->used, from, bytes);
    c->used += (uint32_t) bytes;
}

static void put32(dnet_emu_capture_t *c, uint32_t value)
{
    put(c, &value, sizeof value);
}

static void pad(dnet_emu_capture_t *c)
{
    for (; c->used % 4; c->used++)
        c->buffer[c->used] = 0;
}

static void put_option(dnet_emu_capture_t *c, unsigned code, const void *value, size_t bytes)
{
    put32(c, code | (uint32_t) bytes << 16);
    put(c, value, bytes);
    pad(c);
}

static uint32_t begin_block(dnet_emu_capture_t *c, uint32_t type)
{
    uint32_t start = c->used;

    put32(c, type);
    put32(c, 0);
    return start;
}

/* A block ends with the end of its options and with its length, which its head repeats. */
static void end_block(dnet_emu_capture_t *c, uint32_t start)
{
    uint32_t bytes;

    put32(c, 0);
    bytes = c->used + 4 - start;
    put32(c, bytes);
    memcpy(c->buffer + start + 4, &bytes, sizeof bytes);
}

static void put_file_header(dnet_emu_capture_t *c, const char *who)
{
    const uint8_t nanoseconds = 9;
    uint32_t start = begin_block(c, SECTION_HEADER);

    put32(c, 0x1a2b3c4d);
    put32(c, 1); /* version 1.0 */
    put(c, &(int64_t){-1}, 8);
    end_block(c, start);
    start = begin_block(c, INTERFACE_DESCRIPTION);
    put32(c, LINKTYPE_USER0);
    put32(c, 0); /* no limit */
    put_option(c, OPT_IF_NAME, who, strlen(who));
    put_option(c, OPT_IF_RESOLUTION, &nanoseconds, 1);
    end_block(c, start);
}

/* ---- the file ---- */

/* Write what has been put together.  A file that cannot take it keeps whole blocks only. */
static bool flush(dnet_emu_capture_t *c)
{
    uint32_t done = 0;

    while (done < c->used) {
        ssize_t n = write(c->fd, c->buffer + done, c->used - done);

        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (uint32_t) n : 0;
    }
    if (done < c->used) {
        int cause = errno;

        (void) !ftruncate(c->fd, (off_t) c->size);
        errno = cause;
        return false;
    }
    c->size += c->used;
    c->used = 0;
    atomic_store_explicit(&c->control->bytes, c->size, memory_order_relaxed);
    return true;
}

DNET_COLD static void give_up(dnet_emu_capture_t *c)
{
    dnet_error("capture file %s ends after %" PRIu64 " packets, the program goes on: %m", c->path,
               atomic_load_explicit(&c->control->packets, memory_order_relaxed));
    close(c->fd);
    c->fd = -1;
}

static dnet_status_t refuse(dnet_emu_capture_t *c, const char *why)
{
    dnet_error("capture file %s: %s", c->path, why);
    dnet_emu_capture_close(c);
    return DNET_ERR_SYSTEM;
}

/* The page by which others switch: without one all that passes is captured. */
static bool make_control(dnet_emu_capture_t *c, const char *who)
{
    dnet_emu_capture_control_t *at = MAP_FAILED;

    c->control_fd = memfd_create(DNET_EMU_CAPTURE_MEMFD, MFD_CLOEXEC);
    if (c->control_fd >= 0 && dnet_file_reserve(c->control_fd, 0, DNET_EMU_CAPTURE_PAGE) == 0)
        at =
            mmap(NULL, DNET_EMU_CAPTURE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c->control_fd, 0);
    if (at == MAP_FAILED)
        at = mmap(NULL, DNET_EMU_CAPTURE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    if (at == MAP_FAILED)
        return false;
    at->magic = DNET_EMU_CAPTURE_MAGIC;
    at->version = DNET_EMU_CAPTURE_VERSION;
    at->pid = getpid();
    strncpy(at->who, who, sizeof at->who - 1);
    strncpy(at->path, c->path, sizeof at->path - 1);
    atomic_store_explicit(&at->types, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&at->results, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&at->on, 1, memory_order_relaxed);
    c->control = at;
    return true;
}

dnet_status_t dnet_emu_capture_open(const char *path, const char *who, uint32_t data_bytes,
                                    dnet_emu_capture_t **capture_p)
{
    size_t length = strlen(path);
    dnet_emu_capture_t *c = calloc(1, sizeof *c + length + 1);
    struct stat st;

    if (!c) {
        dnet_error("no memory for a capture: %zu bytes needed", sizeof *c + length + 1);
        return DNET_ERR_NO_MEMORY;
    }
    memcpy(c->path, path, length);
    c->data_bytes = data_bytes;
    c->fd = -1;
    if (!make_control(c, who))
        return refuse(c, "no memory for its page");
    /* Not blocking: a FIFO without a reader answers, instead of holding the job. */
    c->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (c->fd < 0)
        return refuse(c, strerror(errno));
    if (fstat(c->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return refuse(c, "not a regular file");
    put_file_header(c, who);
    if (ftruncate(c->fd, 0) != 0 || !flush(c))
        return refuse(c, strerror(errno));
    *capture_p = c;
    return DNET_OK;
}

void dnet_emu_capture_close(dnet_emu_capture_t *c)
{
    if (c->fd >= 0)
        close(c->fd);
    if (c->control)
        munmap(c->control, DNET_EMU_CAPTURE_PAGE);
    if (c->control_fd >= 0)
        close(c->control_fd);
    free(c);
}

void dnet_emu_capture_set(dnet_emu_nic_t *nic, dnet_emu_capture_t *capture)
{
    nic->capture = capture;
    dnet_emu_swif_choose(nic);
}

/* ---- packets ---- */

/*
 * Bytes of a packet's data that are kept: as many as were asked for, and of a message always what
 * says which one it is: the envelope [sheet 10.1], and the head behind it where bit 31 of the Tag
 * is set (docs/protocol.md 3).
 */
static uint32_t bytes_kept(const dnet_emu_capture_t *c, const dnet_emu_packet_t *p, uint32_t from,
                           uint32_t bytes)
{
    uint64_t envelope;
    uint32_t least = 0;

    if (from == 0 && DNET_GET(p->header[0], PK_TYPE) == DNET_PRIM_IPUSH &&
        DNET_GET(p->header[0], PK_LFLAG) && bytes >= sizeof envelope &&
        dnet_emu_payload_copy(p, 0, (uint8_t *) &envelope, sizeof envelope))
        least = sizeof envelope + (DNET_GET(envelope, LH_TAG) >> 31 ? HEAD_BYTES : 0);
    least = least < c->data_bytes ? c->data_bytes : least;
    return bytes < least ? bytes : least;
}

/* 1 + rank of a process, by the NIC it is on, which this one has mapped; 0: not told, or gone. */
static uint64_t rank_of(dnet_emu_nic_t *via, uint16_t lid, uint64_t wid)
{
    const dnet_emu_nic_t *nic = lid == dnet_emu_lid(via) ? via : dnet_emu_swif_peer(via, lid);

    return nic ? atomic_load_explicit(&nic->area[wid].state->member, memory_order_relaxed) : 0;
}

/* Who sends and who receives, as fields of the word beside the packet. */
static uint64_t ranks_of(dnet_emu_nic_t *via, uint16_t dlid, const dnet_emu_packet_t *p,
                         dnet_emu_result_t result)
{
    uint64_t to = 0, from = rank_of(via, p->slid, DNET_GET(p->header[0], PK_SWID));

    if (result != DNET_EMU_UNREACHABLE && result != DNET_EMU_REFUSED && result != DNET_EMU_NO_WAY)
        to = rank_of(via, dlid, DNET_GET(p->header[0], PK_DWID));
    return DNET_PUT(from, CAP_SRANK) | DNET_PUT(to, CAP_DRANK);
}

/* Is the packet one of those that are captured now? */
static bool wanted(const dnet_emu_capture_control_t *is, const dnet_emu_packet_t *p,
                   dnet_emu_result_t result, uint64_t ranks)
{
    uint32_t rank = atomic_load_explicit(&is->rank, memory_order_relaxed);

    return atomic_load_explicit(&is->on, memory_order_relaxed) &&
           atomic_load_explicit(&is->types, memory_order_relaxed) >>
                   DNET_GET(p->header[0], PK_TYPE) &
               1 &&
           atomic_load_explicit(&is->results, memory_order_relaxed) >> result & 1 &&
           (rank == 0 || rank == DNET_GET(ranks, CAP_SRANK) || rank == DNET_GET(ranks, CAP_DRANK));
}

/* One packet as a block; what is recorded of its data may be less than it has. */
static void put_packet(dnet_emu_capture_t *c, const dnet_emu_nic_t *nic, const dnet_emu_packet_t *p,
                       uint32_t from, uint32_t bytes, dnet_emu_result_t result, uint64_t ranks,
                       uint64_t time_ns)
{
    uint32_t kept = bytes_kept(c, p, from, bytes);
    uint32_t header = 8 + 8 * p->header_lines;
    uint32_t flags = p->slid == dnet_emu_lid(nic) ? OUTBOUND : INBOUND;
    uint32_t start = begin_block(c, ENHANCED_PACKET);
    uint64_t word = DNET_PUT(1, CAP_VERSION) | DNET_PUT(result, CAP_RESULT) |
                    DNET_PUT(p->header_lines, CAP_LINES) | DNET_PUT(p->reply, CAP_REPLY) |
                    DNET_PUT(p->slid, CAP_SLID) | ranks;
    uint32_t length[2];
    uint64_t h[4];

    put32(c, 0); /* interface */
    put32(c, (uint32_t) (time_ns >> 32));
    put32(c, (uint32_t) time_ns);
    dnet_emu_burst_header(nic, p, from, bytes, bytes, h);
    /* Data may lie in a process that has ended meanwhile. */
    if (!dnet_emu_payload_copy(p, from, c->buffer + c->used + 8 + header, kept))
        kept = 0;
    length[0] = header + kept;
    length[1] = header + bytes;
    put(c, length, sizeof length);
    put(c, &word, 8);
    put(c, h, 8 * p->header_lines);
    c->used += kept;
    pad(c);
    put_option(c, OPT_PACKET_FLAGS, &flags, sizeof flags);
    end_block(c, start);
    atomic_fetch_add_explicit(&c->control->packets, 1, memory_order_relaxed);
}

static void record(dnet_emu_capture_t *c, const dnet_emu_nic_t *nic, const dnet_emu_packet_t *p,
                   dnet_emu_result_t result, uint64_t ranks, uint64_t time_ns)
{
    uint64_t limit = atomic_load_explicit(&c->control->limit, memory_order_relaxed);
    uint32_t each = p->data_bytes;

    if (p->packets > 1)
        each = (uint32_t) DNET_GET(p->header[0], PK_SIZE) - 8 * p->header_lines;
    for (uint32_t from = 0, n = 0; n < p->packets; n++, from += each) {
        uint32_t left = p->data_bytes - from;

        if (c->used + DNET_PACKET_MAX_BYTES + 128 > BUFFER_BYTES && !flush(c)) {
            give_up(c);
            return;
        }
        put_packet(c, nic, p, from, left < each ? left : each, result, ranks, time_ns);
    }
    if (!flush(c)) {
        give_up(c);
    } else if (limit && c->size >= limit) {
        dnet_info("capture file %s has its %" PRIu64 " bytes", c->path, limit);
        atomic_store_explicit(&c->control->on, 0, memory_order_relaxed);
    }
}

static dnet_emu_result_t capture_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    /* Before delivery: an answer of the receiver must not look older than what it answers. */
    uint64_t sent_ns = dnet_clock_read_ns(CLOCK_REALTIME);
    dnet_emu_result_t result;
    uint64_t ranks;

    result = dnet_emu_swif_carrier(via)->send(via, dlid, packet);
    if (result == DNET_EMU_STALLED || via->capture->fd < 0)
        return result;
    ranks = ranks_of(via, dlid, packet, result);
    if (wanted(via->capture->control, packet, result, ranks))
        record(via->capture, via, packet, result, ranks, sent_ns);
    return result;
}

const dnet_emu_swif_ops_t dnet_emu_swif_capture = {.name = "capture", .send = capture_send};
