/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSM's partition configuration:
 *
 *   Default=0x7fff, ipoib : ALL=limited, 0x0000000000100001=full ;
 *   storage = 0x0002, defmember = full : 0x100004, 0x100007 = limited ;
 *
 * Partitions of one P_Key are one, and so are those of one name where a head has no P_Key.  All
 * servers are limited members of the default partition, 0x7fff, as OpenSM makes them whatever the
 * file says.  SELF, the subnet manager's port, can be any server's: the file does not say whose.
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PKEY_DEFAULT 0x7fff

typedef struct reader {
    const dnet_topo_t *t;
    dnet_partitions_t *p;
    const char *path;
    int line;
    int partition; /* whose members are being read; NONE: its head is next */
    bool full;     /* members of whom nothing is said */
    char name[DNET_PARTITIONS_MAX][32];
} reader_t;

static dnet_status_t refuse(const reader_t *r, const char *word, const char *expected)
{
    dnet_error("subnet: %s:%d: '%.40s': expected %s", r->path, r->line, word, expected);
    return DNET_ERR_FORMAT;
}

/* The text without the blanks around it. */
static char *stripped(char *text)
{
    while (isspace((unsigned char) *text))
        text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char) text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* "a = b" in two; value_p NULL where there is no =. */
static char *split(char *part, char **value_p)
{
    char *equals = strchr(part, '=');
    if (equals)
        *equals++ = '\0';
    *value_p = equals ? stripped(equals) : NULL;
    return stripped(part);
}

static int find_name(const reader_t *r, const char *name)
{
    for (int i = 0; i < r->p->count && *name; i++)
        if (strcmp(r->name[i], name) == 0)
            return i;
    return DNET_TOPO_NONE;
}

/* "name=0x7fff", the first part of a head; one that begins with a digit is the P_Key alone. */
static dnet_status_t read_name(reader_t *r, char *name, const char *value)
{
    char *end = NULL;
    if (!value && isdigit((unsigned char) *name)) {
        value = name;
        name = "";
    }
    long pkey = value ? strtol(value, &end, 0) : 0;
    if (value && (end == value || *end || pkey < 0 || pkey > 0xffff))
        return refuse(r, value, "NAME=P_KEY with a key of 16 bits");
    if (strlen(name) >= sizeof(r->name[0]))
        return refuse(r, name, "a name of at most 31 characters");
    pkey &= 0x7fff; /* the rest says whether who has it is a full member */
    int before = r->p->count;
    r->partition = pkey ? DNET_TOPO_NONE : find_name(r, name);
    if (r->partition == DNET_TOPO_NONE)
        r->partition = dnet_partitions_get(r->p, pkey ? (int) pkey : DNET_TOPO_NONE);
    r->full = false;
    if (r->partition == DNET_TOPO_NONE)
        return refuse(r, name, "64 partitions at most");
    if (r->partition == before)
        snprintf(r->name[before], sizeof(r->name[before]), "%s", name);
    return DNET_OK;
}

/* As OpenSM: full, limited or both, or how one of them begins. */
static dnet_status_t read_membership(const reader_t *r, const char *how, bool *full)
{
    static const char *const names[] = {"full", "both", "limited"};
    for (int i = 0; i < 3; i++)
        if (*how && strncmp(how, names[i], strlen(how)) == 0) {
            *full = i < 2;
            return DNET_OK;
        }
    return refuse(r, how, "full, limited or both");
}

/* A flag, of which one counts here. */
static dnet_status_t read_flag(reader_t *r, const char *flag, const char *value)
{
    static const char *const plain[] = {"ipoib", "indx0"};
    static const char *const valued[] = {"mtu",   "rate",   "scope",    "sl",
                                         "Q_Key", "TClass", "FlowLabel"};
    if (value && strcmp(flag, "defmember") == 0)
        return read_membership(r, value, &r->full);
    for (size_t i = 0; !value && i < sizeof(plain) / sizeof(plain[0]); i++)
        if (strcmp(flag, plain[i]) == 0)
            return DNET_OK;
    for (size_t i = 0; value && i < sizeof(valued) / sizeof(valued[0]); i++)
        if (strcmp(flag, valued[i]) == 0)
            return DNET_OK;
    return refuse(r, flag,
                  "ipoib, indx0, defmember=, mtu=, rate=, sl=, scope=, Q_Key=, TClass= or "
                  "FlowLabel= behind a comma");
}

