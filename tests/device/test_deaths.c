/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender that is killed, or stopped, at each instruction of a delivery in turn: what other
 * senders send arrives complete and in order, rings stay as long as they were, and the receiver
 * hears.
 *
 * STRIDE=1 takes each instruction, without it each third.
 */
#include "tests/device/board.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator/core_logic.h"

#define RING_WORD 16u
#define RING_BYTES 16384u
#define VICTIM_LID 9
#define MESSAGE_MOST 5000u

/* What the child is to send, and where it is to die. */
typedef struct {
    dnet_emu_locator_t receiver, own; /* NICs */
    const char *name;
    uint32_t bytes;  /* behind the envelope */
    bool aperture;   /* from its own memory instead of a Write Window */
    bool eflag;      /* a receive status too */
    bool lines;      /* entries of several lines */
    bool unread;     /* beside as many entries as there is room for */
    uint32_t stride; /* instructions from one death to the next; 0: as the environment says */
    uint32_t step;
    bool stop;
} plan_t;

/* The receiver's eyes: entries and ring bytes, counted from the start. */
typedef struct {
    dnet_device_t *dev;
    uint32_t read;  /* entries */
    uint32_t bytes; /* of the ring */
} reader_t;

static void fill(uint8_t *to, uint32_t bytes, unsigned seed)
{
    for (uint32_t i = 0; i < bytes; i++)
        to[i] = (uint8_t) (seed * 37 + i * 7 + i / 251);
}

static void send_message(dnet_device_t *d, unsigned dlid, uint32_t tag, uint32_t bytes,
                         const plan_t *plan)
{
    uint8_t data[8 + MESSAGE_MOST];
    uint64_t envelope = DNET_PUT(tag, LH_TAG);
    header_t h = {.type = DNET_PRIM_IPUSH,
                  .lflag = true,
                  .eflag = plan && plan->eflag,
                  .dlid = dlid,
                  .swid = d->wid};

    memcpy(data, &envelope, 8);
    fill(data + 8, bytes, tag);
    if (!plan || !plan->aperture) {
        botf(d, 0, &h, data, 8 + bytes);
        return;
    }
    memcpy(d->ww, data, 8);
    dnet_reg_store_quiet(d, DNET_UREG_APERTURE_ADDRESS, (uintptr_t) (data + 8));
    user_store(d, DNET_UREG_APERTURE_LENGTH, DNET_PUT(bytes, APL_LENGTH));
    dnet_reg_store_quiet(d, DNET_UREG_COMMAND0_UPPER,
                         DNET_PUT(DNET_MASK(AP_FLAG), RQ_SRC) | DNET_PUT(8, RQ_LHS_WW_SIZE));
    user_store(d, DNET_UREG_COMMAND0_LOWER,
               DNET_PUT(DNET_PRIM_LHSv2, RQ_OTYPE) | DNET_PUT(dlid, RQ_DCLID) |
                   DNET_PUT(8 + bytes, RQ_SIZE));
}

static uint32_t ring_tail(const dnet_device_t *d)
{
    return (uint32_t) (llcm_word(d, RING_WORD * 8) >> 32);
}

/* Read the next entry, if it is there: its tag, after a look at all its bytes; 0: nothing there;
 * -1: void. */
