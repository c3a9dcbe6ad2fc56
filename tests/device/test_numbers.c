/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of processes that the kernel gives again: what one that was killed has left at a NIC is
 * free although another has its number now.
 */
#include "tests/device/children.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "emulator/swif/swif.h"

/* A process that lives and has no NIC. */
static pid_t start_stranger(void)
{
    int begun[2];
    char none;
    pid_t child;

    CHECK(pipe2(begun, O_CLOEXEC) == 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("sleep", "sleep", "100", (char *) NULL);
        _exit(1);
    }
    CHECK(child > 0);
    close(begun[1]);
    CHECK(read(begun[0], &none, 1) == 0); /* closed by exec */
    close(begun[0]);
    return child;
}

/* Makes a NIC of its own, and has nothing to do with the others. */
static void make_another(cluster_t *c)
{
    dnet_emu_nic_t *nic;

    for (unsigned n = 0; n < BOARD_NODES; n++)
        dnet_emu_detach(c->nic[n]);
    (void) nic_up(4, c->profile, &nic);
    reach(1);
    pause();
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
}

/* What a process that was killed has left is free although another has its number now, also when
 * that is the one that wants it, or uses another NIC. */
static void numbers_are_given_again(cluster_t *c)
{
    dnet_emu_wid_t *s = c->nic[1]->area[1].state;
    pid_t stranger = start_stranger(), left_by[] = {stranger, getpid()};
    dnet_device_t *d;

    for (unsigned i = 0; i < 2; i++) {
        c->dev[1][1]->ops->close(c->dev[1][1]);
        atomic_store(&s->owner, left_by[i]);
        CHECK(dnet_emu_open(c->nic[1], 1, true, &c->dev[1][1]) == DNET_OK);
        CHECK(dnet_emu_open(c->nic[1], 1, true, &d) == DNET_ERR_STATE);
    }
    atomic_store(&s->rc_holder, (uint32_t) stranger);
    send_lhs(c->dev[0][0], 2, 1, 1);
    CHECK_EQUAL(atomic_load(&s->rc_holder), 0);
    end_child(stranger);
    share();
    stranger = child_of(make_another, c);
    await(1);
    atomic_store(&s->rc_holder, (uint32_t) stranger);
    send_lhs(c->dev[0][0], 2, 1, 1);
    CHECK_EQUAL(atomic_load(&s->rc_holder), 0);
    end_child(stranger);
}

static void settle_for(dnet_device_t *d, unsigned ms)
{
    for (unsigned i = 0; i < ms / 10; i++) {
        d->ops->settle(d);
        usleep(10000);
    }
}

/* The same of an entry that it had reserved: the receiver passes over it after a second. */
static void number_of_a_sender_is_given_again(cluster_t *c)
{
    const uint64_t both = DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE);
    dnet_device_t *d = c->dev[1][1];
    dnet_emu_wid_t *s = c->nic[1]->area[1].state;
    pid_t stranger = start_stranger();

    atomic_store(&s->reserved[0].owner, (uint64_t) stranger);
    s->lh_tail = DNET_LH_ENTRY_BYTES;
    send_lhs(c->dev[0][0], 2, 1, 1);
    settle_for(d, 1500);
    CHECK_EQUAL(d->lh[0].envelope & both, DNET_MASK(LH_VALID)); /* void */
    CHECK_EQUAL(d->lh[1].envelope & both, both);
    end_child(stranger);
}

static void run_for(dnet_device_t *d, unsigned ms)
{
    for (unsigned i = 0; i < ms / 10; i++) {
        d->ops->run(d);
        usleep(10000);
    }
}

/* [nic 11.9] The same of a packet that had no room: reception waits for who sends it, and not for
 * one that does not. */
static void number_of_who_is_first_is_given_again(cluster_t *c)
{
    _Atomic uint64_t *stalled_by = &c->nic[1]->state->stalled_by;
    pid_t stranger = start_stranger();

    atomic_store(stalled_by, 3ull << 32 | (uint32_t) getpid());
    send_lhs(c->dev[0][0], 2, 1, 1);
    run_for(c->dev[0][0], 1500);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_LH_NEXT_WRITE), 0);
    atomic_store(stalled_by, 3ull << 32 | (uint32_t) stranger);
    run_for(c->dev[0][0], 1500);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_LH_NEXT_WRITE), DNET_LH_ENTRY_BYTES);
    end_child(stranger);
}

/* One that had the parent's number has been killed while it delivered to this NIC: it held the
 * receive side of WID 0, and had reserved an entry of WID 1. */
static void keep_what_was_left(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_emu_wid_t *s;
    dnet_device_t *d = nic_up(4, c->profile, &nic);

    system_store(d, DNET_SREG_PGID0, 7);
    system_store(d, DNET_SREG_PGID1, 7);
    atomic_store(&nic->area[0].state->rc_holder, (uint32_t) getppid());
    if (c->profile == DNET_PROFILE_PROTOTYPE)
        atomic_store(&nic->area[0].wc->holder, (uint32_t) getppid());
    s = nic->area[1].state;
    atomic_store(&s->reserved[0].owner, (uint64_t) getppid());
    s->lh_tail = DNET_LH_ENTRY_BYTES;
    dnet_emu_locate(nic, &shared->at[0]);
    reach(1);
    pause();
}

/* Whoever maps a NIC for the first time has left nothing there, whatever bears its number. */
static void own_number_is_given_again(cluster_t *c)
{
    const dnet_emu_nic_t *to;
    dnet_emu_nic_t *nic;
    dnet_device_t *d;
    pid_t child;

    share();
    child = child_of(keep_what_was_left, c);
    await(1);
    CHECK(dnet_emu_route(c->nic[0], &shared->at[0]) == DNET_OK);
    send_lhs(c->dev[0][0], 4, 0, 1);
    to = dnet_emu_swif_peer(c->nic[0], 4);
    CHECK_EQUAL(atomic_load(&to->area[0].state->rc_holder), 0);
    CHECK_EQUAL(to->area[0].state->lh_tail, DNET_LH_ENTRY_BYTES);
    CHECK(atomic_load(&to->area[0].wc->holder) != (uint32_t) getpid());
    CHECK(dnet_emu_attach(&shared->at[0], &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 1, false, &d) == DNET_OK);
    d->ops->settle(d);
    CHECK_EQUAL(d->lh[0].envelope & (DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE)),
                DNET_MASK(LH_VALID)); /* void */
    dnet_emu_detach(nic);
    end_child(child);
}

static const board_test_t tests[] = {
    TEST(numbers_are_given_again, BOTH),
    TEST(number_of_a_sender_is_given_again, BOTH),
    TEST(number_of_who_is_first_is_given_again, PROTOTYPE),
    TEST(own_number_is_given_again, BOTH),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