/* The server of a port GUID; NONE: there is none such.  @return false: it is no GUID */
static bool find_port(const reader_t *r, const char *text, int *host_p)
{
    char guid[24], *end;
    uint64_t value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char) *text) || *end || !value)
        return false;
    snprintf(guid, sizeof(guid), "0x%" PRIx64, value);
    *host_p = dnet_topo_find_host(r->t, guid);
    return true;
}

static dnet_status_t read_member(reader_t *r, const char *name, const char *how)
{
    const dnet_topo_t *t = r->t;
    bool full = r->full;
    dnet_status_t st = how ? read_membership(r, how, &full) : DNET_OK;
    bool all =
        strcmp(name, "ALL") == 0 || strcmp(name, "ALL_CAS") == 0 || strcmp(name, "SELF") == 0;
    bool others = strcmp(name, "ALL_SWITCHES") == 0 || strcmp(name, "ALL_ROUTERS") == 0 ||
                  strcmp(name, "NONE") == 0;
    int one = DNET_TOPO_NONE;
    if (!st && !all && !others && !find_port(r, name, &one))
        return refuse(r, name, "a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF");
    for (int h = 0; h < t->n_hosts && !st; h++) {
        if (!all && h != one)
            continue;
        r->p->member[h] |= (uint64_t) 1 << r->partition;
        r->p->full[h] |= (uint64_t) full << r->partition;
    }
    return st;
}

/* Up to the colon: name and key, then flags. */
static dnet_status_t read_head(reader_t *r, char *text)
{
    char *rest = text, *value, *part = split(strsep(&rest, ","), &value);
    dnet_status_t st = read_name(r, part, value);
    while (!st && rest) {
        part = split(strsep(&rest, ","), &value);
        st = read_flag(r, part, value);
    }
    return st;
}

static dnet_status_t read_members(reader_t *r, char *text)
{
    dnet_status_t st = DNET_OK;
    if (strncmp(text + strspn(text, " \t"), "mgid=", 5) == 0)
        return DNET_OK; /* a line of its own for a multicast group */
    for (char *rest = text; !st && rest;) {
        char *how, *name = split(strsep(&rest, ","), &how);
        if (*name || how)
            st = read_member(r, name, how);
    }
    return st;
}

/* A line is a head, members, or both, and may end one partition and begin another. */
static dnet_status_t read_line(reader_t *r, char *text)
{
    dnet_status_t st = DNET_OK;
    text[strcspn(text, "#\r\n")] = '\0';
    while (!st && text[strspn(text, " \t")]) {
        char *colon = r->partition == DNET_TOPO_NONE ? strchr(text, ':') : NULL;
        if (r->partition == DNET_TOPO_NONE && !colon)
            return refuse(r, text, "NAME=P_KEY ... : members ;");
        if (colon) {
            *colon = '\0';
            st = read_head(r, text);
            text = colon + 1;
            continue;
        }
        char *end = strchr(text, ';');
        if (end)
            *end = '\0';
        st = read_members(r, text);
        if (!end)
            break;
        r->partition = DNET_TOPO_NONE;
        text = end + 1;
    }
    return st;
}

dnet_status_t dnet_partitions_read(const dnet_topo_t *t, const char *path, dnet_partitions_t **out)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    reader_t r = {.t = t, .path = path, .partition = DNET_TOPO_NONE};
    dnet_status_t st = dnet_partitions_new(t, &r.p);
    char *line = NULL;
    size_t room = 0;
    while (!st && getline(&line, &room, in) > 0) {
        r.line++;
        st = read_line(&r, line);
    }
    free(line);
    st = dnet_subnet_close(in, path, st);
    if (!st && (r.p->count == 0 || r.partition != DNET_TOPO_NONE))
        st = refuse(&r, "end of file", "partitions, each with a ; behind its members");
    for (int i = 0; !st && i < r.p->count; i++)
        for (int h = 0; h < t->n_hosts && r.p->pkey[i] == PKEY_DEFAULT; h++)
            r.p->member[h] |= (uint64_t) 1 << i;
    if (st)
        dnet_partitions_free(r.p);
    else
        *out = r.p;
    return st;
}
