/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target over its kept corpus: directories or files as arguments, or, under the test
 * runner, what DNET_CORPUS names below DNET_SRC: a folder of named inputs, and NAME.hex with the
 * others, an input a line.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static unsigned inputs;

static FILE *open_input(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        exit(99);
    }
    return file;
}

static void replay_file(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *file = open_input(path);
    size_t size = fread(data, 1, sizeof data, file);

    fclose(file);
    (void) LLVMFuzzerTestOneInput(data, size);
    inputs++;
}

static int digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

    return at ? (int) (at - digits) : -1;
}

/* A line of hexadecimal digits is an input; two digits are a byte, which stands where they stood.
 */
static void replay_lines(const char *path)
{
    FILE *file = open_input(path);
    char *line = NULL;
    size_t room = 0;
    ssize_t len;

    for (unsigned number = 1; (len = getline(&line, &room, file)) > 0; number++) {
        size_t size = (size_t) (len - 1) / 2;

        for (size_t i = 0; i < size; i++) {
            int high = digit(line[2 * i]), low = digit(line[2 * i + 1]);

            if (high < 0 || low < 0 || len % 2 == 0) {
                fprintf(stderr, "%s:%u: not a line of bytes\n", path, number);
                exit(99);
            }
            line[i] = (char) (high << 4 | low);
        }
        (void) LLVMFuzzerTestOneInput((const uint8_t *) line, size);
        inputs++;
    }
    free(line);
    fclose(file);
}

static void replay(const char *path)
{
    struct dirent *entry;
    struct stat st;
    DIR *directory;

    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    directory = opendir(path);
    if (!directory) {
        perror(path);
        exit(99);
    }
    while ((entry = readdir(directory))) {
        char name[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        replay_file(name);
    }
    closedir(directory);
}

int main(int argc, char **argv)
{
    const char *source = getenv("DNET_SRC");
    char path[4096];

    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    if (argc == 1 && source) {
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", source, DNET_CORPUS);
        replay(path);
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s.hex", source, DNET_CORPUS);
        replay_lines(path);
    }
    printf("%u inputs\n", inputs);
    return inputs > 0 ? 0 : 77;
}