static int64_t read_entry(reader_t *r)
{
    dnet_device_t *d = r->dev;
    uint32_t index = r->read % d->geometry.lh_entries;
    bool odd = r->read / d->geometry.lh_entries & 1;
    const dnet_lh_entry_t *e = &d->lh[index];
    uint64_t line0 = atomic_load((const _Atomic uint64_t *) (const void *) &e->envelope);
    uint32_t size = (uint32_t) DNET_GET(e->where, LH_SIZE), tag = (uint32_t) line0;
    bool valid = DNET_GET(line0, LH_VALID) != odd, complete = DNET_GET(line0, LH_COMPLETE) != odd;
    uint8_t expected[MESSAGE_MOST], got[MESSAGE_MOST];

    if (!valid)
        return 0;
    CHECK(size <= MESSAGE_MOST);
    if (complete) {
        fill(expected, size, tag);
        memcpy(got, e->data, size < 48 ? size : 48);
        for (uint32_t i = 48; dnet_lh_is_behind(e->where) && i < size; i++)
            got[i] = ((const uint8_t *) &d->lh[(r->read + 1 + (i - 48) / 56) %
                                               d->geometry.lh_entries])[8 + (i - 48) % 56];
        for (uint32_t i = 48; !dnet_lh_is_behind(e->where) && i < size; i += 8) {
            uint8_t word[8];

            sodimm_read(d, (uint32_t) ((DNET_GET(e->where, LH_POINTER) + i - 48) % RING_BYTES),
                        word, 8);
            memcpy(got + i, word, size - i < 8 ? size - i : 8);
        }
        CHECK(memcmp(got, expected, size) == 0);
    }
    if (size > 48 && !dnet_lh_is_behind(e->where)) {
        if (DNET_GET(e->where, LH_POINTER) != r->bytes % RING_BYTES)
            fprintf(stderr, "ring: %u bytes read, entry at %u\n", r->bytes,
                    (unsigned) DNET_GET(e->where, LH_POINTER));
        CHECK_EQUAL(DNET_GET(e->where, LH_POINTER), r->bytes % RING_BYTES);
        r->bytes += (size - 48 + 7) & ~7u;
    }
    r->read += dnet_lh_lines(e->where);
    return complete ? (int64_t) tag : -1;
}

/* As a driver does that finds nothing: what the dead have left becomes void.  Returns how many of
 * the victim's messages came, and checks that all others do, the next of which is *next. */
static unsigned read_all(reader_t *r, uint32_t *next)
{
    unsigned of_victim = 0;

    for (;;) {
        int64_t tag = read_entry(r);

        if (tag == 0) {
            r->dev->ops->settle(r->dev);
            tag = read_entry(r);
        }
        if (tag == 0)
            break;
        if (tag == VICTIM_LID)
            of_victim++;
        else if (tag > 0)
            CHECK_EQUAL(tag, (*next)++);
    }
    /* give all back */
    atomic_store((_Atomic uint32_t *) (void *) (r->dev->llcm + RING_WORD * 8),
                 r->bytes % RING_BYTES);
    user_store(r->dev, DNET_UREG_STATUS_NEXT_READ, user_load(r->dev, DNET_UREG_STATUS_NEXT_WRITE));
    dnet_reg_store_quiet(r->dev, DNET_UREG_LH_NEXT_READ,
                         (uint64_t) (r->read % r->dev->geometry.lh_entries) * 64);
    return of_victim;
}

/* The victim's NIC. */
static dnet_device_t *bring_up(dnet_profile_t profile, unsigned wid, dnet_emu_nic_t **nic_p)
{
    dnet_emu_config_t config = {.profile = profile, .lid = VICTIM_LID};
    dnet_device_t *d;

    CHECK(dnet_emu_create(&config, nic_p) == DNET_OK);
    CHECK(dnet_emu_open(*nic_p, wid, true, &d) == DNET_OK);
    system_store(d, DNET_SREG_LID, VICTIM_LID);
    system_store(d, DNET_SREG_SODIMM_INIT, 1);
    system_store(d, DNET_SREG_MTU, 0x10);
    system_store(d, DNET_SREG_PGID0, 7);
    return d;
}

