/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers, sizes, patterns, and buffers with gaps.
 */
#include "random.h"

#define GOLDEN 0x9e3779b97f4a7c15u
#define MARGIN 64u
#define UNTOUCHED 0xa5u
#define BLOCKS_MAX 1024u

/* splitmix64 */
uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t rng_next(rng_t *rng)
{
    return mix(rng->state += GOLDEN);
}

uint32_t below(rng_t *rng, uint32_t n)
{
    return (uint32_t) (rng_next(rng) >> 32) % n;
}

bool chance(rng_t *rng, uint32_t percent)
{
    return below(rng, 100) < percent;
}

size_t any_size(rng_t *rng, size_t most)
{
    /* an entry, a window, a packet, the eager limit, active messages, half of a split message,
     * a ring, all chunks of a staging area */
    static const size_t limits[] = {8,     48,    464,   488,   512,   4064,   4096,   8192,
                                    16384, 20480, 32768, 40960, 65536, 131072, 262144, 1048576};
    size_t len;
    if (chance(rng, 50)) {
        len = limits[below(rng, sizeof(limits) / sizeof(limits[0]))];
        if (chance(rng, 20))
            len -= 24; /* with a head */
        if (len > 8 * most)
            len = below(rng, 64);
        len += below(rng, 5);
        len -= len < 2 ? 0 : 2;
    } else {
        len = below(rng, 2u << below(rng, 20));
    }
    return len < most ? len : most;
}

static uint64_t pattern_word(uint64_t id, size_t word)
{
    return mix(id + (word + 1) * GOLDEN);
}

/* As pattern_fill(), from byte `from` of the pattern on. */
static void fill_from(uint8_t *to, size_t from, size_t len, uint64_t id)
{
    while (len) {
        uint64_t word = pattern_word(id, from / 8);
        size_t skip = from % 8, n = 8 - skip < len ? 8 - skip : len;
        memcpy(to, (const uint8_t *) &word + skip, n);
        to += n;
        from += n;
        len -= n;
    }
}

static size_t differs_from(const uint8_t *data, size_t from, size_t len, uint64_t id)
{
    for (size_t done = 0; done < len;) {
        uint64_t word = pattern_word(id, (from + done) / 8);
        size_t skip = (from + done) % 8, n = 8 - skip < len - done ? 8 - skip : len - done;
        if (memcmp(data + done, (const uint8_t *) &word + skip, n) != 0) {
            while (data[done] == ((const uint8_t *) &word)[skip])
                done++, skip++;
            return done;
        }
        done += n;
    }
    return len;
}

void pattern_fill(void *to, size_t len, uint64_t id)
{
    fill_from(to, 0, len, id);
}

size_t pattern_differs(const void *from, size_t len, uint64_t id)
{
    return differs_from(from, 0, len, id);
}

/* ---- buffers ---- */

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "random: no memory for %zu bytes\n", bytes);
        abort();
    }
    return memory;
}

static void one_block(buffer_t *b)
{
    b->blocks[0] = (block_t){0, b->len};
    b->blocks_count = b->len ? 1 : 0;
    b->type = MPI_BYTE;
    b->count = (int) b->len;
}

/* Blocks of one length in equal steps: a vector, or `count` elements of a resized type. */
static void equal_blocks(buffer_t *b, rng_t *rng, size_t block, size_t gap)
{
    b->blocks_count = (uint32_t) (b->len / block);
    for (uint32_t i = 0; i < b->blocks_count; i++)
        b->blocks[i] = (block_t){i * (block + gap), block};
    if (chance(rng, 50)) {
        b->count = 1;
        MPI_Type_create_hvector((int) b->blocks_count, (int) block, (MPI_Aint) (block + gap),
                                MPI_BYTE, &b->type);
    } else {
        MPI_Datatype bytes;
        b->count = (int) b->blocks_count;
        MPI_Type_contiguous((int) block, MPI_BYTE, &bytes);
        MPI_Type_create_resized(bytes, 0, (MPI_Aint) (block + gap), &b->type);
        MPI_Type_free(&bytes);
    }
    MPI_Type_commit(&b->type);
}

