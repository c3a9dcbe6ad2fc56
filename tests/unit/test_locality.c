/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Distance classes on machines that hwloc makes up (HWLOC_SYNTHETIC), and sets of processors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "locality/locality.h"

static dnet_locality_t *host(const char *synthetic)
{
    dnet_locality_t *l;
    setenv("HWLOC_SYNTHETIC", synthetic, 1);
    assert_int_equal(dnet_locality_open(&l), DNET_OK);
    assert_false(dnet_locality_is_here(l));
    return l;
}

/* Processors first to last. */
static dnet_processors_t range(unsigned first, unsigned last)
{
    dnet_processors_t set = {{0}};
    for (unsigned i = first; i <= last; i++)
        set.word[i / 64] |= 1ull << (i % 64);
    return set;
}

static dnet_distance_t between(const dnet_locality_t *l, dnet_processors_t a, dnet_processors_t b)
{
    dnet_distance_t there = dnet_locality_distance(l, &a, &b);
    assert_int_equal(there, dnet_locality_distance(l, &b, &a));
    return there;
}

/* 2 packages of 2 NUMA nodes of 4 cores of 2 threads; an L3 for each node. */
static void test_locality_classes_of_a_machine_with_nodes_in_packages(void **state)
{
    (void) state;
    dnet_locality_t *l = host("package:2 numa:2 l3:1 l2:4 core:1 pu:2");
    dnet_processors_t own = range(0, 0);
    assert_int_equal(between(l, own, range(0, 0)), DNET_DISTANCE_PROCESSOR);
    assert_int_equal(between(l, own, range(1, 1)), DNET_DISTANCE_CORE);
    assert_int_equal(between(l, own, range(2, 2)), DNET_DISTANCE_L3);
    assert_int_equal(between(l, own, range(7, 7)), DNET_DISTANCE_L3);
    assert_int_equal(between(l, own, range(8, 8)), DNET_DISTANCE_PACKAGE);
    assert_int_equal(between(l, own, range(15, 15)), DNET_DISTANCE_PACKAGE);
    assert_int_equal(between(l, own, range(16, 16)), DNET_DISTANCE_OTHER);
    /* Ranks that may use several processors are as near as the farthest of these. */
    assert_int_equal(between(l, range(0, 1), range(0, 1)), DNET_DISTANCE_CORE);
    assert_int_equal(between(l, range(0, 7), range(0, 7)), DNET_DISTANCE_L3);
    assert_int_equal(between(l, range(0, 7), range(8, 15)), DNET_DISTANCE_PACKAGE);
    assert_int_equal(between(l, range(0, 31), range(0, 31)), DNET_DISTANCE_OTHER);
    /* Processors the machine does not have are nowhere. */
    assert_int_equal(between(l, own, range(500, 500)), DNET_DISTANCE_OTHER);
    dnet_processors_t node1 = range(8, 15), across = range(7, 8);
    assert_int_equal(dnet_locality_node(l, &node1), 1);
    assert_int_equal(dnet_locality_node(l, &across), -1);
    dnet_locality_close(l);
}

/* Two cores on an L2, two of these on an L3, two of these on a node, two nodes' worth a package. */
static void test_locality_the_smallest_thing_that_holds_both_counts(void **state)
{
    (void) state;
    dnet_locality_t *l = host("package:2 l3:2 l2:2 core:2 pu:1");
    dnet_processors_t own = range(0, 0);
    assert_int_equal(between(l, own, range(1, 1)), DNET_DISTANCE_L2);
    assert_int_equal(between(l, own, range(2, 2)), DNET_DISTANCE_L3);
    assert_int_equal(between(l, own, range(4, 4)), DNET_DISTANCE_PACKAGE);
    /* One node holds both packages. */
    assert_int_equal(between(l, own, range(8, 8)), DNET_DISTANCE_NUMA);
    dnet_locality_close(l);
    l = host("package:2 numa:2 core:4 pu:1"); /* two nodes in a package */
    assert_int_equal(between(l, own, range(3, 3)), DNET_DISTANCE_NUMA);
    assert_int_equal(between(l, own, range(4, 4)), DNET_DISTANCE_PACKAGE);
    dnet_locality_close(l);
    l = host("package:1 numa:1 core:2 pu:1"); /* of two that hold the same the package is named */
    assert_int_equal(between(l, own, range(1, 1)), DNET_DISTANCE_PACKAGE);
    dnet_locality_close(l);
}

typedef struct {
    unsigned count;
    dnet_locality_thing_t last;
} seen_t;

