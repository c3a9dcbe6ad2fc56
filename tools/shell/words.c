/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words of a command line: numbers, name=value arguments, and the lines that say what is wrong with
 * them.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shell/dsh.h"

/* Text of any kind on one line: what is not printable is shown as '?', what is long is cut. */
static void clean(char *text)
{
    for (char *c = text; *c; c++)
        if (!isprint((unsigned char) *c))
            *c = '?';
}

bool dsh_fail(dsh_t *d, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    clean(text);
    fflush(stdout);
    fprintf(stderr, "dsh: ");
    if (d->source)
        fprintf(stderr, "%s:%lu: ", d->source, d->line);
    if (d->command)
        fprintf(stderr, "%s: ", d->command);
    fprintf(stderr, "%s\n", text);
    return false;
}

bool dsh_number(dsh_t *d, const char *what, const char *text, uint64_t most, uint64_t *value_p)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (!isdigit((unsigned char) text[0]) || end == text)
        return dsh_fail(d, "%s '%.40s' is not a number", what, text);
    if (errno != 0 || value > most)
        return dsh_fail(d, "%s %.40s is out of range; the largest is 0x%" PRIx64, what, text, most);
    *value_p = value;
    return true;
}

static bool take_pair(dsh_t *d, const char *word, dsh_pair_t *pairs, unsigned pair_count,
                      uint32_t *seen)
{
    for (unsigned i = 0; i < pair_count; i++) {
        size_t len = strlen(pairs[i].name);
        if (strncmp(word, pairs[i].name, len) != 0 || word[len] != '=')
            continue;
        if (*seen >> i & 1)
            return dsh_fail(d, "%s= is given twice", pairs[i].name);
        *seen |= 1u << i;
        return dsh_number(d, pairs[i].name, word + len + 1, pairs[i].most, &pairs[i].value);
    }
    return dsh_fail(d, "'%.40s' is no argument of it", word);
}

bool dsh_pairs(dsh_t *d, unsigned count, char **words, dsh_pair_t *pairs, unsigned pair_count)
{
    uint32_t seen = 0;
    for (unsigned i = 0; i < count; i++)
        if (!take_pair(d, words[i], pairs, pair_count, &seen))
            return false;
    for (unsigned i = 0; i < pair_count; i++)
        if (!(seen >> i & 1))
            return dsh_fail(d, "%s= is missing; every argument must be given", pairs[i].name);
    return true;
}

bool dsh_want(dsh_t *d, unsigned have, unsigned want, const char *syntax)
{
    if (have == want)
        return true;
    return dsh_fail(d, "%u arguments instead of %u; syntax: %s", have, want, syntax);
}
