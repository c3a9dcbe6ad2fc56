/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening a port by one of the plugs.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"
#include "emulator/swif/hosts/guests.h"
#include "emulator/swif/hosts/rails.h"
#include "emulator/swif/hosts/reads.h"

#include <stdlib.h>
#include <sys/random.h>

#include "common/log.h"

#define SILENT_NS 1000000000u /* a packet under way, or a stop, is asked after */

static const struct {
    const dnet_emu_plug_ops_t *ops;
    const char *title;
} plugs[] = {
#define DNET_PLUG(name, title) {&dnet_emu_plug_##name, title},
#include "emulator/swif/hosts/plugs.def"
#undef DNET_PLUG
};

void dnet_emu_plugs(void (*visit)(void *arg, const char *name, const char *title, bool found,
                                  const char *text),
                    void *arg)
{
    char text[256];

    for (unsigned i = 0; i < sizeof plugs / sizeof *plugs; i++) {
        bool found = plugs[i].ops->found(text, sizeof text);

        visit(arg, plugs[i].ops->name, plugs[i].title, found, text);
    }
}

/* Settings that the plug which is wanted knows nothing of.  @return false: there are (logged) */
static bool is_of_plug(const char *wanted, const char *plug, const char *what, const char *value)
{
    if (!wanted || !value || strcmp(wanted, plug) == 0)
        return true;
    dnet_error("%s %s is for plug %s, and plug %s is wanted: leave one of both out", what, value,
               plug, wanted);
    return false;
}

/* The plug that is wanted, or else the first that finds something on this host, or the last one,
 * which will say what is missing. */
static bool choose_plug(dnet_emu_port_t *port, const dnet_emu_port_config_t *config)
{
    const char *wanted = config->plug       ? config->plug
                         : config->device   ? "verbs"
                         : config->provider ? "libfabric"
                                            : NULL;
    char text[256] = "";

    for (unsigned i = 0; i < sizeof plugs / sizeof *plugs; i++) {
        if (wanted && strcmp(wanted, plugs[i].ops->name) != 0)
            continue;
        if (!plugs[i].ops->open) {
            (void) plugs[i].ops->found(text, sizeof text);
            continue;
        }
        port->plug = plugs[i].ops;
        port->at[0].plug = (uint8_t) i;
        if (!wanted && i + 1 < sizeof plugs / sizeof *plugs &&
            plugs[i].ops->found(text, sizeof text))
            break;
    }
    if (!port->plug)
        dnet_error("other hosts are to be reached, and there is no plug %s to a network: %s",
                   wanted ? wanted : "", text);
    return port->plug;
}

/* A thread answers on each rail, where addresses are IP's.  @return false: it cannot (logged), and
 * peers would take the process for one that has ended */
static bool start_alive(dnet_emu_port_t *port)
{
    struct sockaddr_storage ip[DNET_RAILS_MAX];
    unsigned n = 0;

    while (n < DNET_RAILS_MAX && port->at[n].bytes && port->plug->ip(&port->at[n], &ip[n]))
        n++;
    if (n)
        port->alive = dnet_emu_alive_start(ip, n, port->at, dnet_emu_guest_called, port);
    return n == 0 || port->alive;
}

dnet_status_t dnet_emu_port_open(const dnet_emu_port_config_t *config, dnet_emu_port_t **port_p)
{
    dnet_emu_port_t *port = calloc(1, sizeof *port);
    dnet_status_t status = DNET_NOT_FOUND;

    if (!port) {
        dnet_error("no memory for a port: %zu bytes needed", sizeof *port);
        return DNET_ERR_NO_MEMORY;
    }
    if (getrandom(&port->at->key, sizeof port->at->key, 0) != sizeof port->at->key ||
        getrandom(&port->at->epoch, sizeof port->at->epoch, 0) != sizeof port->at->epoch) {
        dnet_error("no random number for a port: %m");
        status = DNET_ERR_SYSTEM;
    } else if (!is_of_plug(config->plug, "verbs", "RDMA device", config->device) ||
               !is_of_plug(config->plug, "libfabric", "provider", config->provider)) {
        status = DNET_ERR_ARGUMENT;
    } else if (choose_plug(port, config)) {
        status = dnet_emu_rails_wanted(config)
                     ? dnet_emu_rails_open(config, port->at, &port->plug, &port->end)
                     : port->plug->open(config, port->at, &port->end);
    }
    if (status != DNET_OK) {
        free(port);
        return status;
    }
    pthread_mutex_init(&port->guests_lock, NULL);
    if (!start_alive(port)) {
        port->plug->close(port->end);
        pthread_mutex_destroy(&port->guests_lock);
        free(port);
        return DNET_ERR_SYSTEM;
    }
    port->wait_s = config->wait_s;
    port->buffers = port->plug->buffers ? port->plug->buffers(port->end) : 0;
    port->env = dnet_fc_tx_defaults(&dnet_emu_connection_tx_ops, port);
    port->env.window = WINDOW;
    port->env.ack_ns = port->env.stop_ns = SILENT_NS;
    /* A process that computes answers no PROBE; alive.c says whether it is there. */
    port->env.repeats = UINT32_MAX;
    port->env.random = port->at->key;
    port->pool = (dnet_fc_pool_t){.ops = &dnet_emu_connection_rx_ops, .arg = port};
    port->stats.plug = port->plug->name;
    port->stats.network = port->plug->network(port->end);
    port->stats.rnr = -1;
    port->stats.connection_bytes = sizeof(dnet_emu_connection_t);
    *port_p = port;
    return DNET_OK;
}

void dnet_emu_port_address(const dnet_emu_port_t *port,
                           dnet_emu_port_address_t address[DNET_RAILS_MAX])
{
    memcpy(address, port->at, sizeof port->at);
}

uint32_t dnet_emu_port_eager_bytes(const dnet_emu_port_t *port)
{
    return port->plug->eager_bytes;
}

static void free_all(dnet_emu_kept_t *k)
{
    while (k) {
        dnet_emu_kept_t *next = k->next;

        free(k);
        k = next;
    }
}

void dnet_emu_port_close(dnet_emu_port_t *port)
{
    dnet_emu_guests_say_left(port);
    if (port->alive)
        dnet_emu_alive_end(port->alive);
    port->plug->close(port->end); /* it has no message any more */
    dnet_emu_reads_drop(port);
    while (port->connections) {
        dnet_emu_connection_t *c = port->connections;

        port->connections = c->next;
        free_all(c->first);
        free(c);
    }
    for (unsigned size = 0; size < DNET_EMU_SPARES; size++)
        free_all(port->spare[size].first);
    dnet_emu_guests_end(port);
    for (uint32_t i = 0; i < port->to_count; i++)
        free(port->to[i].rails);
    free(port->to);
    free(port);
}
