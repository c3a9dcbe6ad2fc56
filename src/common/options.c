/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/trace.h"

extern char **environ;

/* Variables that other parts read for themselves. */
static const char *const other_variables[] = {"DIMMNET_LOG"};

static dnet_status_t read_choice(const char *variable, unsigned preset, const char *const *choices,
                                 unsigned *value_p)
{
    const char *text = getenv(variable);
    if (!text) {
        *value_p = preset;
        return DNET_OK;
    }
    char allowed[128] = "";
    for (unsigned i = 0; i < 4 && choices[i]; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *value_p = i;
            return DNET_OK;
        }
        strcat(strcat(allowed, i ? ", " : ""), choices[i]);
    }
    dnet_error("%s=%s is not one of: %s", variable, text, allowed);
    return DNET_ERR_FORMAT;
}

static dnet_status_t read_number(const char *variable, uint64_t preset, uint64_t least,
                                 uint64_t most, const char *unit, uint64_t *value_p)
{
    const char *text = getenv(variable);
    if (!text || (preset == DNET_OPTION_AUTO && strcmp(text, "auto") == 0)) {
        *value_p = preset;
        return DNET_OK;
    }
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    bool good = isdigit((unsigned char) text[0]) && errno == 0;
    unsigned shift = 0;
    if (good && *end) {
        const char *suffix = strchr("KMG", toupper((unsigned char) *end));
        static const unsigned shifts[] = {10, 20, 30};
        good = suffix && end[1] == '\0';
        shift = good ? shifts[*suffix == 'K' ? 0 : *suffix == 'M' ? 1 : 2] : 0;
    }
    if (good && (value << shift) >> shift == value && (value << shift) >= least &&
        (value << shift) <= most) {
        *value_p = value << shift;
        return DNET_OK;
    }
    dnet_error("%s=%s is not a number of %s from %" PRIu64 " to %" PRIu64 "%s", variable, text,
               unit, least, most, preset == DNET_OPTION_AUTO ? ", or auto" : "");
    return DNET_ERR_FORMAT;
}

static bool known_variable(const char *name, size_t len)
{
    static const char *const names[] = {
#define DNET_OPTION_CHOICE(field, variable, preset, title, a, b, c, d) variable,
#define DNET_OPTION_NUMBER(field, variable, preset, least, most, unit, title) variable,
#define DNET_OPTION_TEXT(field, variable, title) variable,
#include "common/options.def"
#undef DNET_OPTION_CHOICE
#undef DNET_OPTION_NUMBER
#undef DNET_OPTION_TEXT
    };
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
            return true;
    for (unsigned i = 0; i < sizeof(other_variables) / sizeof(other_variables[0]); i++)
        if (strlen(other_variables[i]) == len && strncmp(other_variables[i], name, len) == 0)
            return true;
    return false;
}

void dnet_options_warn_unknown(void)
{
    for (char **e = environ; *e; e++) {
        size_t len = strcspn(*e, "=");
        if (strncmp(*e, "DIMMNET_", 8) == 0 && !known_variable(*e, len))
            dnet_warn("%.*s is not an option; dnet-info lists the options", (int) len, *e);
    }
}

/* Where the rank goes in a name that does not say it: before the suffix, or at the end. */
static const char *place_of_rank(const char *pattern)
{
    const char *base = strrchr(pattern, '/');
    const char *dot = strrchr(base ? base : pattern, '.');
    return dot && dot != (base ? base + 1 : pattern) ? dot : pattern + strlen(pattern);
}

dnet_status_t dnet_options_rank_path(const char *variable, const char *pattern, uint32_t rank,
                                     uint32_t size, char *path, size_t room)
{
    bool named = strstr(pattern, "%r") != NULL;
    const char *place = named || size == 1 ? NULL : place_of_rank(pattern);
    size_t used = 0;
    const char *wrong = *pattern ? NULL : "names no file";
    for (const char *c = pattern; !wrong; c++) {
        if (used + 16 > room) {
            wrong = "is too long for a file name";
        } else if (c == place) {
            used += (size_t) snprintf(path + used, room - used, ".%" PRIu32, rank);
        }
        if (*c == '%' && c[1] == 'r') {
            used += (size_t) snprintf(path + used, room - used, "%" PRIu32, rank);
            c++;
        } else if (*c == '%') {
            wrong = "has a % that is not %r, the rank";
        } else {
            path[used++] = *c;
        }
        if (!*c)
            return DNET_OK;
    }
    dnet_error("%s=%s %s", variable, pattern, wrong);
    return DNET_ERR_FORMAT;
}

typedef struct {
    uint32_t rank, size;
} place_t;

/* Can this rank write its file?  One that is there must be of the right kind: captures and traces
 * are emptied first, a dump is appended to a terminal too. */
