/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-stat --nics counts the entries of a flow ring, each once: of one that is full, and of one in
 * which those that have not been read lie where older ones did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "tools/stat/stat.h"

enum { AREA = 65536 };

typedef struct {
    dnet_emu_nic_t *emu;
    dnet_device_t *dev;
    dnet_drv_t drv;
} nic_t;

static void make(nic_t *n, uint16_t lid)
{
    const dnet_emu_config_t config = {.profile = DNET_PROFILE_EXTENDED, .lid = lid};
    assert_int_equal(dnet_emu_create(&config, &n->emu), DNET_OK);
    assert_int_equal(dnet_emu_open(n->emu, 0, true, &n->dev), DNET_OK);
    assert_int_equal(dnet_drv_bring_up(n->dev, 7), DNET_OK);
    assert_int_equal(dnet_drv_start(&n->drv, n->dev, AREA, 1, DNET_FLOW_MODE_STOP, 0), DNET_OK);
}

static void end(nic_t *n)
{
    n->dev->ops->close(n->dev);
    dnet_emu_detach(n->emu);
}

static void send_resends(nic_t *from, uint16_t lid, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        (void) dnet_drv_resend(&from->drv, dnet_drv_target(lid, 0), 1, false);
}

/* As the tool shows them for the NIC with that LID. */
static unsigned resends_shown(uint16_t lid)
{
    char text[4096] = "";
    nics_t all = nics_all(), one = {NULL, 0};
    FILE *out = tmpfile();
    int was = dup(STDOUT_FILENO);
    assert_non_null(out);
    for (uint32_t i = 0; i < all.count; i++)
        if (all.nic[i].is.lid == lid && all.nic[i].is.maker == getpid())
            one = (nics_t){&all.nic[i], 1};
    fflush(stdout);
    dup2(fileno(out), STDOUT_FILENO);
    unsigned shown = stat_nics(&one, true);
    fflush(stdout);
    dup2(was, STDOUT_FILENO);
    close(was);
    rewind(out);
    text[fread(text, 1, sizeof(text) - 1, out)] = '\0';
    fclose(out);
    free(all.nic);
    assert_int_equal(shown, 1);
    const char *at = strstr(text, "\"resends\": ");
    assert_non_null(at);
    return (unsigned) atoi(at + strlen("\"resends\": "));
}

static void test_nics_flow_ring_is_counted_once(void **state)
{
    nic_t to, from;
    dnet_emu_locator_t at;
    dnet_drv_flow_t entry;
    (void) state;
    make(&to, 5);
    make(&from, 6);
    dnet_emu_locate(to.emu, &at);
    assert_int_equal(dnet_emu_route(from.emu, &at), DNET_OK);
    const unsigned entries = to.dev->geometry.flow_entries;
    alarm(60);
    send_resends(&from, 5, 10);
    assert_int_equal(resends_shown(5), 10);
    send_resends(&from, 5, entries); /* the last ones are lost */
    assert_int_equal(resends_shown(5), entries);
    while (dnet_drv_flow_peek(&to.drv, &entry))
        dnet_drv_flow_advance(&to.drv);
    assert_int_equal(resends_shown(5), entries);
    send_resends(&from, 5, 100);
    assert_int_equal(resends_shown(5), entries);
    alarm(0);
    end(&from);
    end(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nics_flow_ring_is_counted_once),
    };
    return cmocka_run_group_tests_name("nics", tests, NULL, NULL);
}
