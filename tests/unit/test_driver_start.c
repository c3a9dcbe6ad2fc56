/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A driver that starts on a NIC which another program has used before, as those of a cluster.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>

#include "dimmnet/emulator.h"
#include "driver/driver.h"

enum { AREA = 65536 };

/* Whom that one has held back, or was stopped by, is nothing to this one. */
static void test_driver_start_forgets_who_was_held(void **state)
{
    const dnet_emu_config_t config = {.profile = DNET_PROFILE_EXTENDED, .lid = 1};
    dnet_drv_target_t sender = dnet_drv_target(2, 1);
    dnet_emu_nic_t *emu;
    dnet_device_t *dev;
    dnet_drv_t nic;
    (void) state;
    assert_int_equal(dnet_emu_create(&config, &emu), DNET_OK);
    assert_int_equal(dnet_emu_open(emu, 0, true, &dev), DNET_OK);
    assert_int_equal(dnet_drv_bring_up(dev, 7), DNET_OK);
    assert_int_equal(dnet_drv_start(&nic, dev, AREA, 1, DNET_FLOW_MODE_STOP, 0), DNET_OK);
    dnet_drv_hold(&nic, sender, true);
    assert_true(dnet_drv_holds(&nic, sender));
    dev->ops->close(dev);
    assert_int_equal(dnet_emu_open(emu, 0, true, &dev), DNET_OK);
    assert_int_equal(dnet_drv_start(&nic, dev, AREA, 1, DNET_FLOW_MODE_STOP, 0), DNET_OK);
    assert_false(dnet_drv_holds(&nic, sender));
    dev->ops->close(dev);
    dnet_emu_detach(emu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_start_forgets_who_was_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
