/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file[64];

bool dnet_fabric_begin(char **argv)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    char all[4096];
    int fd;
    if (!path || strncmp(path, DNET_FAKE_LIBRARY, strlen(DNET_FAKE_LIBRARY)) != 0) {
        snprintf(all, sizeof(all), "%s%s%s", DNET_FAKE_LIBRARY, path ? ":" : "", path ? path : "");
        setenv("LD_LIBRARY_PATH", all, 1);
        execv("/proc/self/exe", argv);
        return false;
    }
    snprintf(file, sizeof(file), "/tmp/dnet-fake-verbs-XXXXXX");
    fd = mkstemp(file);
    if (fd < 0)
        return false;
    close(fd);
    setenv("DNET_FAKE_VERBS", file, 1);
    setenv("DIMMNET_PLUG", "verbs", 1);
    return true;
}

void dnet_fabric_end(void)
{
    unlink(file);
}

static void *function(const char *name)
{
    void *library = dlopen("libibverbs.so.1", RTLD_NOW);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f) {
        fprintf(stderr, "%s: not the fake library\n", name);
        abort();
    }
    return f;
}

void dnet_fabric_faults(const char *text)
{
    ((void (*)(const char *)) function("fake_verbs_faults"))(text);
}

void dnet_fabric_unmapped(const void *at, size_t bytes)
{
    ((void (*)(const void *, size_t)) function("fake_verbs_unmapped"))(at, bytes);
}

unsigned dnet_fabric_count(const char *what)
{
    return ((unsigned (*)(const char *)) function("fake_verbs_count"))(what);
}
