/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keeper: the process a cluster belongs to.  It makes the NICs, gives the cluster its name, and
 * waits.
 */
#include "config.h"

#include "cluster/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "common/log.h"
#include "driver/driver.h"

#define SPARE_DESCRIPTORS 32u

/* What the keeper holds. */
typedef struct {
    const dnet_cluster_config_t *config;
    dnet_emu_nic_t **nic; /* [nodes]; NULL: not made yet */
    int roster;
    int stop;  /* signalfd */
    int owner; /* pidfd; -1: none */
    bool named;
    char path[DNET_ROSTER_PATH_BYTES];
} keeper_t;

static dnet_status_t check_config(const dnet_cluster_config_t *config)
{
    if (config->nodes >= 1 && config->nodes <= DNET_NODES_MAX)
        return DNET_OK;
    dnet_error("a cluster of %u nodes: the NIC's addresses reach 1 to %u", config->nodes,
               DNET_NODES_MAX);
    return DNET_ERR_LIMIT;
}

/* One descriptor for each NIC. */
static dnet_status_t allow_descriptors(uint32_t nodes)
{
    uint64_t need = nodes + SPARE_DESCRIPTORS, allowed = dnet_descriptors_allow(need);
    if (allowed >= need)
        return DNET_OK;
    dnet_error(
        "a cluster of %u nodes needs %lu open files, the limit is %lu; raise it (ulimit -Hn)",
        nodes, (unsigned long) need, (unsigned long) allowed);
    return DNET_ERR_LIMIT;
}

/* Annex B of the data sheet, as the privileged process of each node would do it. */
static dnet_status_t bring_up(dnet_emu_nic_t *nic, uint8_t pgid)
{
    dnet_device_t *dev;
    dnet_status_t status = dnet_emu_open(nic, 0, true, &dev);
    if (status != DNET_OK)
        return status;
    status = dnet_drv_bring_up(dev, pgid);
    dev->ops->close(dev);
    return status;
}

static uint16_t lid_of(const dnet_cluster_config_t *config, uint32_t i)
{
    return config->lid ? config->lid[i] : dnet_node_to_lid((uint16_t) (i + 1));
}

static dnet_status_t make_nics(keeper_t *k)
{
    dnet_status_t status = allow_descriptors(k->config->nodes);
    k->nic = calloc(k->config->nodes, sizeof(*k->nic));
    if (status == DNET_OK && !k->nic) {
        dnet_error("no memory for a cluster of %u nodes", k->config->nodes);
        return DNET_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; status == DNET_OK && i < k->config->nodes; i++) {
        dnet_emu_config_t config = {.profile = k->config->profile, .lid = lid_of(k->config, i)};
        status = dnet_emu_create(&config, &k->nic[i]);
        if (status == DNET_OK && !k->config->cold)
            status = bring_up(k->nic[i], k->config->pgid);
    }
    return status;
}

static bool write_roster(const keeper_t *k)
{
    dnet_roster_header_t h = {
        .magic = DNET_ROSTER_MAGIC,
        .version = DNET_ROSTER_VERSION,
        .nodes = k->config->nodes,
        .profile = (uint32_t) k->config->profile,
        .keeper = getpid(),
        .since = (int64_t) time(NULL),
        .fabric = k->config->fabric,
        .switches = k->config->switches,
    };
    bool good = write(k->roster, &h, sizeof(h)) == (ssize_t) sizeof(h);
    for (uint32_t i = 0; good && i < h.nodes; i++) {
        dnet_emu_locator_t at;
        dnet_emu_locate(k->nic[i], &at);
        dnet_roster_node_t n = {.id = at.id, .fd = at.fd, .lid = at.lid};
        good = write(k->roster, &n, sizeof(n)) == (ssize_t) sizeof(n);
    }
    return good;
}

/* The file is complete and locked before it gets its name: no process ever sees half a cluster. */
static dnet_status_t publish(keeper_t *k)
{
    char self[64];
    k->roster = open(DNET_ROSTER_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (k->roster < 0 || fchmod(k->roster, 0600) != 0 || flock(k->roster, LOCK_EX | LOCK_NB) != 0 ||
        !write_roster(k)) {
        dnet_error("cannot make a roster in %s: %m", DNET_ROSTER_DIR);
        return DNET_ERR_SYSTEM;
    }
    snprintf(self, sizeof(self), "/proc/self/fd/%d", k->roster);
    k->named = linkat(AT_FDCWD, self, AT_FDCWD, k->path, AT_SYMLINK_FOLLOW) == 0;
    if (k->named)
        return DNET_OK;
    int error = errno;
    if (error == EEXIST)
        dnet_error("cluster %s is already up; end it with: dnet-cluster down %s", k->config->name,
                   k->config->name);
    else
        dnet_error("cannot make %s: %m", k->path);
    return error == EEXIST ? DNET_ERR_STATE : DNET_ERR_SYSTEM;
}

/* Have the end of the owner and signals arrive as events. */
static dnet_status_t watch_ends(keeper_t *k)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    k->stop = signalfd(-1, &set, SFD_CLOEXEC);
    if (k->stop < 0) {
        dnet_error("cannot wait for signals: %m");
        return DNET_ERR_SYSTEM;
    }
    if (k->config->owner == 0)
        return DNET_OK;
    k->owner = (int) syscall(SYS_pidfd_open, k->config->owner, 0);
    if (k->owner >= 0)
        return DNET_OK;
    dnet_error("owner %d: %m", k->config->owner);
    return DNET_ERR_ARGUMENT;
}

static void wait_for_end(const keeper_t *k)
{
    struct pollfd ends[2] = {{.fd = k->stop, .events = POLLIN}, {.fd = k->owner, .events = POLLIN}};
    while (poll(ends, 2, -1) < 0 && errno == EINTR)
        continue;
}

static void release(keeper_t *k)
{
    if (k->named)
        unlink(k->path); /* locked: it is ours */
    for (uint32_t i = 0; k->nic && i < k->config->nodes; i++)
        if (k->nic[i])
            dnet_emu_detach(k->nic[i]);
    free(k->nic);
    for (unsigned i = 0; i < 3; i++) {
        int fd = (int[]){k->stop, k->owner, k->roster}[i];
        if (fd >= 0)
            close(fd);
    }
}

dnet_status_t dnet_cluster_keep(const dnet_cluster_config_t *config, void (*ready)(void *arg),
                                void *arg)
{
    keeper_t k = {.config = config, .roster = -1, .stop = -1, .owner = -1};
    dnet_cluster_t *old;
    dnet_status_t status = check_config(config);
    if (status == DNET_OK)
        status = dnet_roster_path(config->name, k.path);
    if (status != DNET_OK)
        return status;
    /* Removes what a keeper of that name left behind; publish() finds out about one that lives. */
    if (dnet_cluster_open(config->name, &old) == DNET_OK)
        dnet_cluster_close(old);
    status = watch_ends(&k);
    if (status == DNET_OK)
        status = make_nics(&k);
    if (status == DNET_OK)
        status = publish(&k);
    if (status == DNET_OK) {
        ready(arg);
        wait_for_end(&k);
    }
    release(&k);
    return status;
}