static void victim(dnet_profile_t profile, const plan_t *plan)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    if (profile == DNET_PROFILE_EXTENDED) {
        CHECK(dnet_emu_attach(&plan->own, &nic) == DNET_OK);
        CHECK(dnet_emu_open(nic, 0, false, &d) == DNET_OK);
    } else { /* whose executor would go on with what the victim before has left there */
        d = bring_up(profile, 0, &nic);
    }
    CHECK(dnet_emu_route(nic, &plan->receiver) == DNET_OK);
    /* What comes first maps: the NIC, and with the first access behind the ring all of that, so
     * that the next packet takes as many instructions wherever it lies there. */
    send_message(d, plan->receiver.lid, VICTIM_LID, 8, NULL);
    issue(d, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 8,
                          .dst = RING_BYTES,
                          .dclid = dnet_lid_to_clid(plan->receiver.lid)});
    CHECK(dnet_emu_fault_point_set(nic, 1, plan->step, plan->stop) == DNET_OK);
    send_message(d, plan->receiver.lid, VICTIM_LID, plan->bytes, plan);
    dnet_emu_detach(nic);
    _exit(0);
}

static pid_t start_victim(dnet_profile_t profile, const plan_t *plan)
{
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0)
        victim(profile, plan);
    CHECK(child > 0);
    return child;
}

static uint32_t stride(void)
{
    return getenv("STRIDE") ? (uint32_t) atoi(getenv("STRIDE")) : 3;
}

