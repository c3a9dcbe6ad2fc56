/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Guests of other hosts.  On one host a process that sends to another enters itself in the other's
 * guest table; between hosts it has the other's thread do it, which answers also while its process
 * computes.  So here as there a first packet is preceded by nothing that the receiving process must
 * do, and who is entered can be answered.
 *
 * Both ends keep their entries and the connection as long as both processes live: they may part and
 * meet again.  Who leaves says so; who ends otherwise is missed as a rank of the job would be.
 */
#include "config.h"

#include "emulator/swif/hosts/guests.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/log.h"
#include "emulator/guests.h"
#include "emulator/swif/hosts/connection.h"
#include "emulator/swif/hosts/reads.h"

#define GUESTS_BYTES ((DNET_GUESTS_MAX + 1) * sizeof(dnet_emu_far_guest_t))
#define SAY_LEFT_NS UINT64_C(500000000) /* a host that does not answer is told no longer */

enum { ENTER = 1, LEAVE };

/* What a process calls: integers as the machine has them. */
typedef struct {
    uint32_t what;
    /* ENTER: what the called process is in the caller's table; LEAVE: the other way round */
    uint32_t number;
    dnet_emu_far_process_t from; /* the caller */
} call_t;
_Static_assert(sizeof(call_t) <= DNET_EMU_CALL_BYTES, "a call fits");

/* ---- entries ---- */

/* The entry of a number is the process's from now on, as long as it lives.  The lock is held. */
static dnet_emu_far_guest_t *enter(dnet_emu_port_t *port, uint32_t number,
                                   const dnet_emu_far_process_t *who)
{
    dnet_emu_far_guest_t *g = &port->guests[number];

    if (atomic_load_explicit(&g->known, memory_order_relaxed))
        return g;
    g->who = *who;
    g->who.host[sizeof g->who.host - 1] = '\0';
    g->to = (dnet_emu_far_t){.at = who->port, .host = g->who.host};
    g->failed = false;
    atomic_store_explicit(&g->left, false, memory_order_relaxed);
    atomic_store_explicit(&g->number, 0, memory_order_relaxed);
    atomic_store_explicit(&g->known, true, memory_order_release);
    return g;
}

static bool is_sound(const dnet_emu_port_t *port, const dnet_emu_far_process_t *who)
{
    return who->process.wid < DNET_PROCESSES_PER_NIC && who->process.nic.id != 0 &&
           who->port.bytes > 0 && who->port.bytes <= sizeof who->port.at &&
           who->port.plug == port->at->plug;
}

/* @return the caller's number here; 0: there is no room (logged) */
static uint32_t called_to_enter(dnet_emu_port_t *port, const call_t *call)
{
    uint32_t number = 0;

    if (!is_sound(port, &call->from) || call->number == 0 || call->number > DNET_GUESTS_MAX ||
        dnet_emu_guests_enter(port->nic, port->wid, &call->from.process,
                              DNET_EMU_GUEST_SENDS | DNET_EMU_GUEST_FAR, &number) != DNET_OK)
        return 0;
    atomic_store_explicit(&enter(port, number, &call->from)->number, call->number,
                          memory_order_release);
    return number;
}

static uint32_t called_by_leaver(dnet_emu_port_t *port, const call_t *call)
{
    dnet_emu_far_guest_t *g = dnet_emu_far_guest(port, call->number);

    if (g && g->who.port.key == call->from.port.key) {
        atomic_store_explicit(&g->left, true, memory_order_release);
        atomic_store_explicit(&port->guest_left, true, memory_order_release);
    }
    return call->number;
}

uint32_t dnet_emu_guest_called(void *arg, const void *data, uint32_t bytes, void *reply)
{
    dnet_emu_port_t *port = arg;
    uint32_t number = 0;
    call_t call;

    if (bytes != sizeof call)
        return 0;
    memcpy(&call, data, sizeof call);
    pthread_mutex_lock(&port->guests_lock);
    if (port->guests && call.what == ENTER)
        number = called_to_enter(port, &call);
    else if (port->guests && call.what == LEAVE)
        number = called_by_leaver(port, &call);
    pthread_mutex_unlock(&port->guests_lock);
    memcpy(reply, &number, sizeof number);
    return sizeof number;
}

