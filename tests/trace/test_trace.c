/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trace points: on from the start or switched by dnet-trace while the process runs, kept in memory
 * or in a file that outlives it, shown in the order of time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/trace.h"
#include "tests/endpoint/job.h"

enum { LINE = 512 };

static char folder[] = "/tmp/dimmnet-trace-XXXXXX";

typedef struct {
    int status;
    unsigned lines;
    char first[LINE], last[LINE];
} output_t;

/* Runs `dnet-trace ARGUMENTS`; what it prints, both streams, is in `o`. */
static output_t tool(const char *format, ...)
{
    char arguments[1024], command[2048], line[LINE];
    output_t o = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof(arguments), format, args);
    va_end(args);
    snprintf(command, sizeof(command), "cd %s && %s/tools/dnet-trace %s 2>&1", folder,
             getenv("DNET_BUILD"), arguments);
    FILE *out = popen(command, "r");
    while (out && fgets(line, sizeof(line), out)) {
        memcpy(o.lines++ ? o.last : o.first, line, sizeof(line));
    }
    int status = pclose(out);
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return o;
}

/* Rank 0 sends `count` messages of 8 bytes with tags from `tag` on; the others take and drop them.
 */
static int messages(dnet_job_rank_t *job, uint32_t tag, uint32_t count)
{
    uint64_t data = 0;
    int bad = 0;
    for (uint32_t i = 0; i < count; i++)
        bad |= job->rank == 0
                   ? dnet_job_send(job, 1, dnet_ep_envelope(9, 0, tag + i), &data, 8, false) != 0
                   : dnet_job_recv(job, dnet_ep_envelope(9, 0, tag + i), DNET_MATCH_BITS, &data,
                                   8) != 8;
    return bad;
}

static int ten_messages(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    dnet_job_barrier(job);
    return messages(job, 0, 10);
}

static void trace_into(const char *points, const char *file)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    setenv("DIMMNET_TRACE", points, 1);
    setenv("DIMMNET_TRACE_FILE", path, 1);
}

static void no_trace(void)
{
    unsetenv("DIMMNET_TRACE");
    unsetenv("DIMMNET_TRACE_FILE");
    unsetenv("DIMMNET_TRACE_EVENTS");
}

static void test_trace_files_of_ranks_merge_in_time(void **state)
{
    (void) state;
    trace_into("send,arrive,received", "ten.%r");
    assert_int_equal(dnet_job_run(2, 30, ten_messages, NULL), 0);
    output_t o = tool("show --csv -t send ten.0 ten.1");
    assert_int_equal(o.lines, 11);
    assert_non_null(strstr(o.last, ",rank 0,"));
    assert_non_null(strstr(o.last, "send,peer=1 context=9 rank=0 tag=9 bytes=8"));
    o = tool("show --csv -t arrive,received ten.0 ten.1");
    assert_int_equal(o.lines, 21);
    assert_non_null(strstr(o.last, "received,bytes=8"));
    assert_non_null(strstr(o.last, ",rank 1,"));
    o = tool("show ten.0 ten.1");
    assert_int_equal(o.lines, 31);
    o = tool("show ten.0 ten.1 -n 1");
    assert_int_equal(o.lines, 2);
    assert_non_null(strstr(o.last, "rank 1     received"));
    /* Each message is sent before it arrives, whichever rank's file it stands in. */
    o = tool("show --csv -t endpoint ten.1 ten.0 | sort -c -t , -k 1,1n");
    assert_int_equal(o.status, 0);
    no_trace();
}

static void test_trace_json_and_chrome_are_json(void **state)
{
    (void) state;
    trace_into("all", "json.%r");
    assert_int_equal(dnet_job_run(2, 30, ten_messages, NULL), 0);
    output_t o = tool("show --json json.0 json.1 | python3 -c 'import json, sys; "
                      "print(sum(e[\"point\"] == \"send\" and e[\"peer\"] == 1 "
                      "for e in json.load(sys.stdin)))'");
    assert_string_equal(o.first, "10\n");
    o = tool("show --chrome json.0 json.1 | python3 -c 'import json, sys; "
             "print(sum(e[\"ph\"] == \"i\" and e[\"name\"] == \"arrive\" "
             "for e in json.load(sys.stdin)[\"traceEvents\"]))'");
    assert_string_equal(o.first, "10\n");
    /* An arrow for each message, from its sender to its receiver, forward in time. */
    o = tool("show --chrome json.0 json.1 | python3 -c 'import json, sys; "
             "t = json.load(sys.stdin)[\"traceEvents\"]; "
             "s, f = ({e[\"id\"]: e for e in t if e[\"ph\"] == p} for p in \"sf\"); "
             "print(len(s), s.keys() == f.keys(), all(s[i][\"ts\"] <= f[i][\"ts\"] and "
             "s[i][\"tid\"] != f[i][\"tid\"] for i in s))'");
    assert_string_equal(o.first, "10 True True\n");
    o = tool("list --json | python3 -m json.tool");
    assert_int_equal(o.status, 0);
    no_trace();
}

/* Switched by the tool while the job runs: only what is sent in between is there. */
static int switched(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    int bad = messages(job, 0, 5), pid = (int) getpid();
    if (job->rank == 0)
        bad |= tool("on send -p %d", pid).status != 0;
    bad |= messages(job, 100, 7);
    if (job->rank == 0) {
        bad |= strstr(tool("status -p %d", pid).last, " send\n") == NULL;
        /* Each ring once, though the tool that looks has it open as well. */
        bad |= tool("status | awk '{ print $3 }' | sort | uniq -d").lines != 0;
        bad |= tool("off -p %d", pid).status != 0;
    }
    bad |= messages(job, 200, 5);
    if (job->rank != 0)
        return bad;
    output_t o = tool("show -p %d", pid);
    if (o.lines != 8 || !strstr(o.last, "tag=106")) {
        fprintf(stderr, "%u lines, the last one: %s", o.lines, o.last);
        bad = 1;
    }
    return bad;
}

