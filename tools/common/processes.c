/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/processes.h"

int32_t tool_parent_of(int32_t pid)
{
    char path[32], text[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;
    if (in)
        fclose(in);
    text[n] = '\0';
    /* The name before may hold anything, so look behind its last parenthesis: state, parent. */
    const char *rest = strrchr(text, ')');
    return rest && sscanf(rest + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

bool tool_descends(int32_t pid, int32_t ancestor)
{
    for (unsigned depth = 0; pid > 0 && depth < 64; depth++, pid = tool_parent_of(pid))
        if (pid == ancestor)
            return true;
    return false;
}
