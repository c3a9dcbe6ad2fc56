/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routing without memory: each of its allocations fails in turn, and each time it says so instead
 * of returning what it has, tables that are not refined for example.
 */
#include "subnet/engines/engines.h"
#include "subnet/routing/routing.h"
#include "subnet/topology/topo_gen.h"

#include "common/log.h"

#include <stdatomic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static atomic_long allocations, fails_at; /* fails_at 0: none */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
    return ++allocations == fails_at ? NULL : __real_calloc(n, size);
}

/* Route with the n-th allocation failing.  @return it did not come to that; *r is set then */
static bool route_failing(const dnet_topo_t *t, const dnet_route_options_t *opt, long n,
                          dnet_routing_t *r)
{
    allocations = 0;
    fails_at = n;
    dnet_status_t st = dnet_route(t, dnet_engine_find("turnadd"), opt, NULL, r);
    fails_at = 0;
    if (st || allocations >= n)
        assert_int_equal(st, DNET_ERR_NO_MEMORY);
    return !st;
}

static void test_each_failed_allocation_is_told(void **state)
{
    (void) state;
    dnet_topo_t *t;
    dnet_traffic_t tr;
    dnet_routing_t r, changed;
    assert_int_equal(dnet_topo_make("two-fat-trees:54:middle", 1, &t), DNET_OK);
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, 0.01), DNET_OK);
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr};
    long n = 1;
    while (!route_failing(t, &opt, n, &r))
        n++;
    assert_true(n > 100);
    assert_int_equal(dnet_topo_set_link(t, 0, true), DNET_OK);
    opt.from = r.tables;
    for (n = 1; !route_failing(t, &opt, n, &changed); n++)
        ;
    assert_true(changed.kept);
    dnet_routing_free(&changed);
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_failed_allocation_is_told),
    };
    dnet_log_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