static void see(void *arg, const dnet_locality_thing_t *thing)
{
    seen_t *s = arg;
    s->count++;
    s->last = *thing;
}

static void test_locality_things_are_visited(void **state)
{
    (void) state;
    dnet_locality_t *l = host("package:2 numa:2(memory=1GB) l3:1(size=8388608) core:4 pu:1");
    seen_t s = {0};
    char text[16];
    dnet_locality_each(l, DNET_LOCALITY_NUMA, see, &s);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.last.number, 3);
    assert_true(s.last.bytes > 900000000);
    assert_string_equal(dnet_processors_text(&s.last.processors, text, sizeof(text)), "12-15");
    s.count = 0;
    dnet_locality_each(l, DNET_LOCALITY_L3, see, &s);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.last.bytes, 8 << 20);
    s.count = 0;
    dnet_locality_each(l, DNET_LOCALITY_PROCESSOR, see, &s);
    assert_int_equal(s.count, 16);
    dnet_locality_close(l);
}

static void test_locality_what_hwloc_does_not_understand_is_an_error(void **state)
{
    (void) state;
    dnet_locality_t *l = NULL;
    setenv("HWLOC_SYNTHETIC", "chairs:4", 1);
    assert_int_equal(dnet_locality_open(&l), DNET_ERR_FORMAT);
    assert_null(l);
}

static void test_processors_as_text(void **state)
{
    (void) state;
    char text[12];
    dnet_processors_t set = range(0, 3), none = {{0}}, last = range(8191, 8191);
    set.word[1] = 1ull << 6;
    assert_string_equal(dnet_processors_text(&set, text, sizeof(text)), "0-3,70");
    assert_int_equal(dnet_processors_count(&set), 5);
    assert_string_equal(dnet_processors_text(&none, text, sizeof(text)), "");
    assert_string_equal(dnet_processors_text(&last, text, sizeof(text)), "8191");
    /* Where the room ends no number is cut in two. */
    for (unsigned i = 0; i < 64; i += 2)
        set.word[2] |= 1ull << i;
    assert_string_equal(dnet_processors_text(&set, text, sizeof(text)), "0-3,70,128");
    assert_string_equal(dnet_processors_text(&set, text, 10), "0-3,70");
}

static void test_processors_any_set_has_room(void **state)
{
    (void) state;
    static char text[DNET_PROCESSORS_TEXT];
    dnet_processors_t set = {{0}};
    for (unsigned i = 0; i < DNET_PROCESSORS_MAX; i++)
        set.word[i / 64] |= (uint64_t) (i % 3 != 2) << i % 64;
    size_t used = strlen(dnet_processors_text(&set, text, sizeof(text)));
    assert_string_equal(text + used - 9, "8190-8191");
}

static void test_processors_of_another_process(void **state)
{
    (void) state;
    dnet_processors_t own, its;
    cpu_set_t cpus;
    assert_int_equal(dnet_processors_of(0, &own), DNET_OK);
    sched_getaffinity(0, sizeof(cpus), &cpus);
    assert_int_equal(dnet_processors_count(&own), CPU_COUNT(&cpus));
    pid_t child = fork();
    if (child == 0) {
        int first = 0;
        while (!CPU_ISSET(first, &cpus))
            first++;
        CPU_ZERO(&cpus);
        CPU_SET(first, &cpus);
        sched_setaffinity(0, sizeof(cpus), &cpus);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(child, NULL, WUNTRACED);
    assert_int_equal(dnet_processors_of(child, &its), DNET_OK);
    assert_int_equal(dnet_processors_count(&its), 1);
    assert_true(dnet_processors_within(&its, &own));
    assert_true(dnet_processors_same_one(&its, &its));
    assert_int_equal(dnet_processors_within(&own, &its), dnet_processors_count(&own) == 1);
    kill(child, SIGCONT);
    waitpid(child, NULL, 0);
    assert_int_equal(dnet_processors_of(child, &its), DNET_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locality_classes_of_a_machine_with_nodes_in_packages),
        cmocka_unit_test(test_locality_the_smallest_thing_that_holds_both_counts),
        cmocka_unit_test(test_locality_things_are_visited),
        cmocka_unit_test(test_locality_what_hwloc_does_not_understand_is_an_error),
        cmocka_unit_test(test_processors_as_text),
        cmocka_unit_test(test_processors_any_set_has_room),
        cmocka_unit_test(test_processors_of_another_process),
    };
    dnet_log_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