static dnet_status_t check_path(const char *variable, const char *pattern, place_t me, bool appends)
{
    char path[4096], folder[4096];
    struct stat st;
    if (!pattern)
        return DNET_OK;
    dnet_status_t status =
        dnet_options_rank_path(variable, pattern, me.rank, me.size, path, sizeof(path));
    if (status != DNET_OK)
        return status;
    const char *wrong = NULL;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode) || (!appends && !S_ISREG(st.st_mode)))
            wrong = S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file";
        else if (access(path, W_OK) != 0)
            wrong = strerror(errno);
    } else if (errno != ENOENT) {
        wrong = strerror(errno);
    } else {
        char *slash = strrchr(strcpy(folder, path), '/');
        if (slash)
            slash[slash == folder] = '\0';
        if (access(slash ? folder : ".", W_OK | X_OK) != 0)
            wrong = strerror(errno);
    }
    if (!wrong)
        return DNET_OK;
    bool same = strcmp(path, pattern) == 0;
    dnet_error("%s=%s cannot be written: %s%s%s", variable, pattern, same ? "" : path,
               same ? "" : ": ", wrong);
    return DNET_ERR_SYSTEM;
}

static dnet_status_t check_texts(const dnet_options_t *o, place_t me)
{
    uint64_t mask;
    const char *wrong;
    int len;
    dnet_status_t status = check_path("DIMMNET_PCAP", o->pcap, me, false);
    if (status == DNET_OK)
        status = check_path("DIMMNET_TRACE_FILE", o->trace_file, me, false);
    if (status == DNET_OK)
        status = check_path("DIMMNET_DUMP", o->dump_file, me, true);
    if (status == DNET_OK && o->trace && !dnet_trace_parse(o->trace, &mask, &wrong, &len)) {
        dnet_error("DIMMNET_TRACE=%s: '%.*s' is no trace point; dnet-trace list shows them",
                   o->trace, len, wrong);
        status = DNET_ERR_FORMAT;
    }
    return status;
}

dnet_status_t dnet_options_load(uint32_t rank, uint32_t size, dnet_options_t *options_p)
{
    dnet_options_t o;
    dnet_status_t status;
#define DNET_OPTION_CHOICE(field, variable, preset, title, a, b, c, d) \
    status = read_choice(variable, preset, (const char *const[]){a, b, c, d}, &o.field); \
    if (status != DNET_OK) \
        return status;
#define DNET_OPTION_NUMBER(field, variable, preset, least, most, unit, title) \
    status = read_number(variable, preset, least, most, unit, &o.field); \
    if (status != DNET_OK) \
        return status;
#define DNET_OPTION_TEXT(field, variable, title) o.field = getenv(variable);
#include "common/options.def"
#undef DNET_OPTION_CHOICE
#undef DNET_OPTION_NUMBER
#undef DNET_OPTION_TEXT
    if (o.ring_bytes != DNET_OPTION_AUTO && (o.ring_bytes & (o.ring_bytes - 1))) {
        dnet_error("DIMMNET_RING_BYTES=%" PRIu64 " is not a power of two", o.ring_bytes);
        return DNET_ERR_FORMAT;
    }
    if (o.rings & (o.rings - 1)) {
        dnet_error("DIMMNET_RINGS=%" PRIu64 " is not a power of two", o.rings);
        return DNET_ERR_FORMAT;
    }
    if (o.ring_bytes / o.rings < 4096) {
        dnet_error("DIMMNET_RINGS=%" PRIu64 " leaves less than 4096 of DIMMNET_RING_BYTES=%" PRIu64
                   " for each ring",
                   o.rings, o.ring_bytes);
        return DNET_ERR_FORMAT;
    }
    if (o.chunk_bytes % 4096) {
        dnet_error("DIMMNET_CHUNK_BYTES=%" PRIu64 " is not a multiple of 4096", o.chunk_bytes);
        return DNET_ERR_FORMAT;
    }
    status = check_texts(&o, (place_t){rank, size});
    if (status != DNET_OK)
        return status;
    *options_p = o;
    return DNET_OK;
}

void dnet_options_each(const dnet_options_t *o, dnet_options_visit_fn *visit, void *arg)
{
    dnet_option_t option;
#define DNET_OPTION_CHOICE(field, name, standard, says, a, b, c, d) \
    option = (dnet_option_t){.variable = name, .title = says, .set = getenv(name) != NULL}; \
    option.kind = DNET_OPTION_IS_CHOICE; \
    memcpy(option.choices, (const char *const[]){a, b, c, d, NULL}, sizeof(option.choices)); \
    option.text = option.choices[o->field]; \
    option.preset_text = option.choices[standard]; \
    visit(arg, &option);
#define DNET_OPTION_NUMBER(field, name, standard, low, high, unit_name, says) \
    option = (dnet_option_t){.variable = name, .title = says, .set = getenv(name) != NULL}; \
    option.kind = DNET_OPTION_IS_NUMBER; \
    option.unit = unit_name; \
    option.number = o->field; \
    option.preset = standard; \
    option.least = low; \
    option.most = high; \
    visit(arg, &option);
#define DNET_OPTION_TEXT(field, name, says) \
    option = (dnet_option_t){.variable = name, .title = says, .set = getenv(name) != NULL}; \
    option.kind = DNET_OPTION_IS_TEXT; \
    option.text = o->field; \
    visit(arg, &option);
#include "common/options.def"
#undef DNET_OPTION_CHOICE
#undef DNET_OPTION_NUMBER
#undef DNET_OPTION_TEXT
}
