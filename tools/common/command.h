/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command lines of the tools.  A tool is one command, or a list of them ("dnet-subnet route"); a
 * command has a table of options, each with its place in the command's own struct.  From these come
 * parsing, the lines that say what is wrong, and --help.
 */
#ifndef DNET_TOOLS_COMMAND_H
#define DNET_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dimmnet/status.h"

/* Exit status of every tool, also in --help and in the man pages. */
enum {
    TOOL_GOOD = 0,
    /* the answer is no: a bad verdict, no such cluster or job, a command that is refused */
    TOOL_BAD = 1,
    TOOL_USAGE = 2,  /* wrong command line, setting or input file */
    TOOL_SYSTEM = 3, /* memory, files, NICs; the output cannot be written */
};

typedef enum {
    TOOL_FLAG,     /* bool: true when given */
    TOOL_TEXT,     /* const char *: as given */
    TOOL_TEXTS,    /* tool_texts_t: may be given several times; numbers where `most` is set */
    TOOL_INT,      /* int: a whole number from `least` to `most` */
    TOOL_U64,      /* uint64_t: likewise */
    TOOL_FRACTION, /* double: a number from `low` to `high` */
    TOOL_WORD,     /* int: which of `words` */
} tool_type_t;

#define TOOL_TEXTS_MAX 64

typedef struct {
    const char *text[TOOL_TEXTS_MAX];
    int count;
} tool_texts_t;

typedef struct {
    const char *name; /* without the dashes */
    tool_type_t type;
    size_t at;        /* offsetof its member of the command's options */
    const char *arg;  /* what --help calls its value; NULL for flags */
    const char *help; /* NULL: an earlier name of another row; works, and is not shown */
    char letter;      /* its short form; 0: none */
    uint64_t least, most;
    double low, high;
    const char *const *words; /* the last is NULL */
} tool_option_t;

/* A row of a table; behind the text come .letter, bounds and words. */
#define TOOL_OPTION(struct_type, member, option_name, option_type, option_arg, text, ...) \
    { \
        .name = option_name, .type = option_type, .at = offsetof(struct_type, member), \
        .arg = option_arg, .help = text, ##__VA_ARGS__ \
    }

typedef struct {
    const char *name; /* "": the tool is this one command */
    const char *args; /* behind the options, as --help shows them; "" for none */
    int args_least, args_most;
    const char *summary;
    const tool_option_t *options;      /* the last one has no name; NULL: none */
    int (*run)(int argc, char **argv); /* argv[0] is the command; returns the exit status */
} tool_command_t;

typedef struct {
    const char *name;
    const tool_command_t *const *commands; /* the last is NULL */
    void (*more)(FILE *out);               /* what the tool's --help says besides; NULL: nothing */
    const char *status;                    /* an exit status besides; NULL: none */
} tool_t;

/**
 * A tool's main(): --help, -h, --version, --words (for completion by a shell: a line for each
 * command, or for each option of a command, with what its value is called and which there are), or
 * the command that argv[1] names.
 *
 * @return the exit status: the command's, or TOOL_SYSTEM when its output could not be written
 */
int tool_main(const tool_t *tool, int argc, char **argv);

/**
 * Read a command's options into its struct, which holds the defaults.  Afterwards *argv are the
 * arguments behind them, *argc their number, within the command's bounds.  --help is answered here
 * and ends the tool.
 *
 * @return false: a line has said what is wrong; the command returns TOOL_USAGE
 */
bool tool_parse(const tool_command_t *command, int *argc, char ***argv, void *options);

/** The exit status for a status that a line has told of already. */
int tool_exit(dnet_status_t status);

/** One line on standard error, behind the names of tool and command. */
__attribute__((format(printf, 1, 2))) void tool_error(const char *fmt, ...);

/** An argument that is a whole number.  @return false: a line has said what is wrong */
bool tool_number(const char *what, const char *text, uint64_t least, uint64_t most,
                 uint64_t *value_p);

#endif