static void test_trace_is_switched_while_the_process_runs(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 30, switched, NULL), 0);
}

static int killed(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    if (ten_messages(job, NULL))
        return 1;
    raise(SIGKILL);
    return 1;
}

static void test_trace_file_outlives_a_killed_process(void **state)
{
    (void) state;
    trace_into("send", "killed");
    assert_int_equal(dnet_job_run(2, 30, killed, NULL), 1);
    output_t o = tool("show killed.0");
    assert_int_equal(o.lines, 11);
    no_trace();
}

static int many_messages(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    return messages(job, 0, 1500);
}

static void test_trace_keeps_the_newest_events(void **state)
{
    (void) state;
    trace_into("send", "many.%r");
    setenv("DIMMNET_TRACE_EVENTS", "1K", 1);
    assert_int_equal(dnet_job_run(2, 30, many_messages, NULL), 0);
    output_t o = tool("show many.0");
    assert_int_equal(o.lines, 1024 + 2);
    assert_string_equal(o.first,
                        "dnet-trace show: rank 0: the oldest 476 events have been overwritten\n");
    assert_non_null(strstr(o.last, "tag=1499"));
    no_trace();
}

static dnet_status_t open_alone(void)
{
    dnet_ep_config_t config = {.rank = 0, .size = 2, .job = 1};
    dnet_ep_t *ep;
    dnet_status_t status = dnet_ep_open(&config, &ep);
    if (status == DNET_OK)
        dnet_ep_close(ep);
    return status;
}

static void test_trace_that_cannot_be_kept_ends_the_job(void **state)
{
    (void) state;
    setenv("DIMMNET_TRACE", "send,everything", 1);
    assert_int_equal(open_alone(), DNET_ERR_FORMAT);
    setenv("DIMMNET_TRACE", "", 1);
    assert_int_equal(open_alone(), DNET_ERR_FORMAT);
    trace_into("all", "none/trace");
    assert_int_equal(open_alone(), DNET_ERR_SYSTEM);
    char fifo[256];
    snprintf(fifo, sizeof(fifo), "%s/fifo.0", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    trace_into("all", "fifo.%r");
    assert_int_equal(open_alone(), DNET_ERR_SYSTEM);
    setenv("DIMMNET_TRACE_EVENTS", "1", 1);
    assert_int_equal(open_alone(), DNET_ERR_FORMAT);
    no_trace();
    assert_int_equal(open_alone(), DNET_OK);
}

static uint64_t points(const char *text)
{
    uint64_t mask = 0;
    const char *wrong;
    int len;
    assert_true(dnet_trace_parse(text, &mask, &wrong, &len));
    return mask;
}

static void test_trace_points_are_known_by_their_old_names(void **state)
{
    (void) state;
    assert_int_equal(points("request"), points("rts"));
    assert_int_equal(points("answer,send"), points("cts,send"));
    assert_int_equal(points("answered"), points("cleared"));
    assert_int_not_equal(points("rts"), points("cts"));
}

static void assert_refused(output_t o, int status, const char *text)
{
    if (o.status != status || o.lines != 1 || !strstr(o.first, text))
        print_message("exit status %d, %u lines: %s\n", o.status, o.lines, o.first);
    assert_int_equal(o.status, status);
    assert_int_equal(o.lines, 1);
    assert_non_null(strstr(o.first, text));
}

static void test_trace_tool_refuses_with_one_line(void **state)
{
    (void) state;
    assert_refused(tool("on everything"), 2, "everything is no trace point");
    assert_refused(tool("show none"), 1, "none: No such file");
    assert_refused(tool("show /etc/passwd"), 1, "/etc/passwd: not a trace");
    assert_refused(tool("show -p 2147483647"), 1, "process 2147483647 cannot be traced");
    assert_refused(tool("show -n 0 ten.0"), 2, "--last 0: expected a number from 1");
    assert_refused(tool("list >/dev/null; cp ten.0 old; printf '\\100' | dd of=old bs=1 seek=8 "
                        "conv=notrunc 2>/dev/null; %s/tools/dnet-trace show old",
                        getenv("DNET_BUILD")),
                   1, "another version");
    assert_refused(tool("list >/dev/null; head -c 8192 ten.0 >cut; %s/tools/dnet-trace show cut",
                        getenv("DNET_BUILD")),
                   1, "cut off");
    assert_int_equal(tool("dance").status, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_files_of_ranks_merge_in_time),
        cmocka_unit_test(test_trace_json_and_chrome_are_json),
        cmocka_unit_test(test_trace_is_switched_while_the_process_runs),
        cmocka_unit_test(test_trace_file_outlives_a_killed_process),
        cmocka_unit_test(test_trace_keeps_the_newest_events),
        cmocka_unit_test(test_trace_points_are_known_by_their_old_names),
        cmocka_unit_test(test_trace_that_cannot_be_kept_ends_the_job),
        cmocka_unit_test(test_trace_tool_refuses_with_one_line),
    };
    if (!getenv("DNET_BUILD")) {
        puts("DNET_BUILD does not name the build tree");
        return 77;
    }
    assert_non_null(mkdtemp(folder));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) != 0 || failed;
}
