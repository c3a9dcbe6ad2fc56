/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-info: what this installation is, what an emulated NIC on this machine looks like, which
 * sizes travel how, and which NICs exist now.
 */
#include "config.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "common/log.h"
#include "common/options.h"
#include "dimmnet/emulator.h"
#include "endpoint/endpoint.h"
#include "driver/driver.h"
#include "srq_flowctl/srq_flowctl.h"
#include "tools/common/command.h"
#include "tools/common/json_out.h"
#include "tools/info/topology.h"

typedef struct {
    dnet_json_t *json; /* NULL: for people */
} printer_t;

/* One fact: a line for people, a member for scripts. */
static void fact(printer_t *p, const char *key, const char *title, const char *value,
                 const char *unit)
{
    if (p->json)
        dnet_json_string(p->json, key, value);
    else
        printf("  %-34s %s%s%s\n", title, value, *unit ? " " : "", unit);
}

static void number(printer_t *p, const char *key, const char *title, uint64_t value,
                   const char *unit)
{
    if (p->json)
        dnet_json_int(p->json, key, (long long) value);
    else
        printf("  %-34s %" PRIu64 "%s%s\n", title, value, *unit ? " " : "", unit);
}

static void heading(const printer_t *p, const char *text)
{
    if (!p->json)
        printf("%s\n", text);
}

static bool extended(const dnet_options_t *o)
{
    return o->profile == 1;
}

static unsigned processors(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned) CPU_COUNT(&cpus) : 0;
}

static uint64_t ring_bytes(const dnet_options_t *o, uint32_t ranks)
{
    return dnet_ep_ring_bytes(o, ranks, dnet_ep_processors(0), false);
}

/* A NIC as one of the job's. */
static dnet_status_t make_nic(const dnet_options_t *o, dnet_emu_nic_t **nic_p,
                              dnet_device_t **dev_p)
{
    dnet_emu_config_t config = {
        .profile = extended(o) ? DNET_PROFILE_EXTENDED : DNET_PROFILE_PROTOTYPE_FLOW, .lid = 1};
    dnet_status_t status = dnet_emu_create(&config, nic_p);
    if (status != DNET_OK)
        return status;
    status = dnet_emu_open(*nic_p, 0, true, dev_p);
    if (status != DNET_OK)
        dnet_emu_detach(*nic_p);
    return status;
}

