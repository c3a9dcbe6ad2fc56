/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/processes.h"

/* State and parent of a process.  @return false: there is none */
static bool read_stat(int32_t pid, char *state_p, int *parent_p)
{
    char path[32], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;
    if (in)
        fclose(in);
    text[n] = '\0';
    /* The name before may hold anything, so look behind its last parenthesis: state, parent. */
    const char *rest = strrchr(text, ')');
    return rest && sscanf(rest + 1, " %c %d", state_p, parent_p) == 2;
}

char tool_run_state(int32_t pid)
{
    char state;
    int parent;
    return read_stat(pid, &state, &parent) ? state : '\0';
}

int32_t tool_parent_of(int32_t pid)
{
    char state;
    int parent;
    return read_stat(pid, &state, &parent) ? parent : 0;
}

bool tool_descends(int32_t pid, int32_t ancestor)
{
    for (unsigned depth = 0; pid > 0 && depth < 64; depth++, pid = tool_parent_of(pid))
        if (pid == ancestor)
            return true;
    return false;
}

bool tool_memfd_of(int32_t pid, const char *name, tool_memfd_fn visit, void *arg)
{
    char folder[64], path[400], target[64], want[64];
    bool found = false;
    size_t len = (size_t) snprintf(want, sizeof(want), "/memfd:%s ", name);
    snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strncmp(target, want, len) == 0)
            found = visit(arg, pid, path);
    }
    if (d)
        closedir(d);
    return found;
}

void tool_memfds_below(int32_t ancestor, const char *name, tool_memfd_fn visit, void *arg)
{
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        int32_t pid = isdigit((unsigned char) e->d_name[0]) ? (int32_t) atol(e->d_name) : 0;
        if (pid && (ancestor == 0 || tool_descends(pid, ancestor)))
            tool_memfd_of(pid, name, visit, arg);
    }
    if (d)
        closedir(d);
}
