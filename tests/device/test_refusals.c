/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the operating system refuses: descriptors, address space, pidfd_open(), a look into another
 * process; and what a NIC refuses to believe or to write.  The NIC goes on
 * where it can, and names the cause where it cannot.
 */
#include "tests/device/children.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "emulator/process.h"
#include "emulator/swif/swif.h"

/* A process that does nothing, and ends with this one. */
static pid_t idle_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    CHECK(child > 0);
    return child;
}

static void limit(int resource, rlim_t most)
{
    struct rlimit l;

    CHECK(getrlimit(resource, &l) == 0);
    l.rlim_cur = most;
    CHECK(setrlimit(resource, &l) == 0);
}

/* From now on there is no descriptor left. */
static void use_up_descriptors(void)
{
    int next = dup(0);

    CHECK(next >= 0 && close(next) == 0);
    limit(RLIMIT_NOFILE, (rlim_t) next);
    CHECK(dup(0) < 0 && errno == EMFILE);
}

/* A process that has used up its descriptors still reaches a NIC for the first time. */
static void first_contact_without_descriptors(cluster_t *c)
{
    use_up_descriptors();
    send_lhs(c->dev[0][0], 2, 0, 1);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_LH_NEXT_WRITE), 64);
    CHECK(dup(0) < 0 && errno == EMFILE); /* and keeps one for the next first contact */
    send_lhs(c->dev[0][0], 3, 0, 1);
    CHECK_EQUAL(user_load(c->dev[2][0], DNET_UREG_LH_NEXT_WRITE), 64);
}

static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    CHECK(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return (rlim_t) pages * 4096;
}

/* Without address space the cause is that, not the end of the peer; what comes later is delivered
 * once there is room again. */
static void first_contact_without_address_space(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    limit(RLIMIT_AS, address_space() + 65536);
    send_lhs(d, 2, 0, 1);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_REFUSED);
    CHECK(!d->ops->peer_lost(d, 2, 0));
    send_lhs(d, 2, 0, 1);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_REFUSED);
    limit(RLIMIT_AS, RLIM_INFINITY);
    send_lhs(d, 2, 0, 1);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_LH_NEXT_WRITE), 64);
}

/* From now on this system call fails with EPERM, as under a container's filter. */
static void forbid(unsigned call)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Where pidfd_open() is refused, the end of a process is still seen, also before it is reaped. */
static void end_is_seen_without_pidfd(cluster_t *c)
{
    pid_t child = idle_child();
    int status;

    (void) c;
    forbid(SYS_pidfd_open);
    CHECK(syscall(SYS_pidfd_open, child, 0) < 0 && errno == EPERM);
    CHECK(!dnet_emu_process_ended(child));
    kill(child, SIGKILL);
    CHECK(waitid(P_PID, (id_t) child, NULL, WEXITED | WNOWAIT) == 0);
    CHECK(dnet_emu_process_ended(child));
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(dnet_emu_process_ended(child));
    CHECK(!dnet_emu_process_ended(getppid()));
}

/* From now on neither this process nor its children may look into each other, as where each lives
 * in a user namespace of its own. */
static void close_to_peers(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    CHECK(syscall(SYS_capset, &head, none) == 0);
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
}

/* A NIC is joined without the right to trace its owner, and only by who knows which it is. */
static void joined_without_right_to_trace(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_locator_t at, wrong;
    dnet_emu_nic_t *nic, *joined;
    dnet_device_t *d, *own;
    char path[64];
    pid_t child;
    int status;

    close_to_peers();
    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 0, true, &d) == DNET_OK);
    dnet_emu_locate(nic, &at);
    child = fork();
    if (child == 0) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", at.pid, at.fd);
        CHECK(open(path, O_RDWR) < 0 && (errno == EACCES || errno == EPERM));
        wrong = at;
        wrong.id++;
        CHECK(dnet_emu_attach(&wrong, &joined) == DNET_ERR_SYSTEM);
        wrong = at;
        wrong.fd = 0;
        CHECK(dnet_emu_attach(&wrong, &joined) == DNET_ERR_SYSTEM);
        CHECK(dnet_emu_attach(&at, &joined) == DNET_OK);
        CHECK(dnet_emu_open(joined, 1, false, &own) == DNET_OK);
        send_lhs(own, 9, 0, 77);
        CHECK(!own->ops->can_copy(own, 9, 0));
        own->ops->close(own);
        dnet_emu_detach(joined);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 64);
    CHECK_EQUAL(*(const uint64_t *) (const void *) d->lh[0].data, 77);
    d->ops->close(d);
    dnet_emu_detach(nic); /* and the thread with it */
}

/* A NIC of this process that others may not take by themselves; shared->at[0] is where it is. */
static dnet_device_t *closed_nic_up(const cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    close_to_peers();
    share();
    d = nic_up(9, c->profile, &nic);
    dnet_emu_locate(nic, &shared->at[0]);
    return d;
}

static void do_nothing(int signal)
{
    (void) signal;
}

static void join_amid_signals(cluster_t *c)
{
    const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 50}, {0, 50}};
    dnet_emu_nic_t *nic;

    (void) c;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned i = 0; i < 2000; i++) {
        CHECK(dnet_emu_attach(&shared->at[0], &nic) == DNET_OK);
        dnet_emu_detach(nic);
    }
}

