/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs of several processes: joining, refusing to join, copying between address spaces, sleeping
 * and waking, processes that are killed at any moment.
 */
#include "tests/device/children.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "emulator/swif/swif.h"

static double now_s(void)
{
    return (double) dnet_clock_ns() / 1e9;
}

/* ---- joining ---- */

static void join_and_answer(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    CHECK(dnet_emu_attach(&shared->at[0], &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 0, false, &d) == DNET_ERR_STATE); /* the parent has it */
    CHECK(dnet_emu_open(nic, 1, false, &d) == DNET_OK);
    CHECK(d->sreg_store == NULL);
    send_lhs(d, 1, 0, 77);
    dnet_emu_detach(nic);
    (void) c;
}

/* Two processes share a NIC: WID 0 and WID 1. */
static void processes_share_a_nic(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(1, c->profile, &nic), *other;
    pid_t child;

    share();
    dnet_emu_locate(nic, &shared->at[0]);
    child = child_of(join_and_answer, c);
    join_child(child);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 64);
    CHECK_EQUAL(*(const uint64_t *) (const void *) d->lh[0].data, 77);
    CHECK(d->ops->peer_lost(d, 1, 1)); /* it has ended without closing */
    CHECK(!d->ops->peer_lost(d, 1, 0));
    CHECK(dnet_emu_open(nic, 1, true, &other) == DNET_OK); /* its WID is free again */
    CHECK(!d->ops->peer_lost(d, 1, 1));
}

/* Carries nothing; counts the packets of this process. */
static unsigned own_wid, own_packets;

static dnet_emu_result_t count_own(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    (void) via;
    (void) dlid;
    CHECK_EQUAL(DNET_GET(packet->header[0], PK_SWID), own_wid);
    own_packets++;
    return DNET_EMU_DELIVERED;
}

#define KICKS 100000u

static void send_own(dnet_emu_nic_t *nic, dnet_device_t *d)
{
    static const dnet_emu_swif_ops_t counting = {.send = count_own};

    own_wid = d->wid;
    nic->swif = &counting;
    for (unsigned i = 1; i <= KICKS; i++) {
        send_lhs(d, 2, 0, i);
        CHECK_EQUAL(own_packets, i);
    }
}

static void send_by_the_other(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    (void) c;
    CHECK(dnet_emu_attach(&shared->at[0], &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 1, false, &d) == DNET_OK);
    reach(1);
    send_own(nic, d);
}

/* The prototype's two processes share an executor; what goes to another host must leave by the port
 * of the process whose request it is. */
static void packets_leave_by_their_process(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(1, c->profile, &nic);
    pid_t child;

    share();
    dnet_emu_locate(nic, &shared->at[0]);
    child = child_of(send_by_the_other, c);
    await(1);
    send_own(nic, d);
    join_child(child);
}

/* [nic 2] [X.4] A segment's mode is 0600, it does not shrink, and descriptors do not pass through
 * exec. */
static void segment_is_private_and_sealed(cluster_t *c)
{
    dnet_emu_locator_t at;
    struct stat st;

    dnet_emu_locate(c->nic[0], &at);
    CHECK(fstat(at.fd, &st) == 0);
    CHECK_EQUAL(st.st_mode & 0777, 0600);
    CHECK(ftruncate(at.fd, 4096) != 0);
    CHECK(fcntl(at.fd, F_GETFD) & FD_CLOEXEC);
    CHECK(st.st_blocks * 512 < 2 << 20); /* SO-DIMM memory is not there before it is used */
}

static void wait_to_be_killed(cluster_t *c)
{
    (void) c;
    reach(1);
    for (;;)
        pause();
}

