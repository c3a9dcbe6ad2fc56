/* SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/device-tutorial.md: the program of its C blocks (built from them as tests/tutorial/driver)
 * prints what its text block says.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512 };

/* The next line of the text block of the tutorial; false: its end, or the tutorial's. */
static bool expected(FILE *tutorial, char *line)
{
    return fgets(line, LINE, tutorial) && strncmp(line, "```", 3) != 0;
}

int main(void)
{
    char path[4096], said[LINE], wanted[LINE] = "";
    unsigned lines = 0;
    if (!getenv("DNET_SRC") || !getenv("DNET_BUILD")) {
        puts("DNET_SRC and DNET_BUILD do not name source and build tree");
        return 77;
    }
    snprintf(path, sizeof(path), "%s/docs/device-tutorial.md", getenv("DNET_SRC"));
    FILE *tutorial = fopen(path, "r");
    snprintf(path, sizeof(path), "%s/tests/tutorial/driver", getenv("DNET_BUILD"));
    FILE *driver = popen(path, "r");
    if (!tutorial || !driver) {
        perror(path);
        return 99;
    }
    while (strcmp(wanted, "```text\n") != 0)
        if (!fgets(wanted, LINE, tutorial)) {
            fprintf(stderr, "the tutorial has no text block\n");
            return 1;
        }
    for (; expected(tutorial, wanted); lines++)
        if (!fgets(said, LINE, driver) || strcmp(said, wanted) != 0) {
            fprintf(stderr, "line %u: '%s', expected '%s'\n", lines, said, wanted);
            return 1;
        }
    if (fgets(said, LINE, driver)) {
        fprintf(stderr, "more is said than the tutorial shows: %s", said);
        return 1;
    }
    return pclose(driver) != 0 || lines == 0;
}
