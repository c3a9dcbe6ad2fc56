/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-way time of an 8-byte message by BOTF into an LH entry, between two processes on two
 * processors, beside a bare flag ping-pong between the same two.  Registers and windows only: no
 * library above the NIC takes part.
 *
 *   nic_pingpong [rounds [repeats]]
 *
 * Prints, per repeat and as the median of the repeats, ns one way: flag; two WIDs of one NIC; WIDs
 * of two NICs; and the time the sender spends in issuing one BOTF whose packet is not answered.  A
 * repeat's value is the 10th percentile of batches of 512 rounds, so that other work on the machine
 * shows little.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "dimmnet/emulator.h"

#define REPEATS_MAX 64
#define BATCH 512u
#define BATCHES_MAX 65536u

typedef struct {
    _Alignas(128) _Atomic uint64_t flag[2][16];
    _Alignas(128) _Atomic int ready[2];
    dnet_emu_locator_t at[2];
} shared_t;

static shared_t *shared;

static double now_ns(void)
{
    return (double) dnet_clock_ns();
}

static void pin(int side)
{
    cpu_set_t set, mine;
    int seen = 0;

    sched_getaffinity(0, sizeof mine, &mine);
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mine) && seen++ == side)
            CPU_SET(cpu, &set);
    if (CPU_COUNT(&set))
        sched_setaffinity(0, sizeof set, &set);
}

static void must(dnet_status_t status, const char *what)
{
    if (status != DNET_OK) {
        fprintf(stderr, "%s: %s\n", what, dnet_status_text(status));
        exit(99);
    }
}

static void barrier(int side, int step)
{
    atomic_store(&shared->ready[side], step);
    while (atomic_load(&shared->ready[!side]) < step)
        sched_yield();
}

static double batches[BATCHES_MAX];
static unsigned batch_count;
static double batch_start;

static void batches_start(void)
{
    batch_count = 0;
    batch_start = now_ns();
}

/* Called once a round; the clock is read once a batch. */
static inline void batch_round(unsigned i)
{
    if ((i + 1) % BATCH == 0) {
        double now = now_ns();

        if (batch_count < BATCHES_MAX)
            batches[batch_count++] = (now - batch_start) / BATCH / 2;
        batch_start = now;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return x < y ? -1 : x > y;
}

static double percentile(double *v, unsigned n, unsigned percent)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n * percent / 100];
}

static double flag_pingpong(int side, unsigned rounds, uint64_t base)
{
    batches_start();
    for (uint64_t i = base + 1; i <= base + rounds; i++) {
        if (side == 0)
            atomic_store_explicit(&shared->flag[1][0], i, memory_order_release);
        while (atomic_load_explicit(&shared->flag[side][0], memory_order_acquire) != i)
            dnet_cpu_relax();
        if (side == 1)
            atomic_store_explicit(&shared->flag[0][0], i, memory_order_release);
        batch_round((unsigned) (i - base - 1));
    }
    return percentile(batches, batch_count, 10);
}

typedef struct {
    dnet_device_t *dev;
    uint64_t header;
    uint32_t position; /* of the next LH entry */
    uint64_t expected; /* Valid */
    unsigned window;
} end_t;

static inline void send_one(end_t *e, uint64_t value)
{
    uint64_t *ww = (uint64_t *) (void *) (e->dev->ww + e->window * DNET_WINDOW_BYTES);

    ww[0] = e->header;
    ww[1] = 0;
    ww[2] = value & 0xffffffff;
    ww[3] = value;
    dnet_reg_store(e->dev, DNET_UREG_COMMAND0_LOWER,
                   DNET_PUT(DNET_PRIM_BOTF, RQ_OTYPE) | DNET_PUT(e->window, RQ_BOTF_WW) |
                       DNET_PUT(32, RQ_BOTF_SIZE));
    e->window = (e->window + 1) & 3;
}

static inline void receive_one(end_t *e, uint64_t value)
{
    const dnet_lh_entry_t *entry = &e->dev->lh[e->position];
    uint64_t data;

    while (DNET_GET(atomic_load_explicit((const _Atomic uint64_t *) &entry->envelope,
                                         memory_order_acquire),
                    LH_VALID) != e->expected)
        dnet_cpu_relax();
    memcpy(&data, entry->data, sizeof data);
    if (data != value) {
        fprintf(stderr, "received %llu, expected %llu\n", (unsigned long long) data,
                (unsigned long long) value);
        exit(1);
    }
    if (++e->position == e->dev->geometry.lh_entries) {
        e->position = 0;
        e->expected ^= 1;
    }
    if (e->position % 64 == 0)
        dnet_reg_store_quiet(e->dev, DNET_UREG_LH_NEXT_READ,
                             (uint64_t) e->position * DNET_LH_ENTRY_BYTES);
}

static double nic_pingpong(int side, end_t *e, unsigned rounds)
{
    batches_start();
    for (unsigned i = 0; i < rounds; i++) {
        if (side == 0)
            send_one(e, i);
        receive_one(e, i);
        if (side == 1)
            send_one(e, i);
        batch_round(i);
    }
    return percentile(batches, batch_count, 10);
}