/* What cannot be joined, and why. */
static void joining_refused(cluster_t *c)
{
    dnet_emu_locator_t good, at;
    dnet_emu_nic_t *nic;
    pid_t child;
    int file = memfd_create("other", MFD_CLOEXEC);
    const off_t version_at = offsetof(dnet_emu_header_t, version);
    uint32_t version = DNET_EMU_VERSION + 1;

    share();
    dnet_emu_locate(c->nic[0], &good);
    CHECK(pwrite(c->nic[0]->fd, &version, sizeof version, version_at) == sizeof version);
    CHECK(dnet_emu_attach(&good, &nic) == DNET_ERR_FORMAT); /* of another library */
    version = DNET_EMU_VERSION;
    CHECK(pwrite(c->nic[0]->fd, &version, sizeof version, version_at) == sizeof version);
    at = good;
    at.id++;
    CHECK(dnet_emu_attach(&at, &nic) == DNET_ERR_FORMAT);
    at = good;
    at.fd = file;
    CHECK(dnet_emu_attach(&at, &nic) == DNET_ERR_FORMAT);
    CHECK(ftruncate(file, 4096) == 0);
    CHECK(dnet_emu_attach(&at, &nic) == DNET_ERR_FORMAT);
    at.fd = 9999;
    CHECK(dnet_emu_attach(&at, &nic) == DNET_ERR_PEER_DEAD);
    child = child_of(wait_to_be_killed, c);
    await(1);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    at = good;
    at.pid = child;
    CHECK(dnet_emu_attach(&at, &nic) == DNET_ERR_PEER_DEAD);
    /* a packet to it: unreachable */
    at.lid = 50;
    CHECK(dnet_emu_route(c->nic[0], &at) == DNET_OK);
    send_lhs(c->dev[0][0], 50, 0, 1);
    if (c->profile == DNET_PROFILE_EXTENDED)
        CHECK_EQUAL(user_load(c->dev[0][0], DNET_UREG_STOP_REPORT), DNET_REPORT_UNREACHABLE);
    CHECK(c->dev[0][0]->ops->peer_lost(c->dev[0][0], 50, 0));
}

/* ---- apertures between processes ---- */

#define BIG (3u << 20)
#define FAR ((uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(4, AP_SLOT)))
#define NEAR ((uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(1, AP_SLOT)))
/* In the second half. */
#define STORED_AT (BIG / 2 + DNET_APERTURE_UNIT)
#define STORED 70001u

