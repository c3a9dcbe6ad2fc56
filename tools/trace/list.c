/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace list: the trace points there are.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/trace/trace.h"

typedef struct {
    bool json;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, json, "json", TOOL_FLAG, NULL, "as JSON"),
    {NULL},
};

static void list_as_json(void)
{
    for (unsigned i = 0; i < DNET_TRACE_COUNT; i++) {
        const trace_point_t *p = &trace_points[i];
        const char *names[] = {p->who, p->first, p->second};
        printf("%s{\"point\": \"%s\", \"room\": \"%s\", \"shape\": \"%s\", \"arguments\": [",
               i ? ",\n" : "[\n", p->name, p->room, p->shape);
        for (unsigned n = 0, shown = 0; n < 3; n++)
            if (names[n])
                printf("%s\"%s\"", shown++ ? ", " : "", names[n]);
        printf("], \"title\": \"%s\"}", p->title);
    }
    printf("\n]\n");
}

static void list_as_table(void)
{
    printf("%-11s %-9s %-6s %-22s %s\n", "point", "room", "shape", "arguments",
           "what has happened");
    for (unsigned i = 0; i < DNET_TRACE_COUNT; i++) {
        const trace_point_t *p = &trace_points[i];
        const char *names[] = {p->who, p->first, p->second};
        char list[64] = "";
        for (unsigned n = 0; n < 3; n++)
            if (names[n])
                strcat(strcat(list, *list ? ", " : ""), names[n]);
        printf("%-11s %-9s %-6s %-22s %s\n", p->name, p->room, p->shape, list, p->title);
    }
}

static int run(int argc, char **argv)
{
    options_t o = {0};
    if (!tool_parse(&trace_list, &argc, &argv, &o))
        return TOOL_USAGE;
    if (o.json)
        list_as_json();
    else
        list_as_table();
    return TOOL_GOOD;
}

const tool_command_t trace_list = {
    .name = "list",
    .summary = "show the trace points there are",
    .options = options,
    .run = run,
};
