/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tests' own driver.
 */
#include "tests/device/board.h"

#include <sys/wait.h>
#include <unistd.h>

#include "dimmnet/format.h"

void cluster_up(cluster_t *c, dnet_profile_t profile, const dnet_emu_config_t *options)
{
    dnet_emu_locator_t at[BOARD_NODES];

    memset(c, 0, sizeof *c);
    c->profile = profile;
    for (unsigned n = 0; n < BOARD_NODES; n++) {
        dnet_emu_config_t config = options ? *options : (dnet_emu_config_t){0};

        config.profile = profile;
        config.lid = c->lid[n] = (uint16_t) (n + 1);
        CHECK(dnet_emu_create(&config, &c->nic[n]) == DNET_OK);
        dnet_emu_locate(c->nic[n], &at[n]);
        for (unsigned w = 0; w < 2; w++)
            CHECK(dnet_emu_open(c->nic[n], w, true, &c->dev[n][w]) == DNET_OK);
    }
    for (unsigned n = 0; n < BOARD_NODES; n++) {
        for (unsigned m = 0; m < BOARD_NODES; m++)
            CHECK(dnet_emu_route(c->nic[n], &at[m]) == DNET_OK);
        /* Bring-up, annex B. */
        CHECK_EQUAL(system_load(c->dev[n][0], DNET_SREG_SMA_LID) >> 16 & 3, 3);
        system_store(c->dev[n][0], DNET_SREG_LID,
                     system_load(c->dev[n][0], DNET_SREG_SMA_LID) & 0xffff);
        system_store(c->dev[n][0], DNET_SREG_SODIMM_INIT, 1);
        system_store(c->dev[n][0], DNET_SREG_PGID0, 7);
        system_store(c->dev[n][0], DNET_SREG_PGID1, 7);
    }
}

void cluster_down(cluster_t *c)
{
    for (unsigned n = 0; n < BOARD_NODES; n++) {
        for (unsigned w = 0; w < 2; w++)
            c->dev[n][w]->ops->close(c->dev[n][w]);
        dnet_emu_detach(c->nic[n]);
    }
}

void user_store(dnet_device_t *dev, uint32_t offset, uint64_t value)
{
    dnet_reg_store(dev, offset, value);
}

uint64_t user_load(const dnet_device_t *dev, uint32_t offset)
{
    return dnet_reg_load(dev, offset);
}

void system_store(dnet_device_t *dev, uint32_t offset, uint64_t value)
{
    atomic_store_explicit((_Atomic uint64_t *) (void *) (dev->sreg_store + offset), value,
                          memory_order_release);
    dev->ops->kick(dev, offset, true);
}

uint64_t system_load(const dnet_device_t *dev, uint32_t offset)
{
    return atomic_load_explicit((const _Atomic uint64_t *) (const void *) (dev->sreg_load + offset),
                                memory_order_acquire);
}

void issue(dnet_device_t *dev, const request_t *r)
{
    uint64_t lower = DNET_PUT(r->type, RQ_OTYPE) | DNET_PUT(r->dtype, RQ_DTYPE) |
                     DNET_PUT(r->iteration, RQ_ITERATION) | DNET_PUT(r->dwid, RQ_DWID) |
                     DNET_PUT(r->dclid, RQ_DCLID) | DNET_PUT(r->eflag, RQ_EFLAG) |
                     DNET_PUT(r->size, RQ_SIZE);

    user_store(dev, r->command1 ? DNET_UREG_COMMAND1_UPPER : DNET_UREG_COMMAND0_UPPER,
               DNET_PUT(r->src, RQ_SRC) | DNET_PUT(r->dst, RQ_DST));
    user_store(dev, r->command1 ? DNET_UREG_COMMAND1_LOWER : DNET_UREG_COMMAND0_LOWER, lower);
}

uint64_t first_line(const header_t *h)
{
    return DNET_PUT(h->type, PK_TYPE) | DNET_PUT(h->dwid, PK_DWID) | DNET_PUT(h->swid, PK_SWID) |
           DNET_PUT(h->dlid, PK_DLID) | DNET_PUT(h->dtype, PK_DTYPE) |
           DNET_PUT(h->iteration, PK_ITERATION) | DNET_PUT(h->rflag, PK_RFLAG) |
           DNET_PUT(h->eflag, PK_EFLAG) | DNET_PUT(h->hflag, PK_HFLAG) |
           DNET_PUT(h->lflag, PK_LFLAG);
}

unsigned botf(dnet_device_t *dev, unsigned ww, const header_t *h, const void *data, unsigned bytes)
{
    uint64_t line[DNET_BOTF_BYTES_MAX / 8] = {first_line(h), h->line2, h->line3, h->line4};
    unsigned lines = !h->hflag ? 2 : (h->type >> 2) == DNET_PRIM_RVL >> 2 ? 4 : 3;
    unsigned size = lines * 8 + bytes;

    CHECK(size <= (dev->sodimm && ww < 2 ? DNET_BOTF_BYTES_MAX : DNET_WINDOW_BYTES));
    memset(line + lines, 0, sizeof line - lines * 8);
    if (bytes)
        memcpy(line + lines, data, bytes);
    memcpy(dev->ww + ww * DNET_WINDOW_BYTES, line,
           size > DNET_WINDOW_BYTES ? size : DNET_WINDOW_BYTES);
    user_store(dev, DNET_UREG_COMMAND0_LOWER,
               DNET_PUT(DNET_PRIM_BOTF, RQ_OTYPE) | DNET_PUT(ww, RQ_BOTF_WW) |
                   DNET_PUT(size, RQ_BOTF_SIZE));
    return size;
}