static void aperture_owner(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(2, DNET_PROFILE_EXTENDED, &nic);
    uint8_t *memory = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void) c;
    CHECK(memory != MAP_FAILED);
    for (uint32_t i = 0; i < BIG; i++)
        memory[i] = (uint8_t) (i * 11 + i / 777);
    dnet_reg_store_quiet(d, DNET_UREG_APERTURE_ADDRESS, (uintptr_t) memory);
    user_store(d, DNET_UREG_APERTURE_LENGTH, DNET_PUT(BIG, APL_LENGTH) | DNET_PUT(4, APL_SLOT));
    user_store(d, DNET_UREG_STATUS_AREA_SIZE, 1); /* of four, one of which stays free */
    user_store(d, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    user_store(d, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    dnet_emu_locate(nic, &shared->at[1]);
    reach(1);
    await(2); /* the parent has stored 0xd7 to one place, with receive status */
    for (uint32_t i = 0; i < BIG; i++)
        CHECK_EQUAL(memory[i],
                    i >= STORED_AT && i < STORED_AT + STORED ? 0xd7 : (uint8_t) (i * 11 + i / 777));
    CHECK_EQUAL(user_load(d, DNET_UREG_STATUS_NEXT_WRITE), 3 * DNET_STATUS_BYTES);
    CHECK_EQUAL(llcm_word(d, 0), (uint64_t) STORED << 32 | 1u << 30 | 1u << 18 |
                                     DNET_PUT(3, RQ_DTYPE) | DNET_PRIM_RVS);
    CHECK_EQUAL(llcm_word(d, 8), FAR + STORED_AT / DNET_APERTURE_UNIT);
    CHECK_EQUAL(user_load(d, DNET_UREG_PACKET_COUNTER), 2); /* not those that were at once */
    user_store(d, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    reach(3);
    await(4); /* its RVL and its RVS have been stopped */
    CHECK_EQUAL(memory[0], 0);
    user_store(d, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    reach(5);
    await(6); /* the parent has written 0xd7 over the second half */
    for (uint32_t i = 0; i < BIG; i++)
        CHECK_EQUAL(memory[i], i >= BIG / 2 + 8 ? 0xd7 : (uint8_t) (i * 11 + i / 777));
    munmap(memory, BIG);
    reach(7);
    await(8);
}

/* Parts, from places that are multiples of the address's unit; what lies behind the end; a status;
 * and a process that lets nothing in. */
static void parts_between_processes(dnet_device_t *d, uint8_t *memory)
{
    uint64_t packets = user_load(d, DNET_UREG_PACKET_COUNTER);
    request_t part = {
        .type = DNET_PRIM_RVL, .size = 1000, .src = FAR + 100, .dst = NEAR + 3, .dclid = 2};

    memset(memory, 0xee, BIG);
    issue(d, &part);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), 1000ull << 32 | DNET_REPORT_DELIVERED);
    for (uint32_t i = 0; i < 4096; i++) {
        uint32_t at = 100 * DNET_APERTURE_UNIT + i - 3 * DNET_APERTURE_UNIT;
        bool here = i >= 3 * DNET_APERTURE_UNIT && i < 3 * DNET_APERTURE_UNIT + 1000;

        CHECK_EQUAL(memory[i], here ? (uint8_t) (at * 11 + at / 777) : 0xee);
    }
    CHECK_EQUAL(user_load(d, DNET_UREG_PACKET_COUNTER), packets); /* no packets */
    part.src = FAR + BIG / DNET_APERTURE_UNIT - 1;
    issue(d, &part);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT),
                (uint64_t) DNET_APERTURE_UNIT << 32 | DNET_REPORT_DELIVERED);
    part.src = FAR;
    user_store(d, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED); /* the reply finds no room */
    issue(d, &part);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_STOPPED);
    user_store(d, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    part = (request_t){.type = DNET_PRIM_RVS,
                       .dtype = 3,
                       .size = STORED,
                       .src = NEAR,
                       .dst = FAR + STORED_AT / DNET_APERTURE_UNIT,
                       .dclid = 2,
                       .eflag = true};
    memset(memory, 0xd7, BIG);
    for (unsigned i = 0; i < 3; i++) {
        issue(d, &part);
        CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT),
                    (uint64_t) STORED << 32 | DNET_REPORT_DELIVERED);
    }
    issue(d, &part); /* the status ring is full */
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_STOPPED);
    reach(2);
    await(3);
    part.dst = FAR;
    part.eflag = false;
    issue(d, &part);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_STOPPED);
    part.type = DNET_PRIM_RVL;
    part.src = FAR;
    part.dst = NEAR;
    issue(d, &part);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_STOPPED);
    CHECK_EQUAL(memory[0], 0xd7);
    reach(4);
    await(5);
}

