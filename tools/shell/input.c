/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where command lines come from: a terminal with line editing, a script, an argument.
 */
#include "config.h"

#include <histedit.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/shell/dsh.h"

#define PROMPT "dsh > "
#define HISTORY_LINES 500

/* ---- terminal ---- */

static const char *prompt(EditLine *el)
{
    (void) el;
    return PROMPT;
}

/* Tab: complete the command's name as far as it is clear; two that fit are left to the user. */
static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *line = el_line(el);
    size_t typed = (size_t) (line->cursor - line->buffer);
    const char *found = NULL;
    (void) key;
    if (memchr(line->buffer, ' ', typed))
        return CC_ERROR;
    for (unsigned i = 0; dsh_command_name(i); i++) {
        if (strncmp(dsh_command_name(i), line->buffer, typed) != 0)
            continue;
        if (found)
            return CC_ERROR;
        found = dsh_command_name(i);
    }
    if (!found || el_insertstr(el, found + typed) != 0 || el_insertstr(el, " ") != 0)
        return CC_ERROR;
    return CC_REFRESH;
}

/* One line of a terminal, which libedit owns. */
static bool run_typed(dsh_t *d, History *past, const char *typed, int len)
{
    char line[DSH_LINE_BYTES];
    HistEvent event;
    d->line++;
    if (len >= (int) sizeof(line))
        return dsh_fail(d, "a line of %d bytes; the longest command has %u", len,
                        DSH_LINE_BYTES - 1);
    memcpy(line, typed, (size_t) len);
    line[len] = '\0';
    if (len > 1)
        history(past, &event, H_ENTER, typed);
    return dsh_run(d, line);
}

bool dsh_run_terminal(dsh_t *d)
{
    HistEvent event;
    History *past = history_init();
    EditLine *el = el_init("dsh", stdin, stdout, stderr);
    const char *typed;
    bool good = true;
    int len;
    if (!past || !el)
        return dsh_fail(d, "no memory for line editing");
    history(past, &event, H_SETSIZE, HISTORY_LINES);
    el_set(el, EL_PROMPT, prompt);
    el_set(el, EL_EDITOR, "emacs");
    el_set(el, EL_SIGNAL, 1);
    el_set(el, EL_HIST, history, past);
    el_set(el, EL_ADDFN, "dsh-complete", "complete a command's name", complete);
    el_set(el, EL_BIND, "\t", "dsh-complete", NULL);
    el_source(el, NULL); /* ~/.editrc */
    while (!d->quit && (typed = el_gets(el, &len)) && len > 0)
        good &= run_typed(d, past, typed, len);
    if (!d->quit)
        printf("\n");
    el_end(el);
    history_end(past);
    return good;
}

/* ---- scripts ---- */

/* Read a line without its newline.  What does not fit is read and dropped, so that a line of any
 * length costs no memory; the caller learns its length.  false: no line is left. */
static bool read_line(FILE *in, char line[DSH_LINE_BYTES], size_t *len_p, bool *nul_p)
{
    size_t len = 0;
    int c;
    *nul_p = false;
    while ((c = getc(in)) != EOF && c != '\n') {
        *nul_p |= c == '\0';
        if (len < DSH_LINE_BYTES - 1)
            line[len] = (char) c;
        len++;
    }
    line[len < DSH_LINE_BYTES ? len : DSH_LINE_BYTES - 1] = '\0';
    *len_p = len;
    return c != EOF || len > 0;
}

static bool run_line(dsh_t *d, char *line, const dsh_manner_t *manner)
{
    if (manner->echo && line[strspn(line, " \t\r")] != '\0')
        printf(PROMPT "%s\n", line);
    return dsh_run(d, line);
}

static bool run_stream(dsh_t *d, FILE *in, const dsh_manner_t *manner)
{
    char line[DSH_LINE_BYTES];
    bool good = true, nul;
    size_t len;
    d->line = 0;
    while (!d->quit && (good || !manner->stop) && read_line(in, line, &len, &nul)) {
        d->line++;
        d->command = NULL;
        if (len >= sizeof(line))
            good = dsh_fail(d, "a line of %zu bytes; the longest command has %u", len,
                            DSH_LINE_BYTES - 1);
        else if (nul)
            good = dsh_fail(d, "the line holds a zero byte");
        else
            good &= run_line(d, line, manner);
    }
    if (ferror(in))
        good = dsh_fail(d, "cannot be read: %m");
    return good;
}

bool dsh_run_file(dsh_t *d, const char *path, const dsh_manner_t *manner)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "re");
    if (!in)
        return dsh_fail(d, "cannot open %s: %m", path);
    d->source = standard ? "stdin" : path;
    bool good = run_stream(d, in, manner);
    if (!standard)
        fclose(in);
    d->source = NULL;
    return good;
}

bool dsh_run_text(dsh_t *d, const char *text, unsigned long line, const dsh_manner_t *manner)
{
    char copy[DSH_LINE_BYTES];
    d->source = "-c";
    d->line = line;
    d->command = NULL;
    size_t len = strlen(text);
    if (len >= sizeof(copy))
        return dsh_fail(d, "a line of %zu bytes; the longest command has %u", len,
                        DSH_LINE_BYTES - 1);
    memcpy(copy, text, len + 1);
    return run_line(d, copy, manner);
}
