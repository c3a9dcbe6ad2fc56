/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages of types with gaps, between ranks and to oneself: from and into few long blocks of
 * odd lengths, many blocks, bytes in a row.  The bytes arrive, those in the gaps stay, the types
 * may be freed at once, and no rank has a copy of what goes through it: its memory grows by a small
 * part of a message.
 */
#include "check.h"

enum { MIB = 1 << 20, BLOCKS_MOST = 4096, GROWTH_KIB = 8 * 1024 };
enum { ROOM = 64 * MIB };

/* The bytes of a message in memory: block after block. */
typedef struct {
    const char *name;
    int blocks;
    MPI_Aint at[BLOCKS_MOST];
    int bytes[BLOCKS_MOST];
} shape_t;

static shape_t few = {.name = "3 blocks",
                      .blocks = 3,
                      .at = {40 * MIB + 3, 5, 20 * MIB},
                      .bytes = {16 * MIB + 5, 8 * MIB - 2, 8 * MIB - 3}};
static shape_t many = {.name = "4096 blocks", .blocks = 4096};
static shape_t row = {.name = "bytes in a row", .blocks = 1, .at = {1}, .bytes = {32 * MIB}};
enum { BYTES = 32 * MIB };

static void make_shapes(void)
{
    for (int i = 0; i < many.blocks; i++) {
        many.at[i] = (i ^ 1) * 16000 + 3;
        many.bytes[i] = BYTES / many.blocks + (i % 2 ? 7 : -7);
    }
}

static MPI_Datatype type_of(const shape_t *s)
{
    MPI_Datatype type;
    MPI_Type_create_hindexed(s->blocks, s->bytes, s->at, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void fill(uint8_t *buf, const shape_t *s, uint32_t seed)
{
    size_t n = 0;
    for (int b = 0; b < s->blocks; b++)
        for (int i = 0; i < s->bytes[b]; i++)
            buf[s->at[b] + i] = pattern_byte(seed, n++);
}

static void compare(uint8_t *buf, const shape_t *s, uint32_t seed, const char *what)
{
    size_t n = 0, wrong = 0;
    for (int b = 0; b < s->blocks; b++)
        for (int i = 0; i < s->bytes[b]; i++, n++) {
            wrong += buf[s->at[b] + i] != pattern_byte(seed, n);
            buf[s->at[b] + i] = 0xa5;
        }
    CHECK(wrong == 0, "%s: %zu bytes differ", what, wrong);
    for (size_t i = wrong = 0; i < ROOM; i++)
        wrong += buf[i] != 0xa5;
    CHECK(wrong == 0, "%s: %zu bytes of the gaps", what, wrong);
}

/* The most memory this process has had. */
static long peak_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

/* Each rank to the next one, which may be itself. */
static void pass(uint8_t *out, uint8_t *in, const shape_t *from, const shape_t *to, MPI_Comm comm)
{
    int me, n;
    char what[128];
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Count bytes;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    snprintf(what, sizeof(what), "from %s into %s, %d ranks", from->name, to->name, n);
    fill(out, from, me);
    long before = peak_kib();
    MPI_Datatype sent = type_of(from), received = type_of(to);
    MPI_Irecv(in, 1, received, (me + n - 1) % n, 5, comm, &requests[0]);
    MPI_Isend(out, 1, sent, (me + 1) % n, 5, comm, &requests[1]);
    MPI_Type_free(&sent);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &status);
    MPI_Get_elements_x(&status, received, &bytes);
    MPI_Type_free(&received);
    long growth = peak_kib() - before;
    CHECK(bytes == BYTES, "%s: %lld bytes", what, (long long) bytes);
    CHECK(growth < GROWTH_KIB, "%s: memory has grown by %ld KiB", what, growth);
    compare(in, to, (me + n - 1) % n, what);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    make_shapes();
    uint8_t *out = check_alloc(ROOM), *in = check_alloc(ROOM);
    memset(out, 0x5a, ROOM);
    memset(in, 0xa5, ROOM);
    const shape_t *shapes[] = {&few, &many, &row};
    for (int i = 0; i < 9; i++) {
        pass(out, in, shapes[i / 3], shapes[i % 3], MPI_COMM_WORLD);
        pass(out, in, shapes[i / 3], shapes[i % 3], MPI_COMM_SELF);
    }
    free(out);
    free(in);
    return check_end();
}