/* [X.5] RVL and RVS between user memory of two processes. */
static void apertures_between_processes(cluster_t *c)
{
    dnet_device_t *d;
    dnet_emu_nic_t *nic;
    uint8_t *memory = malloc(BIG);
    pid_t child;

    share();
    d = nic_up(1, DNET_PROFILE_EXTENDED, &nic);
    child = child_of(aperture_owner, c);
    await(1);
    CHECK(dnet_emu_route(nic, &shared->at[1]) == DNET_OK);
    if (!d->ops->can_copy(d, 2, 0)) {
        puts("process_vm_readv is not allowed here: copies between processes are not tested");
        kill(child, SIGKILL);
        return;
    }
    dnet_reg_store_quiet(d, DNET_UREG_APERTURE_ADDRESS, (uintptr_t) memory);
    user_store(d, DNET_UREG_APERTURE_LENGTH, DNET_PUT(BIG, APL_LENGTH) | DNET_PUT(1, APL_SLOT));
    issue(d, &(request_t){.type = DNET_PRIM_RVL, .size = BIG, .src = FAR, .dst = NEAR, .dclid = 2});
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), (uint64_t) BIG << 32 | DNET_REPORT_DELIVERED);
    for (uint32_t i = 0; i < BIG; i++)
        CHECK_EQUAL(memory[i], (uint8_t) (i * 11 + i / 777));
    parts_between_processes(d, memory);
    /* RVS into the second half, from places that are no multiple of the address's unit */
    memset(memory, 0xd7, BIG);
    shared->word[0] = 0;
    for (uint32_t at = BIG / 2 + 8; at < BIG;) {
        uint32_t n = BIG - at < 480 ? BIG - at : 480;

        botf(d, 0,
             &(header_t){.type = DNET_PRIM_RVS,
                         .dlid = 2,
                         .hflag = true,
                         .line2 = DNET_PUT(FAR + at / DNET_APERTURE_UNIT, PK_DST),
                         .line3 =
                             DNET_PUT(at % DNET_APERTURE_UNIT, PK_LIST) | DNET_PUT(n, PK_TOTAL)},
             memory, n);
        CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_DELIVERED);
        at += n;
    }
    reach(6);
    await(7);
    /* the memory is gone: a clear answer, no signal */
    issue(d, &(request_t){.type = DNET_PRIM_RVL, .size = BIG, .src = FAR, .dst = NEAR, .dclid = 2});
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_UNREACHABLE);
    reach(8);
    join_child(child);
    issue(d, &(request_t){.type = DNET_PRIM_RVL, .size = 8, .src = FAR, .dst = NEAR, .dclid = 2});
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_UNREACHABLE);
    CHECK(!d->ops->can_copy(d, 2, 0));
    free(memory);
}

/* ---- sleeping ---- */

typedef struct {
    dnet_device_t *d;
    uint32_t position;
    uint64_t expected;
} receiver_t;

static bool nothing_yet(void *arg)
{
    receiver_t *r = arg;

    return DNET_GET(atomic_load((const _Atomic uint64_t *) &r->d->lh[r->position].envelope),
                    LH_VALID) != r->expected;
}

/* Wait asleep for the next entry.  A lost wake-up would show as a sleep of the full five seconds.
 */
static void sleep_for_entry(receiver_t *r)
{
    while (nothing_yet(r)) {
        double start = now_s();

        r->d->ops->sleep(r->d, 5000000, nothing_yet, r);
        CHECK(now_s() - start < 4.0);
    }
    if (++r->position == r->d->geometry.lh_entries) {
        r->position = 0;
        r->expected ^= 1;
    }
    dnet_reg_store_quiet(r->d, DNET_UREG_LH_NEXT_READ, (uint64_t) r->position * 64);
}

#define ROUNDS 20000u

static void sleeping_peer(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    receiver_t r = {.expected = 1};

    r.d = nic_up(2, c->profile, &nic);
    dnet_emu_locate(nic, &shared->at[1]);
    CHECK(dnet_emu_route(nic, &shared->at[0]) == DNET_OK);
    reach(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        sleep_for_entry(&r);
        send_lhs(r.d, 1, 0, i);
    }
}

/* A ping-pong in which both sides sleep for every message: no wake-up is lost. */
static void no_wake_up_is_lost(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    receiver_t r = {.expected = 1};
    pid_t child;

    share();
    r.d = nic_up(1, c->profile, &nic);
    dnet_emu_locate(nic, &shared->at[0]);
    child = child_of(sleeping_peer, c);
    await(1);
    CHECK(dnet_emu_route(nic, &shared->at[1]) == DNET_OK);
    for (unsigned i = 0; i < ROUNDS; i++) {
        send_lhs(r.d, 2, 0, i);
        sleep_for_entry(&r);
    }
    join_child(child);
}

static bool always(void *arg)
{
    (void) arg;
    return true;
}

static bool never(void *arg)
{
    (void) arg;
    return false;
}

/* The timeout ends a sleep; a callback that finds work skips it. */
static void sleep_ends(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    double start = now_s();

    d->ops->sleep(d, 20000000, never, NULL);
    CHECK(now_s() - start < 10.0);
    d->ops->sleep(d, 1000, always, NULL);
    CHECK(now_s() - start < 10.0);
}

