/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small JSON writer (json_out.h).
 */
#include "tools/common/json_out.h"

#include "common/log.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the UTF-8 character that s begins with; 0: none does. */
static int character(const unsigned char *s)
{
    int bytes = s[0] < 0x80                   ? 1
                : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                              : 0;
    for (int i = 1; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : bytes;
}

/* Names come from devices: a byte that is no UTF-8 is taken for Latin-1. */
void dnet_json_quote(FILE *out, const char *s)
{
    fputc('"', out);
    for (int bytes; *s; s += bytes ? bytes : 1) {
        bytes = character((const unsigned char *) s);
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if ((unsigned char) *s < 0x20 || !bytes)
            fprintf(out, "\\u%04x", (unsigned char) *s);
        else
            fwrite(s, 1, (size_t) bytes, out);
    }
    fputc('"', out);
}

static void lead(dnet_json_t *j, const char *key)
{
    fprintf(j->out, "%s\n%*s", j->first[j->depth] ? "" : ",", 2 * j->depth, "");
    j->first[j->depth] = false;
    if (key) {
        dnet_json_quote(j->out, key);
        fputs(": ", j->out);
    }
}

static void nest(dnet_json_t *j, const char *key, char bracket)
{
    if (!j->out)
        return;
    lead(j, key);
    fputc(bracket, j->out);
    j->first[++j->depth] = true;
}

static void unnest(dnet_json_t *j, char bracket)
{
    if (!j->out)
        return;
    j->depth--;
    fprintf(j->out, "\n%*s%c", 2 * j->depth, "", bracket);
}

/* Standard output becomes the writer's alone: a program that reads it wants nothing else there. */
static FILE *take_stdout(void)
{
    int fd = fflush(stdout) == 0 ? dup(STDOUT_FILENO) : -1;
    if (fd < 0)
        return NULL;
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return fdopen(fd, "w");
}

dnet_status_t dnet_json_open(dnet_json_t *j, const char *path)
{
    *j = (dnet_json_t){.path = path, .depth = 1, .first = {[1] = true}};
    if (!path)
        return DNET_OK;
    j->out = strcmp(path, "-") == 0 ? take_stdout() : fopen(path, "w");
    if (!j->out) {
        dnet_error("cannot write %s: %s", path, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    fputc('{', j->out);
    return DNET_OK;
}

dnet_status_t dnet_json_close(dnet_json_t *j)
{
    if (!j->out)
        return DNET_OK;
    fputs("\n}\n", j->out);
    bool bad = ferror(j->out) != 0;
    bad |= fclose(j->out) != 0;
    j->out = NULL;
    if (bad) {
        dnet_error("cannot write %s: %s", strcmp(j->path, "-") == 0 ? "the output" : j->path,
                   strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    return DNET_OK;
}

void dnet_json_object(dnet_json_t *j, const char *key)
{
    nest(j, key, '{');
}

void dnet_json_array(dnet_json_t *j, const char *key)
{
    nest(j, key, '[');
}

void dnet_json_end_object(dnet_json_t *j)
{
    unnest(j, '}');
}

void dnet_json_end_array(dnet_json_t *j)
{
    unnest(j, ']');
}

void dnet_json_string(dnet_json_t *j, const char *key, const char *value)
{
    if (!j->out)
        return;
    lead(j, key);
    dnet_json_quote(j->out, value);
}

void dnet_json_int(dnet_json_t *j, const char *key, long long value)
{
    if (!j->out)
        return;
    lead(j, key);
    fprintf(j->out, "%lld", value);
}

void dnet_json_number(dnet_json_t *j, const char *key, double value)
{
    if (!j->out)
        return;
    lead(j, key);
    if (isfinite(value))
        fprintf(j->out, "%.10g", value);
    else
        fputs("null", j->out);
}

void dnet_json_bool(dnet_json_t *j, const char *key, bool value)
{
    if (!j->out)
        return;
    lead(j, key);
    fputs(value ? "true" : "false", j->out);
}