/* The receiver is WID 0 of node 0, the innocent sender WID 0 of node 1. */
static reader_t prepare(cluster_t *c, plan_t *plan)
{
    reader_t r = {.dev = c->dev[0][0]};
    dnet_emu_nic_t *nic;

    (void) bring_up(c->profile, 1, &nic);
    dnet_emu_locate(nic, &plan->own);
    user_store(r.dev, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x1000);
    dnet_emu_locate(c->nic[0], &plan->receiver);
    user_store(r.dev, DNET_UREG_IPUSH_AREA_SIZE, RING_BYTES / 4096);
    llcm_store(r.dev, RING_WORD * 8, 0);
    for (unsigned lid = 1; lid <= VICTIM_LID; lid++)
        system_store(r.dev, DNET_SREG_AMT_ADDRESS_TABLE,
                     DNET_PUT(RING_WORD, AMTI_VALUE) | DNET_PUT(lid, AMTI_LID));
    if (r.dev->flow)
        user_store(r.dev, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    if (plan->lines)
        user_store(r.dev, DNET_UREG_LH_LINES, DNET_LH_LINES_MAX);
    for (unsigned n = 0; n < BOARD_NODES; n++)
        system_store(c->dev[n][0], DNET_SREG_MTU, 0x10);
    CHECK(r.dev->ops->reserve(r.dev, 0, RING_BYTES) == DNET_OK);
    return r;
}

/* The victim dies at every instruction of its second packet; before it, between its death and what
 * comes next, and after that others' messages arrive. */
static void die_at_every_step(cluster_t *c, plan_t plan)
{
    reader_t r = prepare(c, &plan);
    dnet_device_t *innocent = c->dev[1][0];
    uint32_t sent = 100, next = 100, came = 0, voids = 0;
    uint32_t step = plan.stride ? plan.stride : stride();
    bool survived = false;

    for (plan.step = 1; !survived; plan.step += step) {
        uint64_t before = dnet_emu_events(c->nic[0], DNET_EMU_VOID);
        int status;
        pid_t child;
        unsigned of_victim;

        CHECK(plan.step < 30000);
        do
            send_message(innocent, 1, sent++, 8, NULL);
        while (plan.unread && sent - next < r.dev->geometry.lh_entries - 6);
        child = start_victim(c->profile, &plan);
        CHECK(waitpid(child, &status, 0) == child);
        survived = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        CHECK(survived || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        /* what there is is read before the dead sender has a successor, or after */
        of_victim = plan.step / step % 2 ? read_all(&r, &next) : 0;
        send_message(innocent, 1, sent++, 40, NULL);
        send_message(innocent, 1, sent++, 200, NULL);
        of_victim += read_all(&r, &next);
        CHECK_EQUAL(next, sent);
        CHECK(of_victim == 1 || of_victim == 2);
        CHECK(!survived || of_victim == 2);
        CHECK_EQUAL(user_load(r.dev, DNET_UREG_LH_NEXT_WRITE),
                    r.read % r.dev->geometry.lh_entries * 64);
        CHECK_EQUAL(ring_tail(r.dev), r.bytes % RING_BYTES);
        came += of_victim - 1;
        voids += dnet_emu_events(c->nic[0], DNET_EMU_VOID) > before;
    }
    printf("     %s: %u instructions; the message came %u times, its entry was void %u times\n",
           plan.name, (plan.step - 1) / step * step, came, voids);
    CHECK(came > 0);
    CHECK((voids > 0) == (plan.bytes > 48 && !plan.lines));
}

/* [nic 10.3] In an entry. */
static void sender_dies_with_an_entry(cluster_t *c)
{
    die_at_every_step(c, (plan_t){.name = "entry", .bytes = 40});
}

/* [nic 9.3, 10.4] [X.6] In an entry and the ring. */
static void sender_dies_with_an_entry_and_ring(cluster_t *c)
{
    die_at_every_step(c, (plan_t){.name = "entry and ring", .bytes = 100});
}

/* [X.3] In an entry of several lines, some of which it has filled: the host never takes one of them
 * for the first of an entry. */
static void sender_dies_with_an_entry_of_lines(cluster_t *c)
{
    die_at_every_step(c, (plan_t){.name = "entry of lines", .bytes = 300, .lines = true});
}

/* [X.3] The same in a buffer that is full but for a few entries, which all stay what they are. */
static void sender_dies_beside_unread_entries(cluster_t *c)
{
    die_at_every_step(
        c, (plan_t){.name = "beside unread ones", .bytes = 40, .lines = true, .unread = true});
}

/* [nic 8] The same with a receive status. */
static void sender_dies_with_a_status(cluster_t *c)
{
    die_at_every_step(c, (plan_t){.name = "with a status", .bytes = 60, .eflag = true});
}

/* [X.5] From memory of the sender. */
static void sender_dies_with_an_aperture(cluster_t *c)
{
    die_at_every_step(c, (plan_t){.name = "from an aperture", .bytes = 100, .aperture = true});
}

/* [X.5, nic 7.4] In several packets, handed over together.  Of the copy, an instruction of which is
 * a byte, only some. */
static void sender_dies_with_several_packets(cluster_t *c)
{
    die_at_every_step(
        c, (plan_t){.name = "several packets", .bytes = 5000, .aperture = true, .stride = 31});
}

/* ---- senders that are stopped ---- */

static bool is_held(const cluster_t *c)
{
    return atomic_load(&c->nic[0]->area[0].state->rc_holder) != 0;
}

static pid_t stop_victim(const cluster_t *c, const plan_t *plan, bool *stopped_p)
{
    pid_t child = start_victim(c->profile, plan);
    int status;

    CHECK(waitpid(child, &status, WUNTRACED) == child);
    *stopped_p = WIFSTOPPED(status);
    CHECK(*stopped_p || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return child;
}

static void let_go_on(pid_t child)
{
    int status;

    kill(child, SIGCONT);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Instructions between stops, and while the receive side is held; of all there are 1,700 to 6,000,
 * by how long copies are waited for. */
#define STOP_EACH 41u
#define HELD_MOST 700u

/* [nic 10.3] [X.5] A sender that is stopped while it copies from its own memory keeps out nobody:
 * what others send meanwhile is taken, and all arrives once it goes on. */
static void stopped_sender_keeps_out_nobody(cluster_t *c)
{
    plan_t plan = {.name = "stopped", .bytes = MESSAGE_MOST, .aperture = true, .stop = true};
    reader_t r = prepare(c, &plan);
    uint32_t sent = 100, next = 100, stops = 0, held = 0;
    bool stopped = true;

    for (plan.step = 1; stopped; plan.step += STOP_EACH) {
        pid_t child = stop_victim(c, &plan, &stopped);

        stops += stopped;
        held += stopped && is_held(c);
        if (stopped && !is_held(c)) {
            send_message(c->dev[1][0], 1, sent++, 8, NULL);
            send_message(c->dev[1][0], 1, sent++, 200, NULL);
            CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_STOP_REPORT), DNET_REPORT_DELIVERED);
        }
        if (stopped)
            let_go_on(child);
        CHECK_EQUAL(read_all(&r, &next), 2);
        CHECK_EQUAL(next, sent);
    }
    printf("     of %u stops %u while the receive side was held\n", stops, held);
    CHECK(held * STOP_EACH < HELD_MOST);
}

static void innocent_sender(const plan_t *plan, int say)
{
    dnet_emu_config_t config = {.profile = DNET_PROFILE_EXTENDED, .lid = 8};
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    dup2(say, STDERR_FILENO);
    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 0, true, &d) == DNET_OK);
    system_store(d, DNET_SREG_LID, 8);
    system_store(d, DNET_SREG_PGID0, 7);
    CHECK(dnet_emu_route(nic, &plan->receiver) == DNET_OK);
    send_message(d, plan->receiver.lid, 100, 8, NULL);
    dnet_emu_detach(nic);
    _exit(0);
}