static void yielding_peer(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    receiver_t r = {.expected = 1};

    r.d = nic_up(2, c->profile, &nic);
    dnet_emu_locate(nic, &shared->at[1]);
    reach(1);
    r.d->ops->yield(r.d, UINT32_MAX, nothing_yet, &r);
    CHECK(!nothing_yet(&r));
}

/* What arrives ends a yield of hours, and so do its number and a callback that finds work. */
static void yield_ends(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    double start = now_s();
    dnet_emu_nic_t *nic;
    pid_t child;

    d->ops->yield(d, UINT32_MAX, never, NULL);
    d->ops->yield(d, 8, always, NULL);
    share();
    d = nic_up(1, c->profile, &nic);
    dnet_emu_locate(nic, &shared->at[0]);
    child = child_of(yielding_peer, c);
    await(1);
    CHECK(dnet_emu_route(nic, &shared->at[1]) == DNET_OK);
    usleep(20000);
    send_lhs(d, 2, 0, 1);
    join_child(child);
    CHECK(now_s() - start < 10.0);
}

/* ---- processes that are killed ---- */

static void hammer(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(2, c->profile, &nic);

    CHECK(dnet_emu_route(nic, &shared->at[0]) == DNET_OK);
    reach(1);
    for (unsigned i = 0;; i++) {
        send_lhs(d, 1, 0, 1);
        issue(d, &(request_t){.type = DNET_PRIM_IPUSH, .size = 512, .dclid = 1, .eflag = true});
    }
}

/* A sender is killed at any moment, also while it holds the receiver's side: others go on. */
static void sender_killed_at_any_moment(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *from = c->dev[1][0];
    uint32_t position;

    share();
    dnet_emu_locate(c->nic[0], &shared->at[0]);
    for (unsigned n = 0; n < 2; n++)
        system_store(c->dev[n][0], DNET_SREG_PGID0, 0);
    user_store(d, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    ring_set(c, 0, 0, 1, 0, 2048, 0x10000, 1);
    for (unsigned k = 0; k < 40; k++) {
        pid_t child;
        struct timespec pause = {0, 100000 + 37000 * (long) k};
        double end;

        reach(0);
        child = child_of(hammer, c);
        await(1);
        end = now_s() + (double) pause.tv_nsec / 1e9;
        while (now_s() < end) { /* the receiver reads all the while */
            dnet_reg_store_quiet(d, DNET_UREG_LH_NEXT_READ, user_load(d, DNET_UREG_LH_NEXT_WRITE));
            dnet_reg_store_quiet(d, DNET_UREG_STATUS_NEXT_READ,
                                 user_load(d, DNET_UREG_STATUS_NEXT_WRITE));
        }
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        dnet_reg_store_quiet(d, DNET_UREG_LH_NEXT_READ, user_load(d, DNET_UREG_LH_NEXT_WRITE));
        send_lhs(from, 1, 0, k);
        /* behind what the dead sender has left, which its successor counts */
        position = (uint32_t) ((user_load(d, DNET_UREG_LH_NEXT_WRITE) - 64) %
                               (d->geometry.lh_entries * 64));
        CHECK_EQUAL(*(const uint64_t *) (const void *) d->lh[position / 64].data, k);
    }
}

/* ---- what a peer costs ---- */

#define PEERS 128u

static uint64_t page_tables_kb(void)
{
    unsigned long long kb = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "re");

    CHECK(file);
    while (kb == 0 && fgets(line, sizeof line, file))
        (void) sscanf(line, "VmPTE: %llu kB", &kb);
    fclose(file);
    return kb;
}

/* [X.4] A mapped peer costs less than 1 KB of page tables, when short and long messages go to it.
 */
