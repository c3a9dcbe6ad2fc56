/* SPDX-License-Identifier: BSD-3-Clause
 *
 * [X.4] A machine without memory: clear answers, never a signal, and nothing that looks delivered.
 * The two system calls that commit memory are replaced and refuse when told to.
 */
#include "tests/device/board.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

static bool refuse;
static long page_bytes;

int __real_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __real_posix_fallocate64(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t len);
long __real_sysconf(int name);
long __wrap_sysconf(int name);
int __real_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice);

int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
    return refuse ? ENOSPC : __real_posix_fallocate(fd, offset, len);
}

int __wrap_posix_fallocate64(int fd, off_t offset, off_t len)
{
    return refuse ? ENOSPC : __real_posix_fallocate64(fd, offset, len);
}

long __wrap_sysconf(int name)
{
    return name == _SC_PAGESIZE && page_bytes ? page_bytes : __real_sysconf(name);
}

int __wrap_madvise(void *at, size_t len, int advice)
{
    errno = ENOMEM;
    return refuse ? -1 : __real_madvise(at, len, advice);
}

/* [X.4] No memory for a NIC. */
static void no_memory_for_a_nic(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_nic_t *nic;

    refuse = true;
    CHECK(dnet_emu_create(&config, &nic) == DNET_ERR_NO_MEMORY);
    refuse = false;
    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    dnet_emu_detach(nic);
}

/* A limit on the size of files: a line, and not the signal of ftruncate(). */
static void files_may_not_be_so_long(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    struct rlimit limit;
    dnet_emu_nic_t *nic;

    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 1 << 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(dnet_emu_create(&config, &nic) == DNET_ERR_LIMIT);
    CHECK(c->dev[0][0]->ops->reserve(c->dev[0][0], 0, 4 << 20) == DNET_OK); /* it is as long */
}

/* A kernel with larger pages cannot map what lies side by side in a segment. */
static void pages_of_another_size(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_nic_t *nic;

    page_bytes = 65536;
    CHECK(dnet_emu_create(&config, &nic) == DNET_ERR_SYSTEM);
    page_bytes = 0;
    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    dnet_emu_detach(nic);
}

/* [X.4] No memory to reserve in SO-DIMM; it can be asked for again. */
static void no_memory_to_reserve(cluster_t *c)
{
    refuse = true;
    CHECK(c->dev[0][0]->ops->reserve(c->dev[0][0], 0, 65536) == DNET_ERR_NO_MEMORY);
    refuse = false;
    CHECK(c->dev[0][0]->ops->reserve(c->dev[0][0], 0, 65536) == DNET_OK);
    refuse = true;
    sodimm_write(c->dev[0][0], 0, "reserved", 8); /* needs no more */
    CHECK(!bit(c->dev[0][0], 16));
    refuse = false;
}

/* VS: the window's overflow flag says that the data have no place. */
static void no_memory_for_vs(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint64_t in = 1;

    refuse = true;
    sodimm_write(d, 0x100000, "12345678", 8);
    CHECK(bit(d, 14) && bit(d, 16));
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8, .src = 0x100000, .dst = 0x600});
    refuse = false;
    sodimm_read(d, 0x100000, &in, 8);
    CHECK_EQUAL(in, 0);
    sodimm_write(d, 0x100000, "12345678", 8);
    CHECK(bit(d, 14) && !bit(d, 16));
}

/* RVS, IPUSH, a long LHS message: the sender learns that nothing arrived, and nothing looks as if
 * it had. */
static void no_memory_at_the_receiver(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t data[400] = {0};

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    ring_set(c, 1, 0, 0, 0, 2048, 0x800000, 1);
    refuse = true;
    for (unsigned i = 0; i < 3; i++) {
        botf(d, 0,
             &(header_t){.type = i ? DNET_PRIM_IPUSH : DNET_PRIM_RVS,
                         .lflag = i == 2,
                         .dlid = 2,
                         .eflag = true,
                         .line2 = i ? 0 : DNET_PUT(0x400000, PK_DST)},
             data, 400);
        CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_UNREACHABLE);
        CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0);
        CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), 0);
        CHECK_EQUAL(to->lh[0].envelope, 0);
        CHECK_EQUAL(llcm_word(to, 0x4000) >> 32, 0x800000);
    }
    refuse = false;
    botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2}, data, 400);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), 64);
}

