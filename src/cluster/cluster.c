/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding, checking, listing and ending clusters.
 */
#include "config.h"

#include "cluster/roster.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "dimmnet/format.h"

#define FILE_PREFIX "dimmnet-cluster"
#define STOP_TIMEOUT_MS 5000

static bool good_name(const char *name)
{
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return len > 0 && len <= DNET_CLUSTER_NAME_MAX && name[len] == '\0' &&
           isalnum((unsigned char) name[0]);
}

dnet_status_t dnet_roster_path(const char *name, char path[DNET_ROSTER_PATH_BYTES])
{
    if (!good_name(name)) {
        dnet_error(
            "cluster name '%.40s': want 1 to %u letters, digits, '.', '_' and '-', the first a "
            "letter or digit",
            name, DNET_CLUSTER_NAME_MAX);
        return DNET_ERR_ARGUMENT;
    }
    snprintf(path, DNET_ROSTER_PATH_BYTES, DNET_ROSTER_DIR "/" FILE_PREFIX "-%u-%s",
             (unsigned) geteuid(), name);
    return DNET_OK;
}

/* The keeper's lock shows that it lives; ours can only be had when it does not. */
static bool keeper_lives(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
}

/* Remove a roster whose keeper has ended.  Only the holder of the lock removes, and only while the
 * name still leads to the file that is locked: a new cluster of that name is never hit. */
static void sweep(const char *path, int fd)
{
    struct stat here, there;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return;
    if (fstat(fd, &here) == 0 && lstat(path, &there) == 0 && here.st_ino == there.st_ino &&
        here.st_dev == there.st_dev)
        unlink(path);
    flock(fd, LOCK_UN);
}

/* No other user can have written the file: it is this user's, and no other may open it. */
static dnet_status_t check_owner(const char *path, int fd, off_t *bytes_p)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        dnet_error("%s: %m", path);
        return DNET_ERR_SYSTEM;
    }
    if (st.st_uid != geteuid() || !S_ISREG(st.st_mode) || (st.st_mode & 0777) != 0600) {
        dnet_error(
            "%s: user %u, mode %o: not a cluster of user %u, mode 600; choose another name or have "
            "it removed",
            path, (unsigned) st.st_uid, (unsigned) st.st_mode & 0777, (unsigned) geteuid());
        return DNET_ERR_SYSTEM;
    }
    *bytes_p = st.st_size;
    return DNET_OK;
}

static bool read_all(int fd, void *to, size_t bytes, off_t at)
{
    return pread(fd, to, bytes, at) == (ssize_t) bytes;
}

static dnet_status_t read_roster(const char *path, dnet_cluster_t *c, off_t bytes)
{
    dnet_roster_header_t h;
    dnet_roster_node_t n;
    if (!read_all(c->fd, &h, sizeof(h), 0) || h.magic != DNET_ROSTER_MAGIC ||
        h.version != DNET_ROSTER_VERSION || h.nodes < 1 || h.nodes > DNET_NODES_MAX ||
        h.profile > DNET_PROFILE_PROTOTYPE_FLOW || h.keeper <= 0 ||
        bytes != (off_t) (sizeof(h) + h.nodes * sizeof(n))) {
        dnet_error("%s: not a cluster of this version (%u); remove it", path, DNET_ROSTER_VERSION);
        return DNET_ERR_FORMAT;
    }
    c->keeper = h.keeper;
    c->nodes = h.nodes;
    c->profile = (dnet_profile_t) h.profile;
    c->since = h.since;
    c->fabric = h.fabric;
    c->switches = h.switches;
    c->node = calloc(h.nodes, sizeof(*c->node));
    if (!c->node) {
        dnet_error("no memory for a cluster of %u nodes", h.nodes);
        return DNET_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < h.nodes; i++) {
        if (!read_all(c->fd, &n, sizeof(n), (off_t) (sizeof(h) + i * sizeof(n)))) {
            dnet_error("%s: cannot read node %u", path, i + 1);
            return DNET_ERR_SYSTEM;
        }
        c->node[i] = (dnet_emu_locator_t){.pid = h.keeper, .fd = n.fd, .id = n.id, .lid = n.lid};
    }
    return DNET_OK;
}

static dnet_status_t read_cluster(const char *path, dnet_cluster_t *c)
{
    off_t bytes;
    c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (c->fd < 0 && errno == ENOENT)
        return DNET_NOT_FOUND;
    if (c->fd < 0) {
        dnet_error("cannot open %s: %m", path);
        return DNET_ERR_SYSTEM;
    }
    dnet_status_t status = check_owner(path, c->fd, &bytes);
    if (status != DNET_OK)
        return status;
    if (!keeper_lives(c->fd)) {
        sweep(path, c->fd);
        return DNET_NOT_FOUND;
    }
    return read_roster(path, c, bytes);
}

dnet_status_t dnet_cluster_open(const char *name, dnet_cluster_t **cluster_p)
{
    char path[DNET_ROSTER_PATH_BYTES];
    dnet_status_t status = dnet_roster_path(name, path);
    if (status != DNET_OK)
        return status;
    dnet_cluster_t *c = calloc(1, sizeof(*c));
    if (!c) {
        dnet_error("no memory for a cluster");
        return DNET_ERR_NO_MEMORY;
    }
    snprintf(c->name, sizeof(c->name), "%s", name);
    status = read_cluster(path, c);
    if (status != DNET_OK) {
        dnet_cluster_close(c);
        return status;
    }
    *cluster_p = c;
    return DNET_OK;
}

void dnet_cluster_close(dnet_cluster_t *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->node);
    free(c);
}

bool dnet_cluster_alive(const dnet_cluster_t *c)
{
    char path[DNET_ROSTER_PATH_BYTES];
    if (keeper_lives(c->fd))
        return true;
    if (dnet_roster_path(c->name, path) == DNET_OK)
        sweep(path, c->fd);
    return false;
}

void dnet_cluster_each(void (*visit)(void *arg, const dnet_cluster_t *cluster), void *arg)
{
    char prefix[48];
    int len = snprintf(prefix, sizeof(prefix), FILE_PREFIX "-%u-", (unsigned) geteuid());
    DIR *directory = opendir(DNET_ROSTER_DIR);
    for (struct dirent *e; directory && (e = readdir(directory));) {
        dnet_cluster_t *c;
        if (strncmp(e->d_name, prefix, (size_t) len) != 0 || !good_name(e->d_name + len) ||
            dnet_cluster_open(e->d_name + len, &c) != DNET_OK)
            continue;
        visit(arg, c);
        dnet_cluster_close(c);
    }
    if (directory)
        closedir(directory);
}

static bool wait_end(int pidfd, int timeout_ms)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

dnet_status_t dnet_cluster_stop(const dnet_cluster_t *c)
{
    int pidfd = (int) syscall(SYS_pidfd_open, c->keeper, 0);
    /* While the roster is locked its keeper lives, so the number still means that process. */
    if (pidfd >= 0 && dnet_cluster_alive(c)) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0);
        if (!wait_end(pidfd, STOP_TIMEOUT_MS)) {
            syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
            wait_end(pidfd, STOP_TIMEOUT_MS);
        }
    }
    if (pidfd >= 0)
        close(pidfd);
    if (!dnet_cluster_alive(c))
        return DNET_OK;
    dnet_error("cluster %s: its keeper, process %d, cannot be ended", c->name, c->keeper);
    return DNET_ERR_SYSTEM;
}