static void peers_need_few_page_tables(cluster_t *c)
{
    static dnet_emu_nic_t *nic[PEERS];
    dnet_device_t *from = c->dev[0][0], *d;
    uint8_t data[200] = {0};
    uint64_t before;

    for (unsigned i = 0; i < PEERS; i++) {
        dnet_emu_locator_t at;

        d = nic_up((uint16_t) (i + 16), c->profile, &nic[i]);
        system_store(d, DNET_SREG_PGID0, 7);
        user_store(d, DNET_UREG_IPUSH_AREA_SIZE, 16);
        llcm_store(d, 0, 0);
        CHECK(d->ops->reserve(d, 0, 65536) == DNET_OK);
        dnet_emu_locate(nic[i], &at);
        CHECK(dnet_emu_route(c->nic[0], &at) == DNET_OK);
    }
    before = page_tables_kb();
    for (unsigned i = 0; i < PEERS; i++) {
        header_t h = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = i + 16};

        botf(from, 0, &h, data, 16);
        botf(from, 0, &h, data, sizeof data);
        CHECK_EQUAL(counter(from, 0), 2 * (i + 1));
    }
    printf("     page tables: %llu KB for %u peers\n",
           (unsigned long long) (page_tables_kb() - before), PEERS);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow has page tables too */
    CHECK(page_tables_kb() - before < PEERS);
#endif
}

/* May this process write to its page at that address?  False also: nothing is mapped there. */
static bool writable(const void *at)
{
    unsigned long long from, to;
    char line[512], rights[5];
    bool may = false;
    FILE *file = fopen("/proc/self/maps", "re");

    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%llx-%llx %4s", &from, &to, rights) == 3 && from <= (uintptr_t) at &&
            (uintptr_t) at < to)
            may = rights[1] == 'w';
    fclose(file);
    return may;
}

/* [nic 2] [X.4] Of a peer's NIC a process may write what a delivery writes, and nothing else (the
 * table of docs/nic.md 2.2). */
static void peers_write_what_they_deliver(cluster_t *c)
{
    bool extended = c->profile == DNET_PROFILE_EXTENDED;
    const dnet_emu_nic_t *peer;

    send_lhs(c->dev[0][0], 2, 0, 1);
    peer = dnet_emu_swif_peer(c->nic[0], 2);
    CHECK(peer && peer != c->nic[1]);
    CHECK(!writable(peer->header));
    CHECK(!writable(peer->sreg_store));
    CHECK(!writable(peer->sreg_load));
    CHECK(!writable(peer->state->amt_address));
    CHECK(!writable(&peer->state->amt_address[1][DNET_EMU_AMT_ENTRIES - 1]));
    CHECK(writable(peer->state->event));
    for (unsigned w = 0; w < 2; w++) {
        const dnet_emu_areas_t *a = &peer->area[w];

        CHECK(writable(&a->state->rc_holder));
        CHECK(writable((const void *) &a->state->sleeping));
        CHECK(!extended || !writable(&a->state->owner));
        CHECK(!extended || !writable(a->state->aperture));
        CHECK(!extended || !writable(&a->state->aperture[DNET_EMU_APERTURES - 1]));
        CHECK(writable(a->state->committed));
        CHECK(writable(&a->state->reserved[DNET_EMU_LH_ENTRIES - 1]));
        CHECK(!writable(a->ureg_store));
        CHECK(writable(a->ureg_load));
        CHECK(!writable(a->ww));
        CHECK(writable(a->pw));
        CHECK(writable(a->llcm));
        CHECK(writable(a->lh));
        CHECK(!extended || writable(a->flow));
        CHECK(!writable(a->sodimm + (1 << 20))); /* not reached yet */
    }
}

/* ---- fault points ---- */

typedef struct {
    uint32_t step;
    bool stop;
} fault_t;
static fault_t fault;

/* Two messages; what is told happens to the second. */
static void send_with_fault(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(2, c->profile, &nic);

    CHECK(dnet_emu_route(nic, &shared->at[0]) == DNET_OK);
    CHECK(dnet_emu_fault_point_set(nic, 2, fault.step, fault.stop) == DNET_OK);
    send_lhs(d, 1, 0, 1);
    send_lhs(d, 1, 0, 2);
    dnet_emu_detach(nic);
}