static void show_nic(printer_t *p, const dnet_options_t *o, const dnet_device_t *dev)
{
    const dnet_geometry_t *g = &dev->geometry;
    heading(p, "NIC");
    fact(p, "profile", "profile", extended(o) ? "extended" : "prototype with a flow ring", "");
    number(p, "processes_per_nic", "processes per NIC", DNET_PROCESSES_PER_NIC, "");
    number(p, "nics_max", "NICs per job", DNET_NODES_MAX, "");
    number(p, "processes_max", "processes per job", DNET_NODES_MAX * DNET_PROCESSES_PER_NIC, "");
    number(p, "write_windows", "Write Windows of 512 bytes", g->ww_count, "");
    number(p, "prefetch_windows", "Prefetch Windows of 512 bytes", g->pw_count, "");
    number(p, "llcm_bytes", "LLCM", g->llcm_bytes, "bytes");
    number(p, "lh_entries", "LH Buffer entries (one stays free)", g->lh_entries, "");
    number(p, "flow_entries", "flow ring entries", g->flow_entries, "");
    number(p, "aperture_slots", "apertures", g->aperture_slots, "");
    number(p, "sodimm_bytes", "SO-DIMM area of a process", g->sodimm_bytes, "bytes");
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void show_paths(printer_t *p, const dnet_options_t *o, uint64_t eager)
{
    uint64_t packet = extended(o) ? DNET_DRV_PACKET_DATA_MAX : DNET_DRV_BOTF_DATA_MAX;
    uint64_t message = extended(o) && !o->cluster ? DNET_DRV_MESSAGE_DATA_MAX : packet;
    heading(p, "How a message travels, by its length");
    number(p, "limit_entry", "BOTF, one LH entry: up to", DNET_LH_DATA_BYTES, "bytes");
    if (extended(o)) {
        number(p, "limit_botf", "BOTF, entry of several lines: up to", DNET_DRV_BOTF_DATA_ROW,
               "bytes");
        number(p, "limit_botf_alone", "the same, of one that is alone: up to",
               DNET_DRV_BOTF_DATA_MOST, "bytes");
    } else {
        number(p, "limit_botf", "BOTF, entry and IPUSH ring: up to", DNET_DRV_BOTF_DATA_MAX,
               "bytes");
    }
    number(p, "limit_packet", "one IPUSH packet with LHSv2: up to", lesser(packet, eager), "bytes");
    number(p, "limit_message", "packets handed over together: up to", lesser(message, eager),
           "bytes");
    number(p, "limit_eager", "several packets to ranks of this host: up to", eager, "bytes");
    number(p, "split_from", "RVL by the receiver; RVL and RVS, by whoever has time: from",
           o->split_limit, "bytes");
}

static void show_flow_control(printer_t *p, const dnet_options_t *o, uint32_t ranks)
{
    heading(p, "Memory of one process for receiving");
    number(p, "ring_bytes", "IPUSH ring", ring_bytes(o, ranks), "bytes");
    number(p, "stopped_sender_bytes", "for each sender stopped now", sizeof(dnet_flow_entry_t),
           "bytes in the flow ring");
    number(p, "matrix_4096x256", "bit matrix of 4096 nodes x 256", dnet_fc_table_bytes(4096, 256),
           "bytes, for comparison");
    number(p, "matrix_32768x256", "bit matrix of 32768 nodes x 256",
           dnet_fc_table_bytes(32768, 256), "bytes, for comparison");
}

typedef struct {
    unsigned nics, processes;
    int32_t last;
} users_t;

static void count_use(void *arg, const dnet_emu_locator_t *at)
{
    users_t *u = arg;
    u->nics++;
    u->processes += at->pid != u->last; /* descriptors of a process come in a row */
    u->last = at->pid;
}

/* Every process of this user that holds a NIC's segment open. */
static void show_running(printer_t *p)
{
    users_t u = {0};
    dnet_emu_find(count_use, &u);
    heading(p, "In use now");
    number(p, "nics_now", "NIC segments held open", u.nics, "");
    number(p, "nic_processes_now", "by processes", u.processes, "");
}

static void show_plug(void *arg, const char *name, const char *title, bool found, const char *text)
{
    (void) title;
    (void) found;
    fact(arg, name, name, text, "");
}

/* Ways to other hosts: what is built, and what is found. */
static void show_plugs(printer_t *p)
{
    heading(p, "Plugs to other hosts");
    dnet_emu_plugs(show_plug, p);
}

/* ---- options ---- */

static void show_option(void *arg, const dnet_option_t *o)
{
    (void) arg;
    char value[32];
    if (o->number == DNET_OPTION_AUTO)
        snprintf(value, sizeof(value), "auto");
    else
        snprintf(value, sizeof(value), "%" PRIu64, o->number);
    bool number = o->kind == DNET_OPTION_IS_NUMBER;
    printf("  %-24s %-12s %s%s%s%s\n", o->variable,
           number    ? value
           : o->text ? o->text
                     : "-",
           o->title, number ? " (" : "", number ? o->unit : "", number ? ")" : "");
}

static void write_number(dnet_json_t *j, const char *key, uint64_t number)
{
    if (number == DNET_OPTION_AUTO)
        dnet_json_string(j, key, "auto");
    else
        dnet_json_int(j, key, (long long) number);
}

static void write_option(void *arg, const dnet_option_t *o)
{
    static const char *const kinds[] = {"choice", "number", "text"};
    dnet_json_t *j = arg;
    dnet_json_object(j, o->variable);
    dnet_json_string(j, "type", kinds[o->kind]);
    dnet_json_string(j, "set_by", o->set ? "environment" : "default");
    switch (o->kind) {
        case DNET_OPTION_IS_CHOICE:
            dnet_json_string(j, "value", o->text);
            dnet_json_string(j, "default", o->preset_text);
            dnet_json_array(j, "choices");
            for (int i = 0; o->choices[i]; i++)
                dnet_json_string(j, NULL, o->choices[i]);
            dnet_json_end_array(j);
            break;
        case DNET_OPTION_IS_NUMBER:
            write_number(j, "value", o->number);
            dnet_json_string(j, "unit", o->unit);
            write_number(j, "default", o->preset);
            dnet_json_int(j, "least", (long long) o->least);
            dnet_json_int(j, "most", (long long) o->most);
            break;
        case DNET_OPTION_IS_TEXT:
            if (o->text)
                dnet_json_string(j, "value", o->text);
            break;
    }
    dnet_json_string(j, "title", o->title);
    dnet_json_end_object(j);
}

/* ---- command line ---- */

typedef struct {
    bool json, topology;
    int ranks;
} options_t;

static const tool_option_t table[] = {
    TOOL_OPTION(options_t, json, "json", TOOL_FLAG, NULL, "as JSON"),
    TOOL_OPTION(options_t, ranks, "ranks", TOOL_INT, "N",
                "check the options for a job of N ranks (1)", .letter = 'n', .least = 1,
                .most = DNET_NODES_MAX * DNET_PROCESSES_PER_NIC),
    TOOL_OPTION(options_t, topology, "topology", TOOL_FLAG, NULL,
                "this host's topology instead, and what messages and memory do in it"),
    {NULL},
};

static int run(int argc, char **argv);

static const tool_command_t info = {
    .summary = "Prints version, NIC, limits, thresholds and options of this dimmnet installation.",
    .options = table,
    .run = run,
};

static int run(int argc, char **argv)
{
    dnet_json_t json;
    printer_t p = {0};
    options_t o = {.ranks = 1};
    dnet_options_t options;
    if (!tool_parse(&info, &argc, &argv, &o))
        return TOOL_USAGE;
    dnet_options_warn_unknown();
    dnet_status_t status = dnet_ep_check((uint32_t) o.ranks, &options);
    if (status != DNET_OK)
        return status == DNET_ERR_NO_MEMORY ? TOOL_SYSTEM : TOOL_USAGE;
    if (o.topology)
        return info_topology(&options, o.json);
    dnet_emu_nic_t *nic;
    dnet_device_t *dev;
    if (make_nic(&options, &nic, &dev) != DNET_OK)
        return TOOL_SYSTEM;
    /* A cluster's NICs have been made already, of whatever size. */
    if (!options.cluster &&
        dnet_ep_check_staging(&options, ring_bytes(&options, (uint32_t) o.ranks), dev) != DNET_OK)
        return TOOL_USAGE;
    uint64_t eager = dnet_ep_eager_near(&options, dev).alone;
    if (o.json && dnet_json_open(&json, "-") == DNET_OK)
        p.json = &json;
    heading(&p, "dimmnet");
    fact(&p, "version", "version", PACKAGE_VERSION, "");
    fact(&p, "compiler", "built with", __VERSION__, "");
    number(&p, "processors", "processors this process may use", processors(), "");
    show_nic(&p, &options, dev);
    dev->ops->close(dev);
    dnet_emu_detach(nic);
    show_paths(&p, &options, eager);
    show_flow_control(&p, &options, (uint32_t) o.ranks);
    show_running(&p);
    show_plugs(&p);
    if (!p.json) {
        printf("Options\n");
        dnet_options_each(&options, show_option, NULL);
        return TOOL_GOOD;
    }
    dnet_json_object(p.json, "options");
    dnet_options_each(&options, write_option, p.json);
    dnet_json_end_object(p.json);
    return dnet_json_close(p.json) == DNET_OK ? TOOL_GOOD : TOOL_SYSTEM;
}

int main(int argc, char **argv)
{
    static const tool_command_t *const commands[] = {&info, NULL};
    static const tool_t tool = {"dnet-info", commands, NULL, NULL};
    dnet_log_init();
    dnet_log_identity("dnet-info");
    return tool_main(&tool, argc, argv);
}