void sodimm_write(dnet_device_t *dev, uint32_t offset, const void *from, uint32_t bytes)
{
    const uint8_t *p = from;

    while (bytes > 0) {
        uint32_t n = bytes < DNET_WINDOW_BYTES ? bytes : DNET_WINDOW_BYTES;

        memcpy(dev->ww + 3 * DNET_WINDOW_BYTES, p, n);
        issue(dev,
              &(request_t){
                  .type = DNET_PRIM_VS, .size = n, .src = 3 * DNET_WINDOW_BYTES, .dst = offset});
        offset += n;
        p += n;
        bytes -= n;
    }
}

void sodimm_read(dnet_device_t *dev, uint32_t offset, void *to, uint32_t bytes)
{
    uint8_t *p = to;

    while (bytes > 0) {
        uint32_t n = bytes < DNET_WINDOW_BYTES ? bytes : DNET_WINDOW_BYTES;

        issue(dev,
              &(request_t){
                  .type = DNET_PRIM_VL, .size = n, .src = offset, .dst = 3 * DNET_WINDOW_BYTES});
        CHECK_EQUAL(user_load(dev, DNET_UREG_PREFETCH_WINDOW_FLAG) >> 12 & 0xf, 0xf);
        memcpy(p, dev->pw + 3 * DNET_WINDOW_BYTES, n);
        offset += n;
        p += n;
        bytes -= n;
    }
}

void sodimm_fill(dnet_device_t *dev, uint32_t offset, uint8_t value, uint32_t bytes)
{
    uint8_t block[DNET_WINDOW_BYTES];

    memset(block, value, sizeof block);
    for (; bytes > 0; bytes -= bytes < sizeof block ? bytes : (uint32_t) sizeof block) {
        sodimm_write(dev, offset, block, bytes < sizeof block ? bytes : (uint32_t) sizeof block);
        offset += (uint32_t) sizeof block;
    }
}

uint64_t llcm_word(const dnet_device_t *dev, uint32_t offset)
{
    return atomic_load_explicit((const _Atomic uint64_t *) (const void *) (dev->llcm + offset),
                                memory_order_acquire);
}

void llcm_store(dnet_device_t *dev, uint32_t offset, uint64_t value)
{
    atomic_store_explicit((_Atomic uint64_t *) (void *) (dev->llcm + offset), value,
                          memory_order_release);
}

void ring_set(cluster_t *c, unsigned node, unsigned wid, unsigned sender, unsigned swid,
              unsigned word, uint32_t start, unsigned units)
{
    dnet_device_t *dev = c->dev[node][wid];

    user_store(dev, DNET_UREG_IPUSH_AREA_SIZE, units);
    llcm_store(dev, word * 8, (uint64_t) start << 32 | start);
    system_store(dev, DNET_SREG_AMT_ADDRESS_TABLE,
                 DNET_PUT(word, AMTI_VALUE) | DNET_PUT(swid, AMTI_WID) |
                     DNET_PUT(c->lid[sender], AMTI_LID));
}

unsigned counter(const dnet_device_t *dev, unsigned family)
{
    return (unsigned) (user_load(dev, DNET_UREG_PRIMITIVE_COUNTER) >> (10 * family)) & 0x3ff;
}

bool bit(const dnet_device_t *dev, unsigned n)
{
    return user_load(dev, DNET_UREG_CONTROLLER_STATUS) >> n & 1;
}

static bool run_one(const board_test_t *t, dnet_profile_t profile)
{
    cluster_t c;
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(60); /* a test that hangs fails */
        cluster_up(&c, profile, NULL);
        t->run(&c);
        cluster_down(&c);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int board_main(const board_test_t *tests, unsigned count, int argc, char **argv)
{
    static const char *const profile_name[] = {"prototype", "extended"};
    unsigned passed = 0, failed = 0;

    for (unsigned i = 0; i < count; i++) {
        bool wanted = argc < 2;

        for (int a = 1; a < argc; a++)
            wanted = wanted || strstr(tests[i].name, argv[a]);
        for (unsigned p = 0; wanted && p < 2; p++) {
            bool ok;

            if (!(tests[i].profiles >> p & 1))
                continue;
            ok = run_one(&tests[i], p ? DNET_PROFILE_EXTENDED : DNET_PROFILE_PROTOTYPE);
            printf("%s %s (%s)\n", ok ? "ok  " : "FAIL", tests[i].name, profile_name[p]);
            passed += ok;
            failed += !ok;
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