/* Processor time of a process so far, in seconds. */
static double used_s(pid_t pid)
{
    unsigned long user = 0, kernel = 0;
    char path[32];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "re");
    CHECK(file && fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                         &user, &kernel) == 2);
    fclose(file);
    return (double) (user + kernel) / (double) sysconf(_SC_CLK_TCK);
}

/* [X.6] A sender that is stopped while it holds the receive side: others wait asleep, and say whom
 * they wait for. */
static void stopped_holder_is_waited_for_asleep(cluster_t *c)
{
    plan_t plan = {.name = "held", .bytes = 8, .stop = true};
    reader_t r = prepare(c, &plan);
    uint32_t next = 100;
    bool stopped = true;
    pid_t holder, waiter;
    char line[512] = "";
    ssize_t n;
    int say[2];

    for (plan.step = 1;; plan.step += 3) {
        holder = stop_victim(c, &plan, &stopped);
        CHECK(stopped);
        if (is_held(c))
            break;
        let_go_on(holder);
        (void) read_all(&r, &next);
    }
    CHECK(pipe(say) == 0);
    waiter = fork();
    if (waiter == 0)
        innocent_sender(&plan, say[1]);
    close(say[1]);
    n = read(say[0], line, sizeof line - 1); /* until it says something */
    CHECK(n > 0);
    printf("     %s", line);
    CHECK(strstr(line, "receive side") && strstr(line, "is stopped"));
    CHECK(used_s(waiter) < 0.5); /* of a second and more */
    let_go_on(holder);
    let_go_on(waiter);
    CHECK_EQUAL(read_all(&r, &next), 2);
    CHECK_EQUAL(next, 101);
}

static const board_test_t tests[] = {
    TEST(sender_dies_with_an_entry, BOTH),
    TEST(sender_dies_with_an_entry_and_ring, BOTH),
    TEST(sender_dies_with_an_entry_of_lines, EXTENDED),
    TEST(sender_dies_beside_unread_entries, EXTENDED),
    TEST(sender_dies_with_a_status, BOTH),
    TEST(sender_dies_with_an_aperture, EXTENDED),
    TEST(sender_dies_with_several_packets, EXTENDED),
    TEST(stopped_sender_keeps_out_nobody, EXTENDED),
    TEST(stopped_holder_is_waited_for_asleep, EXTENDED),
};

int main(int argc, char **argv)
{
#ifndef __x86_64__
    puts("fault points need an x86-64 processor");
    return 77;
#endif
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
