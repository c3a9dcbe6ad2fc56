/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lists: the tables in documents and in the Wireshark dissector that repeat what a .def list
 * states.
 *
 *   lists [--write]      in the source tree that DNET_SRC names
 *
 * A table stands between a line with 'begin list NAME' and one with 'end list NAME'.  Compares each
 * with what the lists say now; --write replaces it.  Exit status 0: all as they should be; 1: a
 * table is stale, or a file cannot be read or written, one line each; 77: DNET_SRC is not set.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const files[] = {
    "docs/protocol.md",
    "docs/register-guide.md",
    "docs/tracing.md",
    "tools/wireshark/dimmnet.lua",
};

typedef struct {
    const char *page, *name, *access, *store, *clause, *title;
    unsigned offset;
    unsigned long long reset;
} list_register_t;

static const list_register_t registers[] = {
#define DNET_REGISTER(page, name, offset, access, reset, store, clause, title) \
    {#page, #name, #access, #store, clause, title, offset, reset},
#include "dimmnet/registers.def"
#undef DNET_REGISTER
};
enum { REGISTERS = sizeof(registers) / sizeof(registers[0]) };

/* A word (width 0) or a field of the word before it. */
typedef struct {
    const char *name, *clause, *registers, *title;
    unsigned shift, width;
} format_t;

static const format_t formats[] = {
#define DNET_FORMAT_WORD(prefix, clause, registers, title) \
    {#prefix, clause, registers, title, 0, 0},
#define DNET_FORMAT_FIELD(name, shift, width, title) {#name, NULL, NULL, title, shift, width},
#include "dimmnet/format.def"
#undef DNET_FORMAT_FIELD
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* ---- documents ---- */

/* Does a blank-separated list hold a word? */
static bool holds(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at && (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

/* The words a register holds, as links to their headings. */
static void print_words_of(FILE *out, const list_register_t *r)
{
    const char *before = "";
    for (unsigned i = 0; i < FORMATS; i++)
        if (!formats[i].width && holds(formats[i].registers, r->name)) {
            fprintf(out, "%s[%s](#", before, formats[i].name);
            for (const char *c = formats[i].name; *c; c++)
                fputc(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c, out);
            fprintf(out, ")");
            before = ", ";
        }
}

static void print_registers(FILE *out, const char *page)
{
    fprintf(out, "| Offset | Register | Access | After reset | Store acts | Fields | Clause |\n"
                 "|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < REGISTERS; i++) {
        const list_register_t *r = &registers[i];
        if (strcmp(r->page, page) != 0)
            continue;
        fprintf(out, "| 0x%03x | `%s` %s | %s | 0x%llx | %s | ", r->offset, r->name, r->title,
                r->access, r->reset,
                strcmp(r->store, "NONE") == 0    ? "-"
                : strcmp(r->store, "QUIET") == 0 ? "when needed"
                                                 : "at once");
        print_words_of(out, r);
        fprintf(out, " | %s |\n", r->clause);
    }
}

static void user_registers(FILE *out)
{
    print_registers(out, "UREG");
}

static void system_registers(FILE *out)
{
    print_registers(out, "SREG");
}

static void words(FILE *out)
{
    for (unsigned i = 0; i < FORMATS; i++) {
        const format_t *f = &formats[i];
        if (!f->width) {
            fprintf(out, "%s### %s\n\n%s (clause %s).\n\n", i ? "\n" : "", f->name, f->title,
                    f->clause);
            fprintf(out, "| Bits | Field | Meaning |\n|---|---|---|\n");
            continue;
        }
        if (f->width > 1)
            fprintf(out, "| %u:%u ", f->shift + f->width - 1, f->shift);
        else
            fprintf(out, "| %u ", f->shift);
        fprintf(out, "| `%s` | %s |\n", f->name, f->title);
    }
}

static void primitives(FILE *out)
{
    fprintf(out, "| Code | Primitive | Family | At the far side |\n|---|---|---|---|\n");
#define DNET_PRIMITIVE(name, code, family, access) \
    fprintf(out, "| 0x%02x | `%s` | %s | %s |\n", code, #name, #family, #access);
#include "dimmnet/primitives.def"
#undef DNET_PRIMITIVE
}

static void events(FILE *out)
{
    fprintf(out, "| Counter | Counts | Clause |\n|---|---|---|\n");
#define DNET_EMU_EVENT(name, clause, text) \
    fprintf(out, "| `%s` | %s | %s |\n", #name, text, clause);
#include "dimmnet/events.def"
#undef DNET_EMU_EVENT
}

static void results(FILE *out)
{
    unsigned number = 0;
    fprintf(out, "| Number | What became of the packet |\n|---|---|\n");
#define DNET_RESULT(name, shown) fprintf(out, "| %u | %s |\n", number++, shown);
#include "emulator/results.def"
#undef DNET_RESULT
}

static void capture_word(FILE *out)
{
    bool inside = false;
    fprintf(out, "| Bits | Field | Meaning |\n|---|---|---|\n");
    for (unsigned i = 0; i < FORMATS; i++) {
        if (!formats[i].width)
            inside = strcmp(formats[i].name, "CAP") == 0;
        else if (inside)
            fprintf(out, "| %u:%u | `%s` | %s |\n", formats[i].shift + formats[i].width - 1,
                    formats[i].shift, formats[i].name, formats[i].title);
    }
}

static void trace_points(FILE *out)
{
    fprintf(out, "| Point | Room | Says |\n|---|---|---|\n");
#define DNET_TRACE_POINT(name, room, shape, who, first, second, title) \
    fprintf(out, "| `%s` | %s | %s |\n", #name, #room, title);
#include "common/trace.def"
#undef DNET_TRACE_POINT
}

/* ---- the dissector ---- */

static void print_lua_words(FILE *out)
{
    fprintf(out, "lists.words = {\n");
    for (unsigned i = 0; i < FORMATS; i++) {
        const format_t *f = &formats[i];
        if (!f->width)
            fprintf(out, "%s  %s = { title = \"%s\",\n", i ? "  },\n" : "", f->name, f->title);
        else
            fprintf(out, "    { \"%s\", %u, %u, \"%s\" },\n", f->name, f->shift, f->width,
                    f->title);
    }
    fprintf(out, "  },\n}\n");
}

static void heads(FILE *out)
{
    fprintf(out, "| At | Type | Field | |\n|---|---|---|---|\n");
#define DNET_HEAD_FIELD(type, name, at, title) \
    fprintf(out, "| %u | `%s` | %s | %s |\n", at, #type, #name, title);
#include "endpoint/heads.def"
    fprintf(out, "\n| Type | Name | | Matched | op | arg | length | Behind the head |\n"
                 "|---|---|---|---|---|---|---|---|\n");
#define DNET_HEAD_TYPE(name, value, title, matched, op, arg, length, behind) \
    fprintf(out, "| %u | %s | %s | %s | %s | %s | %s | %s |\n", value, #name, title, \
            (matched) ? "yes" : "no", op, arg, length, behind);
#include "endpoint/heads.def"
}

static void dissector(FILE *out)
{
    unsigned number = 0;
    fprintf(out, "local lists = {}\nlists.primitives = {\n");
#define DNET_PRIMITIVE(name, code, family, access) \
    fprintf(out, "  [0x%02x] = \"%s\",\n", code, #name);
#include "dimmnet/primitives.def"
#undef DNET_PRIMITIVE
    fprintf(out, "}\nlists.results = {\n");
#define DNET_RESULT(name, shown) fprintf(out, "  [%u] = \"%s\",\n", number++, shown);
#include "emulator/results.def"
#undef DNET_RESULT
    fprintf(out, "}\nlists.heads = {\n");
#define DNET_HEAD_TYPE(name, value, title, matched, op, arg, length, behind) \
    fprintf(out, "  [%u] = \"%s\",\n", value, #name);
#include "endpoint/heads.def"
    fprintf(out, "}\nlists.head_fields = {\n");
#define DNET_HEAD_FIELD(type, name, at, title) \
    fprintf(out, "  { \"%s\", %u, %zu, \"%s\" },\n", #name, at, sizeof(type), title);
#include "endpoint/heads.def"
    fprintf(out, "}\n");
    print_lua_words(out);
}

static const struct {
    const char *name;
    void (*print)(FILE *out);
} lists[] = {
    {"user registers", user_registers},
    {"system registers", system_registers},
    {"words", words},
    {"primitives", primitives},
    {"events", events},
    {"results", results},
    {"capture word", capture_word},
    {"trace points", trace_points},
    {"heads", heads},
    {"dissector", dissector},
};

/* ---- files ---- */

/* The list that a 'begin list NAME' line names; -1: the line is none; -2: there is no such list. */
static int begins(const char *line)
{
    const char *at = strstr(line, "begin list ");
    if (!at)
        return -1;
    at += strlen("begin list ");
    for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        size_t len = strlen(lists[i].name);
        if (strncmp(at, lists[i].name, len) == 0 && strchr(" \n", at[len]))
            return (int) i;
    }
    return -2;
}

/* The text with every table as the lists have it now.  NULL: a table without a list or an end. */
static char *renewed(const char *path, FILE *in)
{
    char *text = NULL, *line = NULL;
    size_t bytes, room = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool inside = false, sound = true;
    while (getline(&line, &room, in) > 0) {
        int list = begins(line);
        if (strstr(line, "end list "))
            inside = false;
        if (!inside)
            fputs(line, out);
        if (list == -2 || (list >= 0 && inside)) {
            fprintf(stderr, "lists: %s: %s", path, line);
            sound = false;
        } else if (list >= 0) {
            lists[list].print(out);
            inside = true;
        }
    }
    free(line);
    fclose(out);
    if (inside)
        fprintf(stderr, "lists: %s: a list without an end\n", path);
    if (sound && !inside)
        return text;
    free(text);
    return NULL;
}

static char *whole(FILE *in)
{
    char *text = NULL;
    size_t room = 0;
    rewind(in);
    if (getdelim(&text, &room, '\0', in) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool look_after(const char *path, bool write)
{
    FILE *file = fopen(path, write ? "r+" : "r");
    bool good = false;
    if (!file) {
        fprintf(stderr, "lists: cannot open %s: %m\n", path);
        return false;
    }
    char *now = renewed(path, file);
    char *before = whole(file);
    if (now && before) {
        good = strcmp(now, before) == 0;
        if (!good && write) {
            rewind(file);
            good = fputs(now, file) >= 0 && fflush(file) == 0 &&
                   ftruncate(fileno(file), ftell(file)) == 0;
            fprintf(stderr, "lists: %s: %s\n", path, good ? "renewed" : "cannot be written");
        } else if (!good) {
            fprintf(stderr, "lists: %s does not say what the .def lists say; run make lists\n",
                    path);
        }
    }
    free(now);
    free(before);
    fclose(file);
    return good;
}

int main(int argc, char **argv)
{
    const char *source = getenv("DNET_SRC");
    bool write = argc == 2 && strcmp(argv[1], "--write") == 0;
    bool good = true;
    if (argc > 2 || (argc == 2 && !write)) {
        fprintf(stderr, "usage: lists [--write]\n");
        return 2;
    }
    if (!source) {
        puts("DNET_SRC does not name the source tree");
        return 77;
    }
    if (chdir(source) != 0) {
        fprintf(stderr, "lists: cannot go to %s: %m\n", source);
        return 1;
    }
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        good = look_after(files[i], write) && good;
    return !good;
}
