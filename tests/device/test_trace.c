/* SPDX-License-Identifier: BSD-3-Clause
 *
 * No clause of clauses.txt is without code or without a test: runs scripts/spec-trace on the source
 * tree that DNET_SRC names (skipped without it).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    const char *source = getenv("DNET_SRC");
    char path[4096];

    if (!source) {
        puts("DNET_SRC does not name the source tree");
        return 77;
    }
    snprintf(path, sizeof path, "%s/scripts/spec-trace", source);
    execl(path, path, "-q", (char *) NULL);
    perror(path);
    return 99;
}