/* [X.6] The flow ring has no memory: the receiver could not grant, so the sender is not left
 * waiting. */
static void no_memory_for_the_flow_ring(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    refuse = true;
    botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2}, "12345678", 8);
    refuse = false;
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_UNREACHABLE);
    botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_STOPPED);
    CHECK_EQUAL(DNET_GET(to->flow[0].word, FLOW_KIND), DNET_FLOW_STOPPED);
}

static long faults(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

/* What each round of progress looks at is in the page tables from the start. */
static void first_flow_entry_is_mapped(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    long before;

    (void) faults(); /* which has pages of its own */
    before = faults();
    CHECK_EQUAL(d->flow[0].word, 0);
    CHECK_EQUAL(faults() - before, 0);
}

/* Of what is reserved at the start of an area no page is cleared or mapped when it is used. */
static void reserved_pages_are_mapped(cluster_t *c)
{
    enum { BYTES = 1 << 20, PAGE = 4096 };
    dnet_device_t *to = c->dev[1][0];
    long before;

    CHECK_EQUAL(to->ops->reserve(to, 0, BYTES), DNET_OK);
    before = faults();
    for (unsigned at = 0; at < BYTES; at += PAGE)
        to->sodimm[at] = 1;
    CHECK(faults() - before < 8);
}

/* Nor by a sender: it maps what lies about a page at once, wherever the area begins. */
static void reserved_pages_are_mapped_by_a_sender(cluster_t *c)
{
    enum { BYTES = 1 << 20, PAGE = 4096, AT_ONCE = 1 << 16 };
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    long before;

    CHECK_EQUAL(to->ops->reserve(to, 0, BYTES), DNET_OK);
    sodimm_write(d, 0, "12345678", 8);
    issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dst = 0, .dclid = 2});
    before = faults();
    for (unsigned at = PAGE; at < BYTES; at += PAGE)
        issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dst = at, .dclid = 2});
    CHECK(faults() - before < BYTES / AT_ONCE + 8);
    CHECK_EQUAL(memcmp(to->sodimm + BYTES - PAGE, "12345678", 8), 0);
}

/* Elements of a peer's area that has memory there, of which this process has mapped one page so
 * far.
 */
static void elements_behind_what_is_mapped(cluster_t *c)
{
    enum { STEP = 0x6140, COUNT = 8 };
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint64_t in[COUNT], out;

    CHECK_EQUAL(to->ops->reserve(to, 0, COUNT * STEP), DNET_OK);
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = i + 1;
    sodimm_write(d, 0x100000, in, sizeof in);
    issue(d, &(request_t){.type = DNET_PRIM_RVSS,
                          .dtype = 3,
                          .iteration = COUNT,
                          .size = STEP,
                          .src = 0x100000,
                          .dst = 0,
                          .dclid = 2});
    for (unsigned i = 0; i < COUNT; i++) {
        sodimm_read(to, i * STEP, &out, sizeof out);
        CHECK_EQUAL(out, in[i]);
    }
}

static const board_test_t tests[] = {
    TEST(first_flow_entry_is_mapped, EXTENDED),
    TEST(reserved_pages_are_mapped, EXTENDED),
    TEST(reserved_pages_are_mapped_by_a_sender, EXTENDED),
    TEST(elements_behind_what_is_mapped, EXTENDED),
    TEST(no_memory_for_a_nic, BOTH),
    TEST(files_may_not_be_so_long, BOTH),
    TEST(pages_of_another_size, EXTENDED),
    TEST(no_memory_to_reserve, BOTH),
    TEST(no_memory_for_vs, BOTH),
    TEST(no_memory_at_the_receiver, EXTENDED),
    TEST(no_memory_for_the_flow_ring, EXTENDED),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
