/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tools/common/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"

#define OPTIONS_MAX 48
#define HELP_COLUMN 26
enum { CODE_HELP = 0x100, CODE_VERSION, CODE_WORDS, CODE_OPTION }; /* above all letters */

/* The tool that runs, for its lines of error; a process is one tool. */
static const tool_t *running;
static const char *running_command; /* NULL: none, or the tool has one only */

/* ---- lines of error ---- */

void tool_error(const char *fmt, ...)
{
    va_list args;
    fflush(stdout);
    fprintf(stderr, "%s%s%s: ", running->name, running_command ? " " : "",
            running_command ? running_command : "");
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

bool tool_number(const char *what, const char *text, uint64_t least, uint64_t most,
                 uint64_t *value_p)
{
    if (dnet_number(text, least, most, value_p))
        return true;
    tool_error("%s %s: expected a number from %" PRIu64 " to %" PRIu64, what, text, least, most);
    return false;
}

int tool_exit(dnet_status_t status)
{
    switch (status) {
        case DNET_OK:
            return TOOL_GOOD;
        case DNET_NOT_FOUND:
        case DNET_ERR_LIMIT:
        case DNET_ERR_STATE:
            return TOOL_BAD;
        case DNET_ERR_ARGUMENT:
        case DNET_ERR_FORMAT:
            return TOOL_USAGE;
        default:
            return TOOL_SYSTEM;
    }
}

/* Output counts as written when all of it is, on a full device too. */
static int end(int status)
{
    bool lost = ferror(stdout) != 0;
    lost |= fflush(stdout) != 0;
    if (!lost)
        return status;
    tool_error("cannot write the output: %s", strerror(errno));
    return TOOL_SYSTEM;
}

/* ---- help ---- */

static bool is_single(const tool_t *tool)
{
    return !tool->commands[0]->name;
}

static void print_option(char letter, const char *name, const char *arg, const char *help)
{
    char text[64];
    int n = letter ? snprintf(text, sizeof(text), "-%c, ", letter) : 0;
    snprintf(text + n, sizeof(text) - (size_t) n, "--%s%s%s", name, arg ? " " : "", arg ? arg : "");
    printf("  %-*s%s%s\n", HELP_COLUMN - 1, text, strlen(text) < HELP_COLUMN ? " " : "  ", help);
}

static void help_end(FILE *out)
{
    if (running->more)
        running->more(out);
    fprintf(out,
            "\nExit status: 0 good, 1 the answer is no, or there is none such, 2 wrong command "
            "line, setting\nor input, 3 memory, files or NICs%s%s.\n",
            running->status ? ", " : "", running->status ? running->status : "");
}

static void command_help(const tool_command_t *c)
{
    printf("usage: %s%s%s%s%s%s\n%s\n\n", running->name, c->name ? " " : "", c->name ? c->name : "",
           c->options ? " [OPTIONS]" : "", c->args ? " " : "", c->args ? c->args : "", c->summary);
    for (const tool_option_t *o = c->options; o && o->name; o++)
        if (o->help)
            print_option(o->letter, o->name, o->arg, o->help);
    print_option('h', "help", NULL, "this");
    if (!is_single(running))
        return;
    print_option(0, "version", NULL, "its version");
    help_end(stdout);
}

static void tool_help(FILE *out)
{
    fprintf(out, "usage: %s COMMAND [OPTIONS] ...\n\n", running->name);
    for (const tool_command_t *const *c = running->commands; *c; c++)
        fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fprintf(out, "\n%s COMMAND --help shows a command's options.\n", running->name);
    help_end(out);
}

/* For completion: tabs between what an option is, what its value is called, and which there are. */
static void command_words(const tool_command_t *c)
{
    if (c->args)
        printf("\t%s\n", c->args);
    for (const tool_option_t *o = c->options; o && o->name; o++) {
        if (!o->help)
            continue;
        for (int letter = o->letter != 0; letter >= 0; letter--) {
            if (letter)
                printf("-%c", o->letter);
            else
                printf("--%s", o->name);
            if (o->arg)
                printf("\t%s\t", o->arg);
            for (int i = 0; o->type == TOOL_WORD && o->words[i]; i++)
                printf("%s%s", i ? " " : "", o->words[i]);
            printf("\n");
        }
    }
    printf("--help\n%s", is_single(running) ? "--version\n" : "");
}

static void tool_words(void)
{
    for (const tool_command_t *const *c = running->commands; *c; c++)
        printf("%s\n", (*c)->name);
    printf("--help\n--version\n");
}

static int version(void)
{
    printf("%s (dimmnet) %s\n", running->name, PACKAGE_VERSION);
    return end(TOOL_GOOD);
}

/* ---- options ---- */

static bool take_word(const tool_option_t *o, const char *text, int *value_p)
{
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; o->words[i]; i++) {
        if (strcmp(o->words[i], text) == 0) {
            *value_p = i;
            return true;
        }
        const char *between = !i ? "" : o->words[i + 1] ? ", " : " or ";
        int n = snprintf(names + used, sizeof(names) - used, "%s%s", between, o->words[i]);
        used += (size_t) n < sizeof(names) - used ? (size_t) n : 0;
    }
    tool_error("--%s %s: expected one of %s", o->name, text, names);
    return false;
}

static bool take_number(const tool_option_t *o, const char *text, uint64_t *value_p)
{
    char what[48];
    snprintf(what, sizeof(what), "--%s", o->name);
    return tool_number(what, text, o->least, o->most, value_p);
}

