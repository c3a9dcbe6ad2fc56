/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target over the files of its kept corpus: directories or files as arguments, or,
 * under the test runner, the corpus below DNET_SRC that DNET_CORPUS names.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static unsigned files;

static void replay_file(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file) {
        perror(path);
        exit(99);
    }
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    (void) LLVMFuzzerTestOneInput(data, size);
    files++;
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
    }
    printf("%u inputs\n", files);
    return files > 0 ? 0 : 77;
}