/* ---- meeting ---- */

/* @return what was replied; 0: no room there; -1: as said in *why_p */
static int64_t call_guest(dnet_emu_port_t *port, const dnet_emu_far_guest_t *g, const call_t *call,
                          uint64_t wait_ns, const char **why_p)
{
    uint8_t reply[DNET_EMU_CALL_BYTES];
    struct sockaddr_storage ip;
    uint32_t number;
    int got = -1;

    if (port->plug->ip(&g->who.port, &ip))
        got = dnet_emu_alive_call(&ip, &g->who.port, call, sizeof *call, reply, wait_ns);
    if (got != sizeof number) {
        *why_p = got < 0 ? "does not answer: its host or the way there is down" : "has ended";
        return -1;
    }
    memcpy(&number, reply, sizeof number);
    return number;
}

/* Have this process entered there. */
DNET_COLD static bool meet(dnet_emu_port_t *port, dnet_emu_far_guest_t *g)
{
    call_t call = {.what = ENTER, .number = (uint32_t) (g - port->guests), .from = port->own};
    const char *why = "has no room for another guest";
    int64_t number;

    if (g->failed)
        return false;
    number = call_guest(port, g, &call, port->wait_s * UINT64_C(1000000000), &why);
    if (number > 0 && number <= DNET_GUESTS_MAX) {
        atomic_store_explicit(&g->number, (uint32_t) number, memory_order_release);
        return true;
    }
    g->failed = true;
    dnet_error("process %d of another job, on host %s, cannot be reached: it %s",
               g->who.process.pid, g->who.host, why);
    return false;
}

bool dnet_emu_guest_is_met(dnet_emu_port_t *port, uint32_t number)
{
    dnet_emu_far_guest_t *g = dnet_emu_far_guest(port, number);

    return !g || atomic_load_explicit(&g->number, memory_order_acquire) || meet(port, g);
}

dnet_status_t dnet_emu_hosts_guest_add(dnet_emu_nic_t *nic, const dnet_emu_far_process_t *own,
                                       const dnet_emu_far_process_t *guest, uint32_t *number_p)
{
    dnet_emu_port_t *port = nic->hosts;
    dnet_status_t status;

    if (!port->guests) {
        dnet_error("no memory for guests: %zu bytes needed", GUESTS_BYTES);
        return DNET_ERR_NO_MEMORY;
    }
    pthread_mutex_lock(&port->guests_lock);
    port->own = *own;
    port->own.port = port->at[0];
    status = dnet_emu_guests_enter(nic, port->wid, &guest->process,
                                   DNET_EMU_GUEST_HOSTED | DNET_EMU_GUEST_FAR, number_p);
    if (status == DNET_OK)
        enter(port, *number_p, guest);
    pthread_mutex_unlock(&port->guests_lock);
    return status;
}

bool dnet_emu_hosts_guest_find(const dnet_emu_nic_t *nic, uint32_t number,
                               dnet_emu_far_process_t *guest_p)
{
    const dnet_emu_far_guest_t *g = nic->hosts ? dnet_emu_far_guest(nic->hosts, number) : NULL;

    if (g)
        *guest_p = g->who;
    return g;
}

uint32_t dnet_emu_hosts_guest_number(dnet_emu_nic_t *nic, uint32_t number)
{
    dnet_emu_far_guest_t *g = dnet_emu_far_guest(nic->hosts, number);

    return g && dnet_emu_guest_is_met(nic->hosts, number)
               ? atomic_load_explicit(&g->number, memory_order_acquire)
               : 0;
}

bool dnet_emu_hosts_guest_left(const dnet_emu_nic_t *nic, uint32_t number)
{
    const dnet_emu_far_guest_t *g = nic->hosts ? dnet_emu_far_guest(nic->hosts, number) : NULL;

    return g && atomic_load_explicit(&g->left, memory_order_acquire);
}