/* Issue time: half fill the ring of a receiver that looks only at the last entry meanwhile. */
static double issue_time(int side, end_t *e, unsigned rounds)
{
    batch_count = 0;
    for (unsigned i = 0; i < rounds; i += BATCH) {
        if (side == 0) {
            double start = now_ns();

            for (unsigned j = 0; j < BATCH; j++)
                send_one(e, j);
            if (batch_count < BATCHES_MAX)
                batches[batch_count++] = (now_ns() - start) / BATCH;
            receive_one(e, i);
        } else {
            while (DNET_GET(atomic_load_explicit(
                                (const _Atomic uint64_t *) &e->dev
                                    ->lh[(e->position + BATCH - 1) % e->dev->geometry.lh_entries]
                                    .envelope,
                                memory_order_acquire),
                            LH_VALID) !=
                   (e->expected ^ (e->position + BATCH - 1 >= e->dev->geometry.lh_entries)))
                dnet_cpu_relax();
            for (unsigned j = 0; j < BATCH; j++)
                receive_one(e, j);
            send_one(e, i);
        }
    }
    return percentile(batches, batch_count, 10);
}

static void bring_up(dnet_device_t *dev)
{
    uint8_t *s = dev->sreg_store;

    *(uint64_t *) (void *) (s + DNET_SREG_LID) =
        *(const uint64_t *) (const void *) (dev->sreg_load + DNET_SREG_SMA_LID) & 0xffff;
    *(uint64_t *) (void *) (s + DNET_SREG_SODIMM_INIT) = 1;
    dev->ops->kick(dev, DNET_SREG_SODIMM_INIT, true);
}

static end_t end_of(dnet_device_t *dev, unsigned dlid, unsigned dwid)
{
    return (end_t){.dev = dev,
                   .expected = 1,
                   .header = DNET_PUT(DNET_PRIM_IPUSH, PK_TYPE) | DNET_PUT(dwid, PK_DWID) |
                             DNET_PUT(dev->wid, PK_SWID) | DNET_PUT(dlid, PK_DLID) |
                             DNET_MASK(PK_LFLAG)};
}

static int run(int side, unsigned rounds, unsigned repeats)
{
    static double value[4][REPEATS_MAX];
    dnet_emu_config_t config = {.profile = DNET_PROFILE_EXTENDED, .lid = (uint16_t) (side + 1)};
    dnet_emu_nic_t *own, *joined = NULL;
    dnet_device_t *dev, *shared_dev;
    end_t two, one;
    int step = 1;

    pin(side);
    must(dnet_emu_create(&config, &own), "create");
    must(dnet_emu_open(own, 0, true, &dev), "open");
    bring_up(dev);
    dnet_emu_locate(own, &shared->at[side]);
    barrier(side, step++);
    must(dnet_emu_route(own, &shared->at[!side]), "route");
    two = end_of(dev, !side + 1u, 0);
    /* One NIC for both: side 1 joins side 0's NIC as WID 1; side 0 opens a NIC of its own twice. */
    if (side == 1) {
        must(dnet_emu_attach(&shared->at[0], &joined), "attach");
        must(dnet_emu_open(joined, 1, true, &shared_dev), "open");
        one = end_of(shared_dev, 1, 0);
    } else {
        one = end_of(dev, 1, 1);
    }
    barrier(side, step++);
    for (unsigned r = 0; r < repeats; r++) {
        value[0][r] = flag_pingpong(side, rounds, (uint64_t) r * rounds);
        barrier(side, step++);
        value[2][r] = nic_pingpong(side, &two, rounds);
        barrier(side, step++);
        value[3][r] = issue_time(side, &two, rounds);
        barrier(side, step++);
        /* WID 0 of NIC 1 receives in both set-ups: hand the position over. */
        if (side == 0) {
            one.position = two.position;
            one.expected = two.expected;
        }
        value[1][r] = nic_pingpong(side, &one, rounds);
        if (side == 0) {
            two.position = one.position;
            two.expected = one.expected;
        }
        barrier(side, step++);
        if (side == 0)
            printf("%3u  flag %6.1f  one NIC %6.1f  two NICs %6.1f  issue %6.1f\n", r, value[0][r],
                   value[1][r], value[2][r], value[3][r]);
    }
    if (side == 0) {
        double flag = percentile(value[0], repeats, 50);
        double same = percentile(value[1], repeats, 50);
        double other = percentile(value[2], repeats, 50);

        printf("median ns: flag %.1f, one NIC %.1f (%.2f x), two NICs %.1f (%.2f x), issue %.1f\n",
               flag, same, same / flag, other, other / flag, percentile(value[3], repeats, 50));
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned) strtoul(argv[1], NULL, 0) : 200000;
    unsigned repeats = argc > 2 ? (unsigned) strtoul(argv[2], NULL, 0) : 9;
    pid_t child;
    int status;

    if (rounds < 1024 || repeats < 1 || repeats > REPEATS_MAX) {
        fprintf(stderr, "usage: nic_pingpong [rounds >= 1024 [repeats 1..%d]]\n", REPEATS_MAX);
        return 99;
    }
    rounds = rounds / 1024 * 1024;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 99;
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return run(1, rounds, repeats);
    }
    status = run(0, rounds, repeats);
    waitpid(child, NULL, 0);
    return status;
}
