/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DIMMNET_PCAP: over the files of all ranks every packet is there exactly once and as it was sent;
 * what cannot be written is refused or given up with one line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "tests/endpoint/job.h"
#include "emulator/core_logic.h"
#include "endpoint/ep.h"

enum { LARGE = 300001, PLACES = 4 };

static char folder[] = "/tmp/dimmnet-capture-XXXXXX";
/* Packet Counter registers at the end, by rank. */
static uint64_t *received;

static char *path_of(const char *name)
{
    static char path[PLACES][128];
    static unsigned place;
    char *p = path[place++ % PLACES];
    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

static uint8_t byte_of(size_t i)
{
    return (uint8_t) (i * 7 + i / 251);
}

/* Every way to travel, both ways at once, then all is quiet. */
static int exchange(dnet_job_rank_t *job, void *arg)
{
    static const size_t sizes[] = {0, 8, 48, 300, 3000, 8000, LARGE};
    uint8_t *out = malloc(LARGE), *in = malloc(LARGE);
    int bad = 0;
    (void) arg;
    for (size_t i = 0; i < LARGE; i++)
        out[i] = byte_of(i);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !bad; i++) {
        uint64_t envelope = dnet_ep_envelope(5, 0, i);
        if (job->rank == 0) {
            bad = dnet_job_send(job, 1, envelope, out, sizes[i], i == 3) != 0 ||
                  dnet_job_recv(job, envelope, DNET_MATCH_BITS, in, LARGE) != (long) sizes[i];
        } else {
            bad = dnet_job_recv(job, envelope, DNET_MATCH_BITS, in, LARGE) != (long) sizes[i] ||
                  dnet_job_send(job, 0, envelope, out, sizes[i], false) != 0;
        }
    }
    for (bool did; dnet_ep_busy(job->ep);)
        dnet_ep_progress(job->ep, &did);
    dnet_job_barrier(job);
    received[job->rank] = dnet_reg_load(job->ep->dev, DNET_UREG_PACKET_COUNTER);
    free(out);
    free(in);
    return bad;
}

static void run_exchange(const char *profile, const char *rendezvous, const char *file)
{
    setenv("DIMMNET_PROFILE", profile, 1);
    setenv("DIMMNET_RENDEZVOUS", rendezvous, 1);
    setenv("DIMMNET_PCAP", file, 1);
    assert_int_equal(dnet_job_run(2, 60, exchange, NULL), 0);
}

static bool delivered(const capture_packet_t *p)
{
    return DNET_GET(p->beside, CAP_RESULT) <= DNET_EMU_SERVE ||
           DNET_GET(p->beside, CAP_RESULT) == DNET_EMU_ANSWERED;
}

/* Bytes of the large message of one sender that a packet shows where they belong. */
static size_t large_bytes(const capture_packet_t *p, uint8_t *seen)
{
    uint64_t at = DNET_GET(DNET_GET(p->header[1], PK_DST), AP_OFFSET) * DNET_APERTURE_UNIT +
                  DNET_GET(p->header[2], PK_LIST);
    size_t fresh = 0;
    for (uint32_t i = 0; i < p->kept && at + i < LARGE; i++)
        if (p->data[i] == byte_of(at + i) && !seen[at + i]++)
            fresh++;
    return fresh;
}

static bool is_rvs(const capture_packet_t *p, bool reply)
{
    return DNET_GET(p->header[0], PK_TYPE) == DNET_PRIM_RVS && !DNET_GET(p->header[0], PK_LFLAG) &&
           (DNET_GET(p->beside, CAP_REPLY) != 0) == reply;
}

/* All ranks' packets against what the receiving NICs have counted. */
static void assert_each_packet_once(const capture_t *files)
{
    uint64_t count[2] = {0, 0};
    for (unsigned r = 0; r < 2; r++) {
        char name[16];
        snprintf(name, sizeof(name), "rank %u", r);
        assert_string_equal(files[r].interface, name);
        for (unsigned i = 0; i < files[r].count; i++) {
            const capture_packet_t *p = &files[r].packet[i];
            if (delivered(p))
                count[DNET_GET(p->header[0], PK_DWID)]++;
            assert_true(i == 0 || p->time_ns >= p[-1].time_ns);
            /* both ranks share a NIC, so its LID is every packet's */
            assert_int_equal(p->inbound, 0);
            assert_int_equal(p->kept, p->data_bytes);
        }
    }
    assert_int_equal(count[0], received[0]);
    assert_int_equal(count[1], received[1]);
}