/* ---- parting ---- */

/* Nothing will be acknowledged any more. */
static void empty(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    dnet_emu_connection_t **link = &port->due;

    while (c->first) {
        dnet_emu_kept_t *k = c->first;

        c->first = k->next;
        dnet_emu_out_release(port, k);
    }
    c->last = c->post = NULL;
    while (*link && *link != c)
        link = &(*link)->due_next;
    if (*link)
        *link = c->due_next;
    c->is_due = false;
}

void dnet_emu_guests_look(dnet_emu_port_t *port)
{
    if (!atomic_load_explicit(&port->guest_left, memory_order_relaxed))
        return;
    atomic_store_explicit(&port->guest_left, false, memory_order_relaxed);
    for (dnet_emu_connection_t *c = port->connections; c; c = c->next)
        if (dnet_emu_hosts_guest_left(port->nic, dnet_emu_guest_of(c->lid))) {
            dnet_emu_connection_lose(c, "has left its job");
            empty(port, c);
        }
}

/* The connection to a process that has ended. */
static void end_connection(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    dnet_emu_connection_t **link = &port->connections;

    empty(port, c);
    if (port->plug->part)
        port->plug->part(port->end, c->peer);
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    port->stats.connected--;
    free(c);
}

bool dnet_emu_hosts_guest_drop(dnet_emu_nic_t *nic, uint32_t number)
{
    dnet_emu_port_t *port = nic->hosts;
    dnet_emu_far_guest_t *g = dnet_emu_far_guest(port, number);
    dnet_emu_connection_t *c = g ? g->to.connection : NULL;
    bool ended;

    if (!g || (c && dnet_emu_reads_from(port, c)))
        return !g;
    pthread_mutex_lock(&port->guests_lock);
    ended = atomic_load_explicit(&g->left, memory_order_acquire) || (c && c->why[0]) ||
            atomic_load_explicit(&g->number, memory_order_acquire) == 0;
    if (ended) {
        g->to.connection = NULL;
        if (c)
            end_connection(port, c);
        atomic_store_explicit(&g->known, false, memory_order_relaxed);
        dnet_emu_guests_leave(nic, port->wid, number,
                              DNET_EMU_GUEST_HOSTED | DNET_EMU_GUEST_SENDS | DNET_EMU_GUEST_FAR);
    }
    pthread_mutex_unlock(&port->guests_lock);
    return ended;
}

/* ---- begin and end ---- */

void dnet_emu_guests_begin(dnet_emu_port_t *port)
{
    void *guests;

    if (!port->alive || !port->nic->extended ||
        dnet_emu_guests_open(port->nic, port->wid) != DNET_OK)
        return;
    /* Pages that no guest has touched take no memory. */
    guests = mmap(NULL, GUESTS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_lock(&port->guests_lock);
    port->guests = guests == MAP_FAILED ? NULL : guests;
    pthread_mutex_unlock(&port->guests_lock);
}

void dnet_emu_guests_say_left(dnet_emu_port_t *port)
{
    call_t call = {.what = LEAVE, .from = port->own};
    const char *why;

    call.from.port = port->at[0];
    for (uint32_t n = 1; n <= DNET_GUESTS_MAX; n++) {
        dnet_emu_far_guest_t *g = dnet_emu_far_guest(port, n);

        call.number = g ? atomic_load_explicit(&g->number, memory_order_acquire) : 0;
        if (call.number && !atomic_load_explicit(&g->left, memory_order_acquire) &&
            !(g->to.connection && g->to.connection->why[0]))
            (void) call_guest(port, g, &call, SAY_LEFT_NS, &why);
    }
}

void dnet_emu_guests_end(dnet_emu_port_t *port)
{
    if (port->guests)
        munmap(port->guests, GUESTS_BYTES);
    pthread_mutex_destroy(&port->guests_lock);
}