static bool take(const tool_option_t *o, const char *text, void *options)
{
    void *at = (char *) options + o->at;
    tool_texts_t *texts = at;
    uint64_t number;
    switch (o->type) {
        case TOOL_FLAG:
            *(bool *) at = true;
            return true;
        case TOOL_TEXT:
            *(const char **) at = text;
            return true;
        case TOOL_TEXTS:
            if (o->most != 0 && !take_number(o, text, &number))
                return false;
            if (texts->count == TOOL_TEXTS_MAX) {
                tool_error("--%s: at most %d times", o->name, TOOL_TEXTS_MAX);
                return false;
            }
            texts->text[texts->count++] = text;
            return true;
        case TOOL_INT:
            if (!take_number(o, text, &number))
                return false;
            *(int *) at = (int) number;
            return true;
        case TOOL_U64:
            return take_number(o, text, at);
        case TOOL_FRACTION:
            if (dnet_fraction(text, o->low, o->high, at))
                return true;
            tool_error("--%s %s: expected a number from %g to %g", o->name, text, o->low, o->high);
            return false;
        case TOOL_WORD:
            return take_word(o, text, at);
    }
    return false;
}

/* What getopt_long() is to know; its codes are letters, or CODE_OPTION and the place in the table.
 */
static void make_known(const tool_command_t *c, struct option *known, char *letters)
{
    int n = 0;
    *letters++ = ':'; /* a value that is missing is told from an option that is unknown */
    *letters++ = 'h';
    known[n++] = (struct option){"help", no_argument, NULL, CODE_HELP};
    if (is_single(running))
        known[n++] = (struct option){"version", no_argument, NULL, CODE_VERSION};
    known[n++] = (struct option){"words", no_argument, NULL, CODE_WORDS};
    for (int i = 0; c->options && c->options[i].name && n < OPTIONS_MAX - 1; i++) {
        const tool_option_t *o = &c->options[i];
        int value = o->type == TOOL_FLAG ? no_argument : required_argument;
        known[n++] = (struct option){o->name, value, NULL, CODE_OPTION + i};
        if (!o->letter)
            continue;
        *letters++ = o->letter;
        if (value == required_argument)
            *letters++ = ':';
    }
    known[n] = (struct option){0};
    *letters = '\0';
}

static const tool_option_t *find_option(const tool_command_t *c, int code)
{
    if (code >= CODE_OPTION)
        return &c->options[code - CODE_OPTION];
    for (const tool_option_t *o = c->options; o && o->name; o++)
        if (o->letter == code)
            return o;
    return NULL;
}

static bool wrong_option(const tool_command_t *c, int code, char **argv)
{
    const tool_option_t *o = optopt ? find_option(c, optopt) : NULL;
    if (code == ':' && o)
        tool_error("--%s: its %s is missing", o->name, o->arg);
    else if (o)
        tool_error("--%s takes no value", o->name);
    else if (optopt >= CODE_HELP) /* one that all have */
        tool_error("%s: it takes no value", argv[optind - 1]);
    else if (optopt)
        tool_error("no option -%c; --help shows the options", optopt);
    else
        tool_error("no option %s; --help shows the options", argv[optind - 1]);
    return false;
}

bool tool_parse(const tool_command_t *command, int *argc, char ***argv, void *options)
{
    struct option known[OPTIONS_MAX];
    char letters[2 * OPTIONS_MAX];
    running_command = command->name;
    make_known(command, known, letters);
    opterr = 0;
    for (int code; (code = getopt_long(*argc, *argv, letters, known, NULL)) != -1;) {
        if (code == 'h' || code == CODE_HELP) {
            command_help(command);
            exit(end(TOOL_GOOD));
        }
        if (code == CODE_VERSION)
            exit(version());
        if (code == CODE_WORDS) {
            command_words(command);
            exit(end(TOOL_GOOD));
        }
        if (code == '?' || code == ':')
            return wrong_option(command, code, *argv);
        if (!take(find_option(command, code), optarg, options))
            return false;
    }
    *argc -= optind;
    *argv += optind;
    if (*argc >= command->args_least && *argc <= command->args_most)
        return true;
    if (*argc > command->args_most)
        tool_error("unexpected argument %s; %s", (*argv)[command->args_most],
                   "--help shows the arguments");
    else
        tool_error("expected %s behind the options", command->args);
    return false;
}

/* ---- the tool ---- */

/* Descriptors that the tool was started without are not to be those of what it opens, a NIC or a
 * ring of events, which it would then print into: reading and writing them fails, as before. */
static void hold_standard(void)
{
    static const int useless[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", useless[fd]) != fd)
            return;
}

int tool_main(const tool_t *tool, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    hold_standard();
    running = tool;
    if (is_single(tool))
        return end(tool->commands[0]->run(argc, argv));
    for (const tool_command_t *const *c = tool->commands; *c; c++)
        if (strcmp((*c)->name, word) == 0)
            return end((*c)->run(argc - 1, argv + 1));
    if (strcmp(word, "--version") == 0)
        return version();
    if (strcmp(word, "--words") == 0) {
        tool_words();
        return end(TOOL_GOOD);
    }
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (argc > 1 && !help)
        tool_error("no command '%s'", word);
    tool_help(help ? stdout : stderr);
    return help ? end(TOOL_GOOD) : TOOL_USAGE;
}
