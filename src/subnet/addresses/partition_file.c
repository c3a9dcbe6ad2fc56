/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSM's partition configuration:
 *
 *   Default=0x7fff, ipoib : ALL=limited, 0x0000000000100001=full ;
 *   storage=0x0002, defmember=full : 0x100004, 0x100007=limited ;
 *
 * SELF, the subnet manager's port, can be any server's: the file does not say whose.
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const dnet_topo_t *t;
    dnet_partitions_t *p;
    const char *path;
    int line;
    int partition; /* whose members are being read; NONE: its head is next */
    bool full;     /* members of whom nothing is said */
} reader_t;

static dnet_status_t refuse(const reader_t *r, const char *word, const char *expected)
{
    dnet_error("subnet: %s:%d: '%.40s': expected %s", r->path, r->line, word, expected);
    return DNET_ERR_FORMAT;
}

/* "name=0x7fff", the first word of a partition. */
static dnet_status_t read_name(reader_t *r, const char *word)
{
    const char *value = strchr(word, '=');
    char *end = NULL;
    long pkey = value ? strtol(value + 1, &end, 0) : DNET_TOPO_NONE;
    if (value && (end == value + 1 || *end || pkey < 0 || pkey > 0xffff))
        return refuse(r, word, "NAME=P_KEY with a key of 16 bits");
    r->partition = dnet_partitions_get(r->p, value ? (int) (pkey & 0x7fff) : DNET_TOPO_NONE);
    r->full = false;
    return r->partition == DNET_TOPO_NONE ? refuse(r, word, "64 partitions at most") : DNET_OK;
}

static dnet_status_t read_member(reader_t *r, char *word)
{
    const dnet_topo_t *t = r->t;
    char *how = strchr(word, '=');
    bool full = r->full;
    if (how) {
        *how++ = '\0';
        full = strcmp(how, "full") == 0 || strcmp(how, "both") == 0;
        if (!full && strcmp(how, "limited") != 0)
            return refuse(r, how, "full, limited or both");
    }
    bool all =
        strcmp(word, "ALL") == 0 || strcmp(word, "ALL_CAS") == 0 || strcmp(word, "SELF") == 0;
    bool others = strcmp(word, "ALL_SWITCHES") == 0 || strcmp(word, "ALL_ROUTERS") == 0;
    if (!all && !others && strncmp(word, "0x", 2) != 0)
        return refuse(r, word, "a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF");
    int one = all || others ? DNET_TOPO_NONE : dnet_topo_find_host(t, word);
    for (int h = 0; h < t->n_hosts; h++) {
        if (!all && h != one)
            continue;
        r->p->member[h] |= (uint64_t) 1 << r->partition;
        r->p->full[h] |= (uint64_t) full << r->partition;
    }
    return DNET_OK;
}

/* Words up to the colon: name and key, then flags, of which one counts here. */
static dnet_status_t read_head(reader_t *r, char *text)
{
    dnet_status_t st = DNET_OK;
    for (char *rest = text, *word; !st && (word = strsep(&rest, ", \t\r\n"));)
        if (*word && r->partition == DNET_TOPO_NONE)
            st = read_name(r, word);
        else if (strcmp(word, "defmember=full") == 0 || strcmp(word, "defmember=both") == 0)
            r->full = true;
    return st;
}

static dnet_status_t read_members(reader_t *r, char *text)
{
    dnet_status_t st = DNET_OK;
    if (strncmp(text + strspn(text, " \t"), "mgid=", 5) == 0)
        return DNET_OK; /* a line of its own for a multicast group */
    for (char *rest = text, *word; !st && (word = strsep(&rest, ", \t\r\n"));)
        if (*word)
            st = read_member(r, word);
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
    FILE *in = fopen(path, "r");
    if (!in) {
        dnet_error("subnet: cannot open %s: %s", path, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    reader_t r = {.t = t, .path = path, .partition = DNET_TOPO_NONE};
    dnet_status_t st = dnet_partitions_new(t, &r.p);
    char *line = NULL;
    size_t room = 0;
    while (!st && getline(&line, &room, in) > 0) {
        r.line++;
        st = read_line(&r, line);
    }
    free(line);
    fclose(in);
    if (!st && (r.p->count == 0 || r.partition != DNET_TOPO_NONE))
        st = refuse(&r, "end of file", "partitions, each with a ; behind its members");
    if (st)
        dnet_partitions_free(r.p);
    else
        *out = r.p;
    return st;
}
