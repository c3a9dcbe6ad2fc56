/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a WID prefers the NUMA node that its process runs on, whichever process commits it;
 * an LH Buffer that lies on another node is exchanged as long as nothing has come.  The node on
 * which memory lies is made up here: a machine with one node must do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "emulator/core_logic.h"
#include "emulator/numa.h"

static int claimed_node = -1; /* -1: as it is */

int __real_dnet_emu_numa_of(const void *at);
int __wrap_dnet_emu_numa_of(const void *at);

int __wrap_dnet_emu_numa_of(const void *at)
{
    return claimed_node >= 0 ? claimed_node : __real_dnet_emu_numa_of(at);
}

/* The policy that holds at an address: its mode, and whether its only node is `node`. */
static bool prefers(const void *at, int node)
{
    unsigned long nodes[16] = {0};
    int mode = -1;
    if (syscall(SYS_get_mempolicy, &mode, nodes, sizeof(nodes) * 8, at, MPOL_F_ADDR) != 0)
        return false;
    return mode == MPOL_PREFERRED && nodes[(unsigned) node / (8 * sizeof(long))] ==
                                         1ul << (unsigned) node % (8 * sizeof(long));
}

/* A NIC, and the same one as another process would see it. */
typedef struct {
    dnet_emu_nic_t *nic, *seen;
} pair_t;

static int set_up(void **state)
{
    static pair_t p;
    dnet_emu_config_t config = {.profile = DNET_PROFILE_EXTENDED, .lid = 1, .start_paused = true};
    dnet_emu_locator_t at;
    claimed_node = -1;
    if (dnet_emu_create(&config, &p.nic) != DNET_OK)
        return 1;
    dnet_emu_locate(p.nic, &at);
    *state = &p;
    return dnet_emu_attach(&at, &p.seen) == DNET_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    pair_t *p = *state;
    dnet_emu_detach(p->seen);
    dnet_emu_detach(p->nic);
    return 0;
}

static void test_numa_open_places_the_wids_memory_for_all_processes(void **state)
{
    pair_t *p = *state;
    dnet_device_t *dev;
    assert_false(prefers(p->seen->area[1].lh, 0));
    assert_int_equal(dnet_emu_open(p->nic, 1, true, &dev), DNET_OK);
    int node = dnet_emu_numa_here();
    const dnet_emu_areas_t *a = &p->seen->area[1];
    assert_true(prefers(a->lh, node));
    assert_true(prefers((uint8_t *) a->lh + p->nic->lh_mask, node));
    assert_true(prefers(a->flow, node));
    assert_true(prefers(a->sodimm, node));
    assert_true(prefers(p->nic->area[1].sodimm + (1 << 28) - 1, node));
    /* The other WID's is that of whoever opens it. */
    assert_false(prefers(p->seen->area[0].lh, node));
    assert_false(prefers(p->seen->area[0].flow, node));
    assert_false(prefers(p->seen->area[0].sodimm, node));
    dev->ops->close(dev);
}

static void test_numa_lh_buffer_of_another_node_is_exchanged(void **state)
{
    pair_t *p = *state;
    dnet_device_t *dev;
    volatile uint8_t *lh = (volatile uint8_t *) p->seen->area[1].lh;
    lh[64] = 7; /* not what a NIC in use has there: it shows whether memory is new */
    assert_int_equal(dnet_emu_open(p->nic, 1, true, &dev), DNET_OK);
    assert_int_equal(lh[64], 7); /* it lies right */
    dev->ops->close(dev);
    claimed_node = dnet_emu_numa_here() + 1;
    assert_int_equal(dnet_emu_open(p->nic, 1, true, &dev), DNET_OK);
    assert_int_equal(lh[64], 0);
    dev->ops->close(dev);
    /* Not where packets have come. */
    lh[64] = 7;
    p->nic->area[1].state->lh_tail = DNET_LH_ENTRY_BYTES;
    assert_int_equal(dnet_emu_open(p->nic, 1, true, &dev), DNET_OK);
    assert_int_equal(lh[64], 7);
    dev->ops->close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numa_open_places_the_wids_memory_for_all_processes,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numa_lh_buffer_of_another_node_is_exchanged, set_up,
                                        tear_down),
    };
    unsigned long nodes[16] = {1};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (syscall(SYS_mbind, page, 4096, MPOL_PREFERRED, nodes, sizeof(nodes) * 8, 0) != 0) {
        printf("this kernel or container does not let a process say where its memory shall lie\n");
        return 77;
    }
    dnet_log_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
