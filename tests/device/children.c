/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/device/children.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

shared_t *shared;

void reach(unsigned step)
{
    atomic_store(&shared->step, step);
}

void await(unsigned step)
{
    while (atomic_load(&shared->step) < step)
        sched_yield();
}

dnet_device_t *nic_up(uint16_t lid, dnet_profile_t profile, dnet_emu_nic_t **nic_p)
{
    dnet_emu_config_t config = {.profile = profile, .lid = lid};
    dnet_device_t *d;

    CHECK(dnet_emu_create(&config, nic_p) == DNET_OK);
    CHECK(dnet_emu_open(*nic_p, 0, true, &d) == DNET_OK);
    system_store(d, DNET_SREG_LID, lid);
    system_store(d, DNET_SREG_SODIMM_INIT, 1);
    return d;
}

pid_t child_of(void (*run)(cluster_t *), cluster_t *c)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(60);
        run(c);
        _exit(0);
    }
    CHECK(child > 0);
    return child;
}

void join_child(pid_t child)
{
    int status;

    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void share(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
}

void send_lhs(dnet_device_t *d, unsigned dlid, unsigned dwid, uint64_t value)
{
    uint64_t data[2] = {value & 0xffffffff, value};

    botf(d, 0,
         &(header_t){
             .type = DNET_PRIM_IPUSH, .lflag = true, .dlid = dlid, .dwid = dwid, .swid = d->wid},
         data, 16);
}
