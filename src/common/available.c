/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/available.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 1024

/* What the two versions of control groups call the same. */
typedef struct {
    const char *controller; /* in /proc/self/cgroup */
    const char *folder;     /* of the group that is above all that this process can see */
    const char *most, *used;
    const char *files[2]; /* lines of memory.stat; shared memory is not in them */
} version_t;

static const version_t versions[] = {
    {"",
     "/sys/fs/cgroup",
     "memory.max",
     "memory.current",
     {"inactive_file %llu", "active_file %llu"}},
    {"memory",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file %llu", "total_active_file %llu"}},
};
#define VERSIONS (sizeof versions / sizeof *versions)

/* The number in the first line of that form; UINT64_MAX: there is none. */
static uint64_t number_in(const char *folder, const char *name, const char *format)
{
    char path[PATH_BYTES + 64], line[256];
    unsigned long long value = 0;
    bool found = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, format, &value) == 1;
    fclose(file);
    return found ? value : UINT64_MAX;
}

/* What one control group allows. */
static uint64_t of_group(const version_t *v, const char *folder, uint64_t wanted)
{
    uint64_t most = number_in(folder, v->most, "%llu");
    uint64_t used = most == UINT64_MAX ? UINT64_MAX : number_in(folder, v->used, "%llu");
    if (used == UINT64_MAX)
        return UINT64_MAX;
    for (unsigned i = 0; i < 2 && (used > most || most - used < wanted); i++) {
        uint64_t files = number_in(folder, "memory.stat", v->files[i]);
        used -= files < used ? files : 0;
    }
    return used < most ? most - used : 0;
}

/* What a control group and all above it allow.  A container may see another tree of them than the
 * path is in, which then ends at its own group. */
static uint64_t of_groups(const version_t *v, const char *root, const char *path, uint64_t wanted)
{
    char folder[2 * PATH_BYTES];
    uint64_t least = UINT64_MAX;
    snprintf(folder, sizeof folder, "%s%s", root, v->folder);
    size_t above = strlen(folder);
    if (path[0] == '/' && path[1] && !strstr(path, "/.."))
        snprintf(folder + above, sizeof folder - above, "%s", path);
    for (;;) {
        uint64_t here = of_group(v, folder, wanted);
        least = here < least ? here : least;
        if (!folder[above])
            return least;
        *strrchr(folder, '/') = '\0';
    }
}

/* The control group of this process, by version. */
static void find_groups(const char *root, char path[VERSIONS][PATH_BYTES])
{
    char line[PATH_BYTES];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *at = controllers ? strchr(controllers + 1, ':') : NULL;
        size_t bytes = at ? strcspn(at, "\n") : 0;
        if (!at || at[bytes] != '\n')
            continue;
        *at = at[bytes] = '\0';
        for (unsigned v = 0; v < VERSIONS; v++)
            if (strcmp(controllers + 1, versions[v].controller) == 0)
                strcpy(path[v], at + 1);
    }
    if (file)
        fclose(file);
}

uint64_t dnet_available(const char *root, uint64_t wanted)
{
    char path[VERSIONS][PATH_BYTES] = {{0}};
    uint64_t kilobytes = number_in(root, "proc/meminfo", "MemAvailable: %llu kB");
    uint64_t least = kilobytes == UINT64_MAX ? UINT64_MAX : kilobytes * 1024;
    find_groups(root, path);
    for (unsigned v = 0; v < VERSIONS; v++) {
        uint64_t allowed = of_groups(&versions[v], root, path[v], wanted);
        least = allowed < least ? allowed : least;
    }
    return least;
}