/* The next of both ranks' packets in the order of time: on a prototype, where both share the Window
 * Controller, either may write what the other has issued. */
static const capture_packet_t *next_of_both(const capture_t *files, unsigned *at)
{
    unsigned from =
        at[0] == files[0].count ||
        (at[1] < files[1].count && files[1].packet[at[1]].time_ns < files[0].packet[at[0]].time_ns);
    return at[from] < files[from].count ? &files[from].packet[at[from]++] : NULL;
}

/* The packets of a contiguous RVS into a rank's SO-DIMM follow one another without a gap. */
static void assert_rvs_without_gaps(const capture_t *files, unsigned to)
{
    unsigned at[2] = {0, 0};
    uint64_t done = 0; /* bytes of the primitive */
    for (const capture_packet_t *p; (p = next_of_both(files, at));) {
        uint64_t total =
            DNET_GET(p->header[0], PK_HFLAG) ? DNET_GET(p->header[2], PK_TOTAL) : p->data_bytes;
        uint64_t dst = DNET_GET(p->header[1], PK_DST);
        if (DNET_GET(p->header[0], PK_TYPE) != DNET_PRIM_RVS || DNET_GET(p->header[0], PK_LFLAG) ||
            DNET_GET(p->header[0], PK_DWID) != to || dst & DNET_MASK(AP_FLAG))
            continue;
        assert_int_equal(dst, DNET_GET(p->header[1], PK_SRC) + done);
        done += p->data_bytes;
        assert_true(done <= total);
        done = done == total ? 0 : done;
    }
}

static void check_exchange(const char *profile, const char *rendezvous)
{
    capture_t files[2];
    run_exchange(profile, rendezvous, path_of("run.pcapng"));
    assert_true(capture_read(path_of("run.0.pcapng"), &files[0]));
    assert_true(capture_read(path_of("run.1.pcapng"), &files[1]));
    assert_each_packet_once(files);
    assert_rvs_without_gaps(files, 0);
    assert_rvs_without_gaps(files, 1);

    /* The large message of rank 0: what it has stored itself lies where it belongs, and one packet
     * ends it; the rest has come to rank 1 as replies to RVL. */
    uint8_t *seen = calloc(1, LARGE);
    size_t stored = 0, shown = 0, fetched = 0;
    unsigned ends = 0, at[2] = {0, 0};
    for (const capture_packet_t *p; (p = next_of_both(files, at));) {
        if (DNET_GET(p->header[0], PK_DWID) != 1)
            continue;
        if (is_rvs(p, true))
            fetched += p->data_bytes;
        if (!is_rvs(p, false))
            continue;
        stored += p->data_bytes;
        shown += large_bytes(p, seen);
        ends += DNET_GET(p->header[0], PK_EFLAG);
    }
    assert_int_equal(stored + fetched, LARGE);
    assert_int_equal(ends, stored != 0);
    if (strcmp(rendezvous, "staged") != 0)
        assert_int_equal(shown, stored);
    free(seen);
    capture_free(&files[0]);
    capture_free(&files[1]);
}

static void test_capture_holds_each_packet_once_direct(void **state)
{
    (void) state;
    check_exchange("extended", "direct");
}

static void test_capture_holds_each_packet_once_staged(void **state)
{
    (void) state;
    check_exchange("extended", "staged");
    check_exchange("prototype", "staged");
}

static void test_capture_without_data_keeps_headers_and_lengths(void **state)
{
    (void) state;
    setenv("DIMMNET_PCAP_BYTES", "0", 1);
    run_exchange("extended", "direct", path_of("head-%r.pcapng"));
    unsetenv("DIMMNET_PCAP_BYTES");
    static const char *const names[] = {"head-0.pcapng", "head-1.pcapng"};
    uint64_t bytes = 0; /* of both: which of them moves a piece of a large message is open */
    for (unsigned r = 0; r < 2; r++) {
        capture_t c;
        assert_true(capture_read(path_of(names[r]), &c));
        for (unsigned i = 0; i < c.count; i++) {
            const capture_packet_t *p = &c.packet[i];
            bool message = DNET_GET(p->header[0], PK_TYPE) == DNET_PRIM_IPUSH &&
                           DNET_GET(p->header[0], PK_LFLAG);
            /* of a message its envelope, and its head if it has one */
            assert_true(message ? p->kept == 8 || p->kept == 32 : p->kept == 0);
            bytes += p->data_bytes;
        }
        capture_free(&c);
    }
    assert_true(bytes > 2 * LARGE);
}

