/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the process behind a WID is still there.  The NIC itself does not care; those who wait for
 * that process do.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "emulator/nic.h"

/* Gone, or ended and not yet collected by its parent. */
static bool process_ended(int32_t pid)
{
    char path[32], line[256];

    if (kill(pid, 0) != 0)
        return errno == ESRCH;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT;
    size_t n = fread(line, 1, sizeof(line) - 1, f);
    fclose(f);
    line[n] = '\0';
    /* pid (name) state ...; the name may hold blanks and parentheses. */
    const char *end = strrchr(line, ')');
    return end && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
}

bool dnet_emu_peer_lost(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    const dnet_emu_nic_t *peer = lid == nic->lid ? nic : NULL;

    if (wid >= DNET_PROCESSES_PER_NIC)
        return false;
    if (!peer && nic->route)
        peer = nic->route[dnet_lid_to_clid(lid)].nic;
    if (!peer)
        return false;
    int32_t owner = atomic_load_explicit(&peer->state->wid[wid].owner, memory_order_relaxed);
    return owner != 0 && process_ended(owner);
}
