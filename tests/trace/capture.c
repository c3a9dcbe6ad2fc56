/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SECTION = 0x0a0d0d0a, INTERFACE = 1, PACKET = 6 };

static uint32_t word(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* An option of a block; NULL: it has none. */
static const uint8_t *option(const uint8_t *at, const uint8_t *end, unsigned code, unsigned *len_p)
{
    while (at + 4 <= end && word(at)) {
        unsigned len = word(at) >> 16;
        if ((word(at) & 0xffff) == code) {
            *len_p = len;
            return at + 4;
        }
        at += 4 + (len + 3) / 4 * 4;
    }
    return NULL;
}

static const char *read_interface(const uint8_t *block, const uint8_t *end, capture_t *c)
{
    unsigned len = 0;
    const uint8_t *name = option(block + 16, end, 2, &len);
    if ((word(block + 8) & 0xffff) != 147)
        return "link type is not USER0";
    if (!name || len >= sizeof(c->interface))
        return "interface without a name";
    memcpy(c->interface, name, len);
    name = option(block + 16, end, 9, &len);
    return name && len == 1 && *name == 9 ? NULL : "times are not nanoseconds";
}

static const char *read_packet(const uint8_t *block, const uint8_t *end, capture_packet_t *p)
{
    uint32_t kept = word(block + 20), original = word(block + 24);
    const uint8_t *at = block + 28, *after = at + (kept + 3) / 4 * 4;
    unsigned len = 0;
    if (word(block + 8) != 0 || after > end || kept < 8 + 16)
        return "packet of another interface, or cut off";
    p->time_ns = (uint64_t) word(block + 12) << 32 | word(block + 16);
    memcpy(&p->beside, at, 8);
    uint32_t lines = (uint32_t) DNET_GET(p->beside, CAP_LINES);
    if (DNET_GET(p->beside, CAP_VERSION) != 1 || lines < 2 || lines > 4 || kept < 8 + 8 * lines)
        return "word before the packet";
    memcpy(p->header, at + 8, 8 * lines);
    p->data = at + 8 + 8 * lines;
    p->kept = kept - 8 - 8 * lines;
    p->data_bytes = original - 8 - 8 * lines;
    if (p->data_bytes + 8 * lines != DNET_GET(p->header[0], PK_SIZE))
        return "Packet Size and length disagree";
    const uint8_t *flags = option(after, end, 2, &len);
    if (!flags || (word(flags) & 3) == 0)
        return "packet without a direction";
    p->inbound = (word(flags) & 3) == 1;
    return NULL;
}

static const char *read_blocks(capture_t *c, const uint8_t *at, const uint8_t *end)
{
    unsigned room = 0, number = 0;
    for (uint32_t bytes; at < end; at += bytes, number++) {
        bytes = end - at >= 12 ? word(at + 4) : 0;
        if (bytes < 12 || bytes % 4 || bytes > end - at || word(at + bytes - 4) != bytes)
            return "block length";
        const char *wrong = NULL;
        if (word(at) != (number == 0 ? SECTION : number == 1 ? INTERFACE : PACKET))
            wrong = "order of blocks";
        else if (number == 1)
            wrong = read_interface(at, at + bytes - 4, c);
        else if (number > 1) {
            if (c->count == room)
                c->packet = realloc(c->packet, (room = 2 * room + 64) * sizeof(*c->packet));
            wrong = read_packet(at, at + bytes - 4, &c->packet[c->count++]);
        }
        if (wrong)
            return wrong;
    }
    return number < 2 ? "no header" : NULL;
}

bool capture_read(const char *path, capture_t *c)
{
    struct stat st;
    FILE *in = fopen(path, "r");
    *c = (capture_t){0};
    if (!in || fstat(fileno(in), &st) != 0) {
        perror(path);
        return false;
    }
    c->bytes = malloc((size_t) st.st_size + 1);
    size_t n = fread(c->bytes, 1, (size_t) st.st_size, in);
    fclose(in);
    const char *wrong = read_blocks(c, c->bytes, c->bytes + n);
    if (wrong)
        fprintf(stderr, "%s: %s (packet %u)\n", path, wrong, c->count);
    return !wrong;
}

void capture_free(capture_t *c)
{
    free(c->packet);
    free(c->bytes);
}