/* A fault point kills, or stops, in the packet that is meant and in no other; one behind the end of
 * the packet does nothing. */
static void fault_points_kill_and_stop(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    int status;
    pid_t child;

#ifndef __x86_64__
    return;
#endif
    share();
    dnet_emu_locate(c->nic[0], &shared->at[0]);
    system_store(d, DNET_SREG_PGID0, 0);
    fault = (fault_t){.step = 1};
    child = child_of(send_with_fault, c);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 64);
    fault = (fault_t){.step = 1000000};
    join_child(child_of(send_with_fault, c));
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 3 * 64);
    fault = (fault_t){.step = 1, .stop = true};
    child = child_of(send_with_fault, c);
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 4 * 64);
    kill(child, SIGCONT);
    join_child(child);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 5 * 64);
}

/* ---- two that wait for each other ---- */

/* A thread that has until now not come back from the NIC. */
typedef struct {
    dnet_device_t *dev;
    _Atomic bool back;
} caller_t;

static void begin(pthread_t *thread, void *(*run)(void *), caller_t *caller)
{
    CHECK(pthread_create(thread, NULL, run, caller) == 0);
    usleep(50000);
    CHECK(!atomic_load(&caller->back));
}

static void end(pthread_t thread, const caller_t *caller)
{
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(atomic_load(&caller->back));
}

static void *reset_controller(void *arg)
{
    caller_t *caller = arg;

    system_store(caller->dev, DNET_SREG_CONTROLLER_RESET, 1);
    atomic_store(&caller->back, true);
    return NULL;
}

/* Another process has the Window Controller, and may wait for a receive side of this NIC: a reset
 * holds none while it waits for that one. */
static void reset_waits_with_nothing_held(cluster_t *c)
{
    caller_t caller = {.dev = c->dev[0][0]};
    _Atomic uint32_t *holder = &c->nic[0]->area[0].wc->holder;
    pthread_t thread;

    atomic_store(holder, (uint32_t) getpid());
    begin(&thread, reset_controller, &caller);
    for (unsigned w = 0; w < 2; w++)
        CHECK_EQUAL(atomic_load(&c->nic[0]->area[w].state->rc_holder), 0);
    atomic_store(holder, 0);
    end(thread, &caller);
}

static void *fetch(void *arg)
{
    caller_t *caller = arg;

    issue(caller->dev, &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dwid = 1, .dclid = 2});
    atomic_store(&caller->back, true);
    return NULL;
}

/* One FIFO for the RVLs to both WIDs: who puts one in for WID 1 waits for who does for WID 0. */
static void one_at_a_time_asks_a_node(cluster_t *c)
{
    caller_t caller = {.dev = c->dev[0][0]};
    _Atomic uint32_t *holder = &c->nic[1]->area[0].state->rc_holder;
    pthread_t thread;

    atomic_store(holder, (uint32_t) getpid());
    begin(&thread, fetch, &caller);
    CHECK_EQUAL(atomic_load(&c->nic[1]->area[0].wc->rc.tail), 0);
    atomic_store(holder, 0);
    end(thread, &caller);
    CHECK_EQUAL(atomic_load(&c->nic[1]->area[0].wc->rc.tail), 1);
}

static const board_test_t tests[] = {
    TEST(processes_share_a_nic, BOTH),
    TEST(packets_leave_by_their_process, PROTOTYPE),
    TEST(segment_is_private_and_sealed, BOTH),
    TEST(joining_refused, BOTH),
    TEST(apertures_between_processes, EXTENDED),
    TEST(no_wake_up_is_lost, BOTH),
    TEST(sleep_ends, BOTH),
    TEST(yield_ends, BOTH),
    TEST(sender_killed_at_any_moment, BOTH),
    TEST(fault_points_kill_and_stop, BOTH),
    TEST(peers_need_few_page_tables, BOTH),
    TEST(peers_write_what_they_deliver, BOTH),
    TEST(reset_waits_with_nothing_held, PROTOTYPE),
    TEST(one_at_a_time_asks_a_node, PROTOTYPE),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