/* Four ranks, two NICs: what a process sends is outbound, replies to its own RVLs are inbound. */
static int fetch_from_afar(dnet_job_rank_t *job, void *arg)
{
    uint8_t *buf = calloc(1, LARGE);
    int bad = 0;
    (void) arg;
    if (job->rank == 0)
        bad = dnet_job_send(job, 2, dnet_ep_envelope(5, 0, 1), buf, LARGE, false);
    if (job->rank == 2)
        bad = dnet_job_recv(job, dnet_ep_envelope(5, 0, 1), DNET_MATCH_BITS, buf, LARGE) != LARGE;
    free(buf);
    return bad;
}

static void test_capture_tells_replies_from_own_packets(void **state)
{
    (void) state;
    setenv("DIMMNET_PROFILE", "extended", 1);
    setenv("DIMMNET_RENDEZVOUS", "direct", 1);
    setenv("DIMMNET_PCAP", path_of("afar.pcapng"), 1);
    setenv("DIMMNET_SPLIT_LIMIT", "1000000000", 1); /* it is fetched whole */
    assert_int_equal(dnet_job_run(4, 60, fetch_from_afar, NULL), 0);
    capture_t c;
    size_t fetched = 0;
    assert_true(capture_read(path_of("afar.2.pcapng"), &c));
    for (unsigned i = 0; i < c.count; i++) {
        const capture_packet_t *p = &c.packet[i];
        assert_int_equal(p->inbound, DNET_GET(p->beside, CAP_REPLY));
        assert_int_equal(DNET_GET(p->beside, CAP_SLID), p->inbound ? 1 : 2);
        if (p->inbound)
            fetched += p->data_bytes;
    }
    setenv("DIMMNET_SPLIT_LIMIT", "8192", 1);
    assert_int_equal(fetched, LARGE);
    capture_free(&c);
}

/* A receiver that stalls takes a packet later: it is written then, and once. */
static void test_capture_waits_for_a_stalled_packet(void **state)
{
    (void) state;
    dnet_emu_config_t config = {.profile = DNET_PROFILE_PROTOTYPE, .lid = 1};
    dnet_emu_capture_t *capture;
    dnet_emu_nic_t *nic;
    dnet_device_t *dev;
    capture_t c;
    uint64_t image[3] = {DNET_PUT(DNET_PRIM_IPUSH, PK_TYPE) | DNET_PUT(1, PK_DLID) |
                         DNET_PUT(1, PK_LFLAG)};
    assert_int_equal(dnet_emu_create(&config, &nic), DNET_OK);
    assert_int_equal(dnet_emu_open(nic, 0, true, &dev), DNET_OK);
    assert_int_equal(dnet_emu_capture_open(path_of("stall"), "me", 4096, &capture), DNET_OK);
    *(uint64_t *) (void *) (dev->sreg_store + DNET_SREG_LID) = 1;
    dnet_emu_capture_set(nic, capture);
    for (unsigned i = 0; i < dev->geometry.lh_entries; i++) {
        memcpy(dev->ww, image, sizeof(image));
        dnet_reg_store(dev, DNET_UREG_COMMAND0_LOWER,
                       DNET_PUT(DNET_PRIM_BOTF, RQ_OTYPE) | DNET_PUT(24, RQ_BOTF_SIZE));
        dev->ops->run(dev);
    }
    assert_true(capture_read(path_of("stall"), &c));
    assert_int_equal(c.count, dev->geometry.lh_entries - 1);
    capture_free(&c);
    dnet_reg_store(dev, DNET_UREG_LH_NEXT_READ, 64);
    dev->ops->run(dev);
    assert_true(capture_read(path_of("stall"), &c));
    assert_int_equal(c.count, dev->geometry.lh_entries);
    capture_free(&c);
    dev->ops->close(dev);
    dnet_emu_detach(nic);
    dnet_emu_capture_close(capture);
}

/* ---- what cannot be written ---- */

static FILE *said; /* stderr of the processes under test */

