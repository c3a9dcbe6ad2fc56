/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rails experiment's settings, for `rails` and `reproduce`.
 */
#ifndef DNET_TOOLS_SUBNET_RAILS_H
#define DNET_TOOLS_SUBNET_RAILS_H

#include "tools/subnet/subnet.h"

#include "subnet/judges/rails.h"

/* TSUBAME2.0's rails: alike but for where the I/O servers hang [MR §1]. */
#define RAILS_FIRST "tsubame:88:18:6:0"
#define RAILS_SECOND "tsubame:88:18:6:16"
#define RAILS_SETTINGS 5
#define RAILS_SICK_MAX 64    /* sick links of a rail */
#define RAILS_SICK_RATE 0.25 /* 1x QDR or 4x SDR instead of 4x QDR [MR §3.2] */

typedef struct rails_setting {
    const char *name, *engine[2];
    /* sick links are out of service; else they run at a quarter of their speed */
    bool repaired;
} rails_setting_t;

extern const rails_setting_t rails_settings[RAILS_SETTINGS]; /* hetero is the last */

typedef struct rails {
    const rails_setting_t *setting;
    dnet_topo_t *topo[2];
    dnet_routing_t routing[2];
    dnet_rail_t rail[2];
} rails_t;

typedef struct rails_sample {
    double mean, best, lowest; /* of the trials' slowest pairs, GB/s */
    int outliers;              /* trials below 1 GB/s */
} rails_sample_t;

/**
 * Route both rails; close even after a failure.
 *
 * @param sick  links of each rail that are sick, at most one an edge switch; which ones depends on
 *              the seed only, so that every setting has the same
 */
dnet_status_t rails_open(rails_t *rs, const rails_setting_t *setting, const char *const topology[2],
                         int sick, uint64_t seed);
void rails_close(rails_t *rs);

dnet_status_t rails_sample(rails_t *rs, int nodes, int trials, uint64_t seed, dnet_stripe_t stripe,
                           rails_sample_t *out);

#endif