static void any_blocks(buffer_t *b, rng_t *rng)
{
    int lengths[32];
    MPI_Aint offsets[32];
    uint32_t n = 1 + below(rng, 32), used = 0;
    size_t left = b->len, offset = below(rng, 2) * below(rng, 100);
    while (left && used < n) {
        size_t len = used + 1 == n ? left : 1 + below(rng, (uint32_t) left);
        if (used + 1 < n && len > b->len / n * 2 + 1)
            len = b->len / n * 2 + 1;
        len = len < left ? len : left;
        b->blocks[used] = (block_t){offset, len};
        lengths[used] = (int) len;
        offsets[used] = (MPI_Aint) offset;
        used++;
        left -= len;
        offset += len + below(rng, 3) * below(rng, 80);
    }
    b->blocks_count = used;
    b->count = 1;
    MPI_Type_create_hindexed((int) used, lengths, offsets, MPI_BYTE, &b->type);
    MPI_Type_commit(&b->type);
}

void buffer_make(buffer_t *b, rng_t *rng, size_t len, bool contiguous)
{
    static const size_t blocks[] = {1, 4, 8, 24, 64, 128, 500, 4096};
    size_t block = blocks[below(rng, sizeof(blocks) / sizeof(blocks[0]))];
    *b = (buffer_t){.len = len, .blocks = allocate(BLOCKS_MAX * sizeof(block_t))};
    if (contiguous || len == 0 || chance(rng, 60))
        one_block(b);
    else if (len % block == 0 && len / block <= BLOCKS_MAX && chance(rng, 70))
        equal_blocks(b, rng, block, 4 * below(rng, 17));
    else
        any_blocks(b, rng);
    const block_t *last = b->blocks_count ? &b->blocks[b->blocks_count - 1] : NULL;
    b->all_bytes = (last ? last->offset + last->len : 0) + 2 * MARGIN;
    b->from_mpi = chance(rng, 20);
    if (b->from_mpi)
        MPI_Alloc_mem((MPI_Aint) b->all_bytes, MPI_INFO_NULL, &b->memory);
    else
        b->memory = allocate(b->all_bytes);
    memset(b->memory, UNTOUCHED, b->all_bytes);
    b->base = b->memory + MARGIN;
}

void buffer_fill(buffer_t *b, uint64_t id)
{
    size_t from = 0;
    for (uint32_t i = 0; i < b->blocks_count; i++) {
        fill_from(b->base + b->blocks[i].offset, from, b->blocks[i].len, id);
        from += b->blocks[i].len;
    }
}

static bool untouched(const buffer_t *b, const uint8_t *from, const uint8_t *to, char *why,
                      size_t room)
{
    for (const uint8_t *c = from; c < to; c++) {
        if (*c != UNTOUCHED) {
            snprintf(why, room,
                     "byte %td of the buffer does not belong to the message, and is 0x%x",
                     c - b->base, *c);
            return false;
        }
    }
    return true;
}

bool buffer_kept(const buffer_t *b, size_t len, char *why, size_t room)
{
    const uint8_t *from = b->memory;
    for (uint32_t i = 0; i < b->blocks_count; i++) {
        const uint8_t *block = b->base + b->blocks[i].offset;
        size_t n = len < b->blocks[i].len ? len : b->blocks[i].len;
        if (!untouched(b, from, block, why, room))
            return false;
        from = block + n;
        len -= n;
    }
    return untouched(b, from, b->memory + b->all_bytes, why, room);
}

bool buffer_holds(const buffer_t *b, size_t len, uint64_t id, char *why, size_t room)
{
    size_t done = 0;
    for (uint32_t i = 0; i < b->blocks_count && done < len; i++) {
        size_t n = len - done < b->blocks[i].len ? len - done : b->blocks[i].len;
        size_t good = differs_from(b->base + b->blocks[i].offset, done, n, id);
        if (good != n) {
            snprintf(why, room, "byte %zu of %zu is wrong", done + good, len);
            return false;
        }
        done += n;
    }
    return buffer_kept(b, len, why, room);
}

void buffer_free(buffer_t *b)
{
    if (b->type != MPI_BYTE)
        MPI_Type_free(&b->type);
    if (b->from_mpi)
        MPI_Free_mem(b->memory);
    else
        free(b->memory);
    free(b->blocks);
}