static void assert_one_line(const char *text)
{
    char line[512] = "";
    unsigned lines = 0, hits = 0;
    rewind(said);
    while (fgets(line, sizeof(line), said)) {
        lines++;
        hits += strstr(line, text) != NULL;
    }
    if (hits != 1 || lines != 1)
        print_message("%u lines, %u with '%s'; the last one: %s\n", lines, hits, text, line);
    assert_int_equal(lines, 1);
    assert_int_equal(hits, 1);
}

/* Status with which an endpoint opens, in a process of its own whose stderr is kept. */
static dnet_status_t open_with(const char *pcap)
{
    setenv("DIMMNET_PCAP", pcap, 1);
    said = tmpfile();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(said), STDERR_FILENO);
        dnet_ep_config_t config = {.rank = 0, .size = 2, .job = 1};
        dnet_ep_t *ep;
        dnet_status_t status = dnet_ep_open(&config, &ep);
        if (status == DNET_OK)
            dnet_ep_close(ep);
        _exit(-status);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    return (dnet_status_t) -WEXITSTATUS(status);
}

static void test_capture_that_cannot_begin_ends_the_job(void **state)
{
    (void) state;
    assert_int_equal(open_with(path_of("none/run.pcapng")), DNET_ERR_SYSTEM);
    assert_one_line("No such file or directory");
    assert_int_equal(mkdir(path_of("folder.0"), 0700), 0);
    assert_int_equal(open_with(path_of("folder.%r")), DNET_ERR_SYSTEM);
    assert_one_line("Is a directory");
    assert_int_equal(mkfifo(path_of("fifo.0"), 0600), 0);
    assert_int_equal(open_with(path_of("fifo.%r")), DNET_ERR_SYSTEM);
    assert_one_line("fifo.0");
    assert_int_equal(open_with(path_of("run-%p.pcapng")), DNET_ERR_FORMAT);
    assert_one_line("has a % that is not %r");
    assert_int_equal(open_with(""), DNET_ERR_FORMAT);
    assert_one_line("names no file");
    char name[5000];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(open_with(name), DNET_ERR_FORMAT);
}

/* Room on the disk that capture files share; a file that passes it is written in part. */
static long room = LONG_MAX;

ssize_t __real_write(int fd, const void *buf, size_t bytes);
ssize_t __wrap_write(int fd, const void *buf, size_t bytes)
{
    if (fd == STDERR_FILENO)
        return __real_write(fd, buf, bytes);
    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }
    size_t n = bytes < (size_t) room ? bytes : (size_t) room;
    ssize_t done = __real_write(fd, buf, n);
    room -= done > 0 ? done : 0;
    return done;
}

/* Rank 0 has little room; what it says is kept. */
static int exchange_with_little_room(dnet_job_rank_t *job, void *arg)
{
    if (job->rank == 0) {
        room = 20000;
        dup2(fileno(said), STDERR_FILENO);
    }
    return exchange(job, arg);
}

static void test_capture_that_cannot_grow_ends_whole_and_the_job_goes_on(void **state)
{
    (void) state;
    capture_t c;
    said = tmpfile();
    setenv("DIMMNET_PROFILE", "extended", 1);
    setenv("DIMMNET_PCAP", path_of("little.pcapng"), 1);
    assert_int_equal(dnet_job_run(2, 60, exchange_with_little_room, NULL), 0);
    assert_one_line("No space left on device");
    assert_true(capture_read(path_of("little.0.pcapng"), &c));
    assert_true(c.count > 3);
    capture_free(&c);
    assert_true(capture_read(path_of("little.1.pcapng"), &c));
    assert_true(c.count > 20);
    capture_free(&c);
    room = 40; /* not even the file's head */
    assert_int_equal(open_with(path_of("full.pcapng")), DNET_ERR_SYSTEM);
    assert_one_line("No space left on device");
    room = LONG_MAX;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture_holds_each_packet_once_direct),
        cmocka_unit_test(test_capture_holds_each_packet_once_staged),
        cmocka_unit_test(test_capture_without_data_keeps_headers_and_lengths),
        cmocka_unit_test(test_capture_tells_replies_from_own_packets),
        cmocka_unit_test(test_capture_waits_for_a_stalled_packet),
        cmocka_unit_test(test_capture_that_cannot_begin_ends_the_job),
        cmocka_unit_test(test_capture_that_cannot_grow_ends_whole_and_the_job_goes_on),
    };
    setenv("DIMMNET_SPLIT_LIMIT", "8192", 1); /* the large message is split */
    received = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_non_null(mkdtemp(folder));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) != 0 || failed;
}
