/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that a process may still use, by files as Linux shows them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/available.h"

#define MB(n) ((uint64_t) (n) << 20)
#define ALL UINT64_MAX

static char root[256];

/* A file of the tree, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *c = path + strlen(root) + 1; (c = strchr(c, '/')); c++) {
        *c = '\0';
        (void) mkdir(path, 0700);
        *c = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int begin(void **state)
{
    const char *folder = getenv("TMPDIR");
    (void) state;
    snprintf(root, sizeof(root), "%s/dnet-available-XXXXXX", folder ? folder : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    char command[300];
    (void) state;
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void test_available_of_the_machine(void **state)
{
    (void) state;
    assert_int_equal(dnet_available(root, ALL), UINT64_MAX);
    put("proc/meminfo", "MemTotal: 9999 kB\nMemFree: 7 kB\nMemAvailable:    2048 kB\n");
    assert_int_equal(dnet_available(root, ALL), MB(2));
}

/* A container sees its own group as the one above all. */
static void test_available_of_a_container(void **state)
{
    (void) state;
    put("proc/meminfo", "MemAvailable: 1048576 kB\n");
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "104857600\n");
    put("sys/fs/cgroup/memory.current", "73400320\n");
    assert_int_equal(dnet_available(root, ALL), MB(30));
    put("sys/fs/cgroup/memory.max", "max\n");
    assert_int_equal(dnet_available(root, ALL), MB(1024));
}

/* A program that has read many files: they fill the limit, and are given up. */
static void test_available_files_count_as_free(void **state)
{
    (void) state;
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "104857600\n");
    put("sys/fs/cgroup/memory.current", "104857600\n");
    put("sys/fs/cgroup/memory.stat", "anon 1\nfile 99\nshmem 20971520\ninactive_anon 20971520\n"
                                     "inactive_file 41943040\nactive_file 10485760\n");
    assert_int_equal(dnet_available(root, ALL), MB(50));
    assert_int_equal(dnet_available(root, MB(1)), MB(40));
}

/* systemd's MemoryMax, Slurm: a group below, or one between it and the root, has the limit. */
static void test_available_of_groups_above(void **state)
{
    (void) state;
    put("proc/self/cgroup", "0::/job/step/task\n");
    put("sys/fs/cgroup/job/step/task/memory.max", "max\n");
    put("sys/fs/cgroup/job/step/memory.max", "20971520\n");
    put("sys/fs/cgroup/job/step/memory.current", "10485760\n");
    put("sys/fs/cgroup/job/memory.max", "104857600\n");
    put("sys/fs/cgroup/job/memory.current", "10485760\n");
    assert_int_equal(dnet_available(root, ALL), MB(10));
    put("sys/fs/cgroup/job/memory.current", "103809024\n");
    assert_int_equal(dnet_available(root, ALL), MB(1));
    put("sys/fs/cgroup/job/step/task/memory.max", "4096\n");
    put("sys/fs/cgroup/job/step/task/memory.current", "8192\n"); /* the limit has been lowered */
    assert_int_equal(dnet_available(root, ALL), 0);
}

/* The tree of the host's names, and the folders of the container alone. */
static void test_available_path_of_another_tree(void **state)
{
    (void) state;
    put("sys/fs/cgroup/memory.max", "20971520\n");
    put("sys/fs/cgroup/memory.current", "10485760\n");
    put("proc/self/cgroup", "0::/docker/0123\n");
    assert_int_equal(dnet_available(root, ALL), MB(10));
    put("proc/self/cgroup", "0::/../../elsewhere\n");
    assert_int_equal(dnet_available(root, ALL), MB(10));
}

static void test_available_of_version_1(void **state)
{
    (void) state;
    put("proc/self/cgroup", "12:cpu,cpuacct:/a\n7:memory:/slurm/job_1\n1:name=systemd:/b\n0::/c\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "9999999999\n");
    put("sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes", "104857600\n");
    put("sys/fs/cgroup/memory/slurm/job_1/memory.usage_in_bytes", "94371840\n");
    put("sys/fs/cgroup/memory/slurm/job_1/memory.stat",
        "inactive_file 1\nactive_file 2\ntotal_inactive_file 10485760\n"
        "total_active_file 20971520\n");
    assert_int_equal(dnet_available(root, ALL), MB(40));
    assert_int_equal(dnet_available(root, MB(10)), MB(10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_available_of_the_machine, begin, end),
        cmocka_unit_test_setup_teardown(test_available_of_a_container, begin, end),
        cmocka_unit_test_setup_teardown(test_available_files_count_as_free, begin, end),
        cmocka_unit_test_setup_teardown(test_available_of_groups_above, begin, end),
        cmocka_unit_test_setup_teardown(test_available_path_of_another_tree, begin, end),
        cmocka_unit_test_setup_teardown(test_available_of_version_1, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
