/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PNG (ISO/IEC 15948): signature, chunks of length, type, data and CRC-32.  The image data are a
 * zlib stream (RFC 1950) of stored blocks (RFC 1951 section 3.2.4); each row starts with filter
 * type 0.
 */
#include "png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORED_MAX 65535u

static uint32_t crc_table[256];

static void crc_table_make(void)
{
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        crc_table[n] = c;
    }
}

static uint32_t crc_update(uint32_t crc, const uint8_t *p, size_t len)
{
    while (len--)
        crc = crc_table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
    return crc;
}

static uint32_t adler32(const uint8_t *p, size_t len)
{
    uint32_t a = 1, b = 0;
    while (len--) {
        a = (a + *p++) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void put_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t) (v >> 24);
    p[1] = (uint8_t) (v >> 16);
    p[2] = (uint8_t) (v >> 8);
    p[3] = (uint8_t) v;
}

static void write_chunk(FILE *f, const char *type, const uint8_t *data, uint32_t len)
{
    uint8_t head[8], tail[4];
    put_be32(head, len);
    memcpy(head + 4, type, 4);
    uint32_t crc = crc_update(0xffffffffu, head + 4, 4);
    put_be32(tail, ~crc_update(crc, data, len));
    fwrite(head, 1, sizeof(head), f);
    fwrite(data, 1, len, f);
    fwrite(tail, 1, sizeof(tail), f);
}

/* The rows with their filter bytes as a zlib stream.  Returns its length. */
static size_t zlib_stored(uint8_t *to, const uint8_t *raw, size_t len)
{
    uint8_t *p = to;
    *p++ = 0x78; /* deflate, 32 KiB window */
    *p++ = 0x01;
    for (size_t at = 0; at < len;) {
        size_t n = len - at < STORED_MAX ? len - at : STORED_MAX;
        *p++ = at + n == len; /* last block; type stored */
        *p++ = (uint8_t) n;
        *p++ = (uint8_t) (n >> 8);
        *p++ = (uint8_t) ~n;
        *p++ = (uint8_t) (~n >> 8);
        memcpy(p, raw + at, n);
        p += n;
        at += n;
    }
    put_be32(p, adler32(raw, len));
    return (size_t) (p + 4 - to);
}

int png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {[8] = 8, [9] = 2}; /* 8 bits a sample, RGB */
    size_t row = 3 * (size_t) width, raw_len = (row + 1) * height;
    uint8_t *raw = malloc(raw_len);
    uint8_t *stream = malloc(raw_len + raw_len / STORED_MAX * 5 + 16);
    FILE *f = fopen(path, "wb");
    int result = -1;
    if (raw && stream && f) {
        for (uint32_t y = 0; y < height; y++) {
            raw[y * (row + 1)] = 0;
            memcpy(raw + y * (row + 1) + 1, rgb + y * row, row);
        }
        crc_table_make();
        put_be32(header, width);
        put_be32(header + 4, height);
        fwrite(signature, 1, sizeof(signature), f);
        write_chunk(f, "IHDR", header, sizeof(header));
        write_chunk(f, "IDAT", stream, (uint32_t) zlib_stored(stream, raw, raw_len));
        write_chunk(f, "IEND", NULL, 0);
        result = ferror(f) ? -1 : 0;
    }
    if (f && fclose(f) != 0)
        result = -1;
    free(stream);
    free(raw);
    return result;
}
