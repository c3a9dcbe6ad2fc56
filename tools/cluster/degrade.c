/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster degrade: makes a link sick.
 */
#include "config.h"

#include "tools/cluster/cluster.h"

typedef struct {
    const char *name, *speed;
    int width;
    double symbol_rate, receive_rate, delay_us, limit_mb_s, loss_percent;
    bool heal;
} options_t;

static const char *const width_words[] = {"1x", "4x", NULL};

static const tool_option_t options[] = {
    CLUSTER_NAME_OPTION(options_t),
    TOOL_OPTION(options_t, width, "width", TOOL_WORD, "1x|4x", "lanes in use (4x)",
                .words = width_words),
    TOOL_OPTION(options_t, speed, "speed", TOOL_TEXT, "S", "of a lane: SDR, DDR or QDR (QDR)"),
    TOOL_OPTION(options_t, symbol_rate, "symbol-errors", TOOL_FRACTION, "N",
                "symbol errors a second that the port counts from now on", .high = 1e6),
    TOOL_OPTION(options_t, receive_rate, "receive-errors", TOOL_FRACTION, "N",
                "receive errors a second, likewise", .high = 1e6),
    TOOL_OPTION(options_t, delay_us, "delay", TOOL_FRACTION, "US",
                "each packet arrives so many microseconds later (0)", .high = 1e6),
    TOOL_OPTION(options_t, limit_mb_s, "limit", TOOL_FRACTION, "MB/S",
                "what it carries at most in each direction; 0: no limit (0)", .high = 1e6),
    TOOL_OPTION(options_t, loss_percent, "loss", TOOL_FRACTION, "PERCENT",
                "of the packets are lost, and sent again after 1 ms; 0 to 90 (0)", .high = 90),
    TOOL_OPTION(options_t, heal, "heal", TOOL_FLAG, NULL,
                "full width and speed, no further errors, nothing slowed; what is counted stays"),
    {NULL},
};

static const dnet_switches_fault_t as_before = {
    .symbol_rate = -1, .receive_rate = -1, .delay_us = -1, .limit_mb_s = -1, .loss = -1};
static const dnet_switches_fault_t healed = {.lanes = DNET_SWITCHES_LANES,
                                             .lane_mbps = DNET_SWITCHES_LANE_MBPS};

/* A switch counts in whole units.  @return false: the value would be none; a line has said so */
static bool is_none_or(const char *option, double value, double least, const char *unit)
{
    if (value <= 0 || value >= least)
        return true;
    tool_error("--%s %g: want 0, or %g %s at least", option, value, least, unit);
    return false;
}

/* @return false: a line has said what is wrong */
static bool fault_of(const options_t *o, dnet_switches_fault_t *f)
{
    *f = o->heal ? healed : as_before;
    if (o->symbol_rate >= 0)
        f->symbol_rate = o->symbol_rate;
    if (o->receive_rate >= 0)
        f->receive_rate = o->receive_rate;
    if (o->delay_us >= 0)
        f->delay_us = o->delay_us;
    if (o->limit_mb_s >= 0)
        f->limit_mb_s = o->limit_mb_s;
    if (o->loss_percent >= 0)
        f->loss = o->loss_percent / 100;
    if (!is_none_or("delay", o->delay_us, 1, "us") ||
        !is_none_or("limit", o->limit_mb_s, 1, "MB/s") ||
        !is_none_or("loss", o->loss_percent, 1e-4, "%"))
        return false;
    if (o->width >= 0)
        f->lanes = o->width ? 4 : 1;
    if (o->speed)
        f->lane_mbps = dnet_switches_speed(o->speed);
    if (o->speed && !f->lane_mbps) {
        tool_error("--speed %s: expected one of SDR, DDR or QDR", o->speed);
        return false;
    }
    if (o->heal || o->width >= 0 || o->speed || o->symbol_rate >= 0 || o->receive_rate >= 0 ||
        o->delay_us >= 0 || o->limit_mb_s >= 0 || o->loss_percent >= 0)
        return true;
    tool_error(
        "want --width, --speed, --symbol-errors, --receive-errors, --delay, --limit, --loss or "
        "--heal");
    return false;
}

static int run(int argc, char **argv)
{
    dnet_network_t n;
    dnet_switches_fault_t fault;
    options_t o = {.width = -1,
                   .symbol_rate = -1,
                   .receive_rate = -1,
                   .delay_us = -1,
                   .limit_mb_s = -1,
                   .loss_percent = -1};
    dnet_topo_part_t part;
    int code;
    if (!tool_parse(&cluster_degrade, &argc, &argv, &o) || !fault_of(&o, &fault))
        return TOOL_USAGE;
    if ((code = tool_network_open(o.name, true, &n)) != TOOL_GOOD)
        return code;
    const dnet_topo_t *t = n.fabric->topo;
    if (!dnet_topo_find_part(t, argv[0], &part) || part.link == DNET_TOPO_NONE) {
        tool_error("%s is no link between switches", argv[0]);
        code = TOOL_USAGE;
    } else {
        int first = 2 * part.link;
        int channel = first + (dnet_topo_tail(t, first) != part.sw);
        if (o.heal) /* either end may count errors */
            dnet_switches_degrade(&n.switches, channel ^ 1, &healed);
        dnet_switches_degrade(&n.switches, channel, &fault);
    }
    dnet_network_leave(&n);
    return code;
}

const tool_command_t cluster_degrade = {
    .name = "degrade",
    .args = "SWITCH:PORT",
    .args_least = 1,
    .args_most = 1,
    .summary = "make a link sick or slow; dnet-subnet health finds what is sick",
    .options = options,
    .run = run,
};
