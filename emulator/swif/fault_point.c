/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface in front of the one that is there, for tests: this process is killed, or
 * stopped, at a given instruction of a given packet, that is between any two stores of a delivery.
 *
 * The processor's trap flag is set while that packet is handed over, so each instruction of it is
 * followed by SIGTRAP, which counts.  What is delivered runs as it always does, and nothing is paid
 * by a process that has no fault point.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "common/log.h"
#include "emulator/swif/swif.h"

struct dnet_emu_fault_point {
    const dnet_emu_swif_ops_t *below;
    uint32_t packets; /* still to come, this one included */
};

bool dnet_emu_swif_brings_together(const dnet_emu_nic_t *nic)
{
    const dnet_emu_swif_ops_t *swif = nic->fault_point ? nic->fault_point->below : nic->swif;

    return swif == &dnet_emu_swif_shm || swif == &dnet_emu_swif_hosts;
}

#ifdef __x86_64__

#define TRAP_FLAG 0x100

/* Seen by the signal handler. */
static struct {
    uint32_t steps; /* still to come */
    int signal;
} now;

static void trapped(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;

    (void) number;
    (void) info;
    if (now.steps == 0 || --now.steps > 0)
        return;
    u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG; /* one that was stopped goes on without */
    kill(getpid(), now.signal);
}

/* Beside the red zone below the stack pointer. */
static void trap_on(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
                     "lea 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}

static void trap_off(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
                     "lea 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}

static dnet_emu_result_t fault_point_send(dnet_emu_nic_t *via, uint16_t dlid,
                                          dnet_emu_packet_t *packet)
{
    struct dnet_emu_fault_point *f = via->fault_point;
    dnet_emu_result_t result;

    if (f->packets == 0 || --f->packets > 0)
        return f->below->send(via, dlid, packet);
    trap_on();
    result = f->below->send(via, dlid, packet);
    trap_off();
    dnet_debug("fault point not reached: %u instructions more than the packet has", now.steps);
    return result;
}

static const dnet_emu_swif_ops_t fault_point_ops = {.name = "fault point",
                                                    .send = fault_point_send};

dnet_status_t dnet_emu_fault_point_set(dnet_emu_nic_t *nic, uint32_t packet, uint32_t step,
                                       bool stop)
{
    const struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    struct dnet_emu_fault_point *f = calloc(1, sizeof *f);

    if (!f || sigaction(SIGTRAP, &action, NULL) != 0) {
        free(f);
        return DNET_ERR_NO_MEMORY;
    }
    f->below = nic->swif;
    f->packets = packet;
    now.steps = step;
    now.signal = stop ? SIGSTOP : SIGKILL;
    nic->fault_point = f;
    nic->swif = &fault_point_ops;
    return DNET_OK;
}

#else

dnet_status_t dnet_emu_fault_point_set(dnet_emu_nic_t *nic, uint32_t packet, uint32_t step,
                                       bool stop)
{
    (void) nic;
    (void) packet;
    (void) step;
    (void) stop;
    dnet_error("a fault point needs a processor whose trap flag a process may set (x86-64)");
    return DNET_ERR_SYSTEM;
}

#endif
