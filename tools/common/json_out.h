/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing JSON results: objects and arrays in order, commas placed by the writer.
 */
#ifndef DNET_TOOLS_JSON_OUT_H
#define DNET_TOOLS_JSON_OUT_H

#include "dimmnet/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct dnet_json {
    FILE *out; /* NULL: everything is thrown away, so that callers need not ask */
    const char *path;
    int depth;
    bool first[32];
} dnet_json_t;

/**
 * Open a file and its outer object.
 *
 * @param path  "-": standard output, and what is printed from now on goes to standard error; NULL:
 * a writer that writes nothing
 */
dnet_status_t dnet_json_open(dnet_json_t *j, const char *path);

/** Close the outer object and the file.  @return ERR_SYSTEM if anything could not be written. */
dnet_status_t dnet_json_close(dnet_json_t *j);

/** A text as JSON has it, between quotes, for output that is not the writer's. */
void dnet_json_quote(FILE *out, const char *s);

/* key NULL inside an array */
void dnet_json_object(dnet_json_t *j, const char *key);
void dnet_json_array(dnet_json_t *j, const char *key);
void dnet_json_end_object(dnet_json_t *j);
void dnet_json_end_array(dnet_json_t *j);
void dnet_json_string(dnet_json_t *j, const char *key, const char *value);
void dnet_json_int(dnet_json_t *j, const char *key, long long value);
void dnet_json_number(dnet_json_t *j, const char *key, double value);
void dnet_json_bool(dnet_json_t *j, const char *key, bool value);

#endif
