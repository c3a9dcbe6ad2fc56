/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs seen from outside: found in other processes, mapped so that nothing can be changed, read
 * without committing memory.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dimmnet/emulator.h"

static dnet_emu_nic_t *make(dnet_emu_locator_t *at)
{
    dnet_emu_config_t config = {.profile = DNET_PROFILE_EXTENDED, .lid = 5};
    dnet_emu_nic_t *nic;
    assert_int_equal(dnet_emu_create(&config, &nic), DNET_OK);
    dnet_emu_locate(nic, at);
    return nic;
}

static uint64_t committed(const dnet_emu_locator_t *at)
{
    struct stat st;
    assert_int_equal(fstat(at->fd, &st), 0);
    return (uint64_t) st.st_blocks;
}

typedef struct {
    uint64_t id;
    unsigned times;
    uint16_t lid;
} sought_t;

static void seek(void *arg, const dnet_emu_locator_t *at)
{
    sought_t *s = arg;
    if (at->id != s->id)
        return;
    s->times++;
    s->lid = at->lid;
}

static void test_find_segment_held_twice_visited_twice(void **state)
{
    (void) state;
    dnet_emu_locator_t at;
    dnet_emu_nic_t *nic = make(&at), *again;
    sought_t s = {.id = at.id};
    dnet_emu_find(seek, &s);
    assert_int_equal(s.times, 1);
    assert_int_equal(s.lid, 5);
    assert_int_equal(dnet_emu_attach(&at, &again), DNET_OK);
    s.times = 0;
    dnet_emu_find(seek, &s);
    assert_int_equal(s.times, 2);
    dnet_emu_detach(again);
    dnet_emu_detach(nic);
    s.times = 0;
    dnet_emu_find(seek, &s);
    assert_int_equal(s.times, 0);
}

static void test_watch_by_descriptor_alone_finds_nic(void **state)
{
    (void) state;
    dnet_emu_locator_t at, any;
    dnet_emu_nic_t *nic = make(&at), *watched;
    dnet_emu_description_t is;
    any = (dnet_emu_locator_t){.pid = at.pid, .fd = at.fd};
    assert_int_equal(dnet_emu_watch(&any, &watched), DNET_OK);
    dnet_emu_describe(watched, &is);
    assert_int_equal(is.id, at.id);
    assert_int_equal(is.lid, 5);
    assert_int_equal(is.maker, getpid());
    assert_int_equal(is.profile, DNET_PROFILE_EXTENDED);
    dnet_emu_detach(watched);
    any.id = at.id + 1;
    assert_int_equal(dnet_emu_watch(&any, &watched), DNET_ERR_FORMAT);
    any.id = 0;
    /* Joining wants the right one. */
    assert_int_equal(dnet_emu_attach(&any, &watched), DNET_ERR_FORMAT);
    dnet_emu_detach(nic);
}

static void test_watch_device_claims_nothing(void **state)
{
    (void) state;
    dnet_emu_locator_t at;
    dnet_emu_nic_t *nic = make(&at), *watched;
    dnet_device_t *own, *seen;
    dnet_emu_description_t is;
    assert_int_equal(dnet_emu_open(nic, 1, true, &own), DNET_OK);
    assert_int_equal(dnet_emu_watch(&at, &watched), DNET_OK);
    for (unsigned w = 0; w < 2; w++) {
        assert_int_equal(dnet_emu_open(watched, w, true, &seen), DNET_OK);
        seen->ops->close(seen);
    }
    dnet_emu_describe(watched, &is);
    assert_int_equal(is.process[0], 0);
    assert_int_equal(is.process[1], getpid());
    own->ops->close(own);
    dnet_emu_detach(watched);
    dnet_emu_detach(nic);
}

static void test_watch_store_faults(void **state)
{
    (void) state;
    dnet_emu_locator_t at;
    dnet_emu_nic_t *nic = make(&at), *watched;
    dnet_device_t *seen;
    int status;
    assert_int_equal(dnet_emu_watch(&at, &watched), DNET_OK);
    assert_int_equal(dnet_emu_open(watched, 0, true, &seen), DNET_OK);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        seen->llcm[0] = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(seen->llcm[0], 0);
    /* Nor can the mapping be made writable. */
    assert_int_equal(mprotect(seen->llcm, 4096, PROT_READ | PROT_WRITE), -1);
    seen->ops->close(seen);
    dnet_emu_detach(watched);
    dnet_emu_detach(nic);
}

static void test_peek_reads_what_was_written_and_commits_nothing(void **state)
{
    (void) state;
    dnet_emu_locator_t at;
    dnet_emu_nic_t *nic = make(&at), *watched;
    dnet_device_t *own;
    uint8_t buffer[4096], zero[4096] = {0};
    assert_int_equal(dnet_emu_open(nic, 1, true, &own), DNET_OK);
    assert_int_equal(own->ops->reserve(own, 0x10000, 64), DNET_OK);
    memcpy(own->sodimm + 0x10008, "written", 8);
    uint64_t before = committed(&at);
    assert_int_equal(dnet_emu_watch(&at, &watched), DNET_OK);
    assert_int_equal(dnet_emu_sodimm_peek(watched, 1, 0x10008, buffer, 8), DNET_OK);
    assert_string_equal((char *) buffer, "written");
    for (uint64_t offset = 0x100000; offset < 0x200000; offset += sizeof(buffer)) {
        assert_int_equal(dnet_emu_sodimm_peek(watched, 1, offset, buffer, sizeof(buffer)), DNET_OK);
        assert_memory_equal(buffer, zero, sizeof(zero));
    }
    assert_int_equal(committed(&at), before);
    uint64_t end = own->geometry.sodimm_bytes;
    assert_int_equal(dnet_emu_sodimm_peek(watched, 1, end - 8, buffer, 8), DNET_OK);
    assert_int_equal(dnet_emu_sodimm_peek(watched, 1, end - 8, buffer, 9), DNET_ERR_ARGUMENT);
    assert_int_equal(dnet_emu_sodimm_peek(watched, 1, UINT64_MAX, buffer, 8), DNET_ERR_ARGUMENT);
    assert_int_equal(dnet_emu_sodimm_peek(watched, 2, 0, buffer, 8), DNET_ERR_ARGUMENT);
    own->ops->close(own);
    dnet_emu_detach(watched);
    dnet_emu_detach(nic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_segment_held_twice_visited_twice),
        cmocka_unit_test(test_watch_by_descriptor_alone_finds_nic),
        cmocka_unit_test(test_watch_device_claims_nothing),
        cmocka_unit_test(test_watch_store_faults),
        cmocka_unit_test(test_peek_reads_what_was_written_and_commits_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
