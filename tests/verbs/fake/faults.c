/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

typedef struct {
    char call[24];
    unsigned seen;
    unsigned at; /* 0: each */
    int value;   /* 0: only counted */
} fault_t;

static fault_t faults[FAKE_WAITS];
static unsigned count;
static bool read_environment;

static int number_of(const char *text)
{
    static const struct {
        const char *name;
        int value;
    } names[] = {{"ENOMEM", ENOMEM}, {"EPERM", EPERM},   {"EACCES", EACCES},
                 {"EINVAL", EINVAL}, {"ENODEV", ENODEV}, {"EAGAIN", EAGAIN}};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(text, names[i].name, strlen(names[i].name)) == 0)
            return names[i].value;
    return atoi(text);
}

static void add(const char *call, unsigned at, int value)
{
    if (count == FAKE_WAITS) {
        fprintf(stderr, "fake libibverbs: too many faults\n");
        abort();
    }
    fault_t *f = &faults[count++];
    *f = (fault_t){.at = at, .value = value};
    snprintf(f->call, sizeof(f->call), "%s", call);
}

void fake_verbs_faults(const char *text)
{
    char call[24], at[16], value[24];
    count = 0;
    read_environment = true;
    while (text && sscanf(text, "%23[^@]@%15[^=]=%23[^,]", call, at, value) == 3) {
        add(call, at[0] == '*' ? 0 : (unsigned) atoi(at), number_of(value));
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
}

/* One more of them; the value of a fault that is due. */
static int happened(const char *call)
{
    int value = 0;
    bool known = false;
    if (!read_environment)
        fake_verbs_faults(getenv("DNET_FAKE_VERBS_FAULTS"));
    for (unsigned i = 0; i < count; i++)
        if (strcmp(faults[i].call, call) == 0) {
            known = true;
            faults[i].seen++;
            if (faults[i].value && (faults[i].at == 0 || faults[i].at == faults[i].seen))
                value = faults[i].value;
        }
    if (!known) {
        add(call, 0, 0);
        faults[count - 1].seen = 1;
    }
    return value;
}

int fake_fault(const char *call)
{
    return happened(call);
}

void fake_note(const char *what)
{
    (void) happened(what);
}

unsigned fake_verbs_count(const char *what)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(faults[i].call, what) == 0)
            return faults[i].seen;
    return 0;
}