/* Signals do not keep a process from joining. */
static void joined_amid_signals(cluster_t *c)
{
    (void) closed_nic_up(c);
    join_child(child_of(join_amid_signals, c));
}

/* Let the parent go on after so many seconds. */
static void let_parent_go_on(unsigned seconds)
{
    pid_t parent = getppid();

    if (fork() == 0) {
        sleep(seconds);
        kill(parent, SIGCONT);
        _exit(0);
    }
}

static void meet_a_stopped_parent(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(8, c->profile, &nic);

    CHECK(dnet_emu_route(nic, &shared->at[0]) == DNET_OK);
    let_parent_go_on(6);
    kill(getppid(), SIGSTOP);
    send_lhs(d, 9, 0, 77);
}

/* A process that is stopped when its NIC is met is waited for. */
static void first_contact_with_a_stopped_process(cluster_t *c)
{
    dnet_device_t *d = closed_nic_up(c);

    join_child(child_of(meet_a_stopped_parent, c));
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 64);
}

static void meet_without_descriptors(cluster_t *c)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *d = nic_up(8, c->profile, &nic);

    CHECK(dnet_emu_route(nic, &shared->at[0]) == DNET_OK);
    await(1);
    use_up_descriptors();
    send_lhs(d, 9, 0, 77);
    CHECK(dup(0) < 0 && errno == EMFILE); /* and keeps some for the next first contact */
}

/* Neither the process that asks for a descriptor has one left nor the process that passes it. */
static void first_contact_by_socket_without_descriptors(cluster_t *c)
{
    dnet_device_t *d = closed_nic_up(c);
    pid_t child = child_of(meet_without_descriptors, c);

    usleep(100000); /* threads that pass descriptors wait by now, each with one for whoever asks */
    use_up_descriptors();
    reach(1);
    join_child(child);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 64);
}

static void set_aperture(dnet_device_t *d, unsigned slot, const void *memory, uint64_t bytes)
{
    dnet_reg_store_quiet(d, DNET_UREG_APERTURE_ADDRESS, (uintptr_t) memory);
    user_store(d, DNET_UREG_APERTURE_LENGTH,
               DNET_PUT(bytes, APL_LENGTH) | DNET_PUT(slot, APL_SLOT));
}

/* A segment that names another process as its owner does not make a peer copy from that one. */
static void copies_with_the_process_learnt(cluster_t *c)
{
    static uint8_t there[4096], here[4096];
    const request_t fetch = {.type = DNET_PRIM_RVL,
                             .size = sizeof there,
                             .src = (uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(4, AP_SLOT)),
                             .dst = (uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(1, AP_SLOT)),
                             .dclid = 2};
    dnet_device_t *d = c->dev[0][0];
    pid_t child;

    memset(there, 'x', sizeof there);
    child = idle_child();
    memset(there, 'a', sizeof there);
    set_aperture(c->dev[1][0], 4, there, sizeof there);
    set_aperture(d, 1, here, sizeof here);
    CHECK(dnet_emu_route_process(c->nic[0], 2, 0, getpid()) == DNET_OK);
    CHECK(dnet_emu_route_process(c->nic[0], 2, 2, getpid()) == DNET_ERR_ARGUMENT);
    CHECK(dnet_emu_route_process(c->nic[0], 77, 0, getpid()) == DNET_ERR_ARGUMENT);
    issue(d, &fetch);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_DELIVERED);
    CHECK_EQUAL(here[4095], 'a');
    c->nic[1]->area[0].state->owner = child;
    issue(d, &fetch);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_UNREACHABLE);
    CHECK_EQUAL(here[0], 'a');
    CHECK(!d->ops->can_copy(d, 2, 0));
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(!d->ops->peer_lost(d, 2, 0)); /* the one that was learnt lives */
}

/* What a sender maps of its destination's register pages it cannot write, but for what the NIC
 * shows. */
static void register_pages_are_read_only_for_senders(cluster_t *c)
{
    const dnet_emu_nic_t *there;
    uint8_t *page[5];
    int from[2];

    send_lhs(c->dev[0][0], 2, 0, 1);
    there = dnet_emu_swif_peer(c->nic[0], 2);
    CHECK(there && there != c->nic[1]);
    page[0] = (uint8_t *) there->header;
    page[1] = there->sreg_store;
    page[2] = there->sreg_load;
    page[3] = there->area[0].ureg_store;
    page[4] = there->area[1].ureg_store;
    CHECK(pipe(from) == 0 && write(from[1], "12345678", 8) == 8);
    for (unsigned i = 0; i < 5; i++)
        CHECK(read(from[0], page[i], 8) < 0 && errno == EFAULT);
    send_lhs(c->dev[0][0], 2, 0, 1);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_LH_NEXT_WRITE), 128);
}

static const board_test_t tests[] = {
    TEST(first_contact_without_descriptors, BOTH),
    TEST(first_contact_without_address_space, EXTENDED),
    TEST(end_is_seen_without_pidfd, EXTENDED),
    TEST(joined_without_right_to_trace, BOTH),
    TEST(joined_amid_signals, EXTENDED),
    TEST(first_contact_with_a_stopped_process, EXTENDED),
    TEST(first_contact_by_socket_without_descriptors, BOTH),
    TEST(copies_with_the_process_learnt, EXTENDED),
    TEST(register_pages_are_read_only_for_senders, BOTH),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
