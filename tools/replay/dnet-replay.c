/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-replay: how many shared receive buffers a rank of a program needs, with stop/resend and
 * with a limit event, beside the published figures (flow control specification 6 and 7), and how
 * much memory receive rings of its own take (thesis table 7.3).  Programs come from traces of
 * libdimmnet-trace or from the structure of NAS bt and sp.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "replay/replay.h"
#include "tools/common/command.h"
#include "tools/common/json_out.h"

#define ENOUGH_BUFFERS 1000000u
#define BUFFERS_MAX 4096u
#define BUFFER_BYTES 32768u
#define LIMIT_PERCENT 0.1
#define NOT_GIVEN UINT64_MAX

enum { FOR_PEOPLE, CSV, JSON };
enum { STOP_RESEND, LIMIT_EVENT, METHODS };
enum { STATIC, REPLAY, MODES };
enum { ANY_CALL, WAITS };    /* places in release_words */
enum { OVERFLOW, LOW_MARK }; /* places in trigger_words */

static const uint64_t penalty_ns[METHODS] = {4510, 92800}; /* 4.3 */
static const char *const method_name[METHODS] = {"prop", "conv"};
static const char *const mode_name[MODES] = {"STATIC", "REPLAY"};
static const struct {
    const char *program;
    int percent;
} published[] = {{"bt", 83}, {"sp", 86}}; /* at 196 ranks */

typedef struct {
    int iterations, noise_percent, tick_ns, mark, ring_bytes, release, trigger;
    uint64_t seed, wire_ns, call_ns;
    const char *write;
    bool rings, print, csv, json;
} options_t;

typedef struct {
    dnet_replay_program_t program;
    char name[320];
    dnet_replay_result_t base; /* with buffers enough */
} subject_t;

static const char *const release_words[] = {"any-call", "waits", NULL};
static const char *const trigger_words[] = {"overflow", "low-mark", NULL};

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, iterations, "iterations", TOOL_INT, "N", "of bt or sp (200, 400)",
                .letter = 'i', .least = 1, .most = 100000),
    TOOL_OPTION(options_t, noise_percent, "noise", TOOL_INT, "PERCENT",
                "by which its computing times vary (5)", .letter = 'n', .most = 100),
    TOOL_OPTION(options_t, seed, "seed", TOOL_U64, "N", "of the noise (1)", .letter = 's',
                .most = NOT_GIVEN - 1),
    TOOL_OPTION(options_t, write, "write", TOOL_TEXT, "FILE",
                "write the program as a trace instead, - is standard output"),
    TOOL_OPTION(options_t, tick_ns, "tick", TOOL_INT, "NS", "unit of its gaps (1)", .least = 1,
                .most = 1000000000),
    TOOL_OPTION(options_t, release, "release", TOOL_WORD, "WHEN",
                "buffers come back at any-call (default) or at waits only", .words = release_words),
    TOOL_OPTION(options_t, trigger, "trigger", TOOL_WORD, "WHAT",
                "the limit event comes on overflow (default) or at a low-mark",
                .words = trigger_words),
    TOOL_OPTION(options_t, mark, "mark", TOOL_INT, "N", "buffers left when it comes (19)",
                .least = 1, .most = BUFFERS_MAX),
    TOOL_OPTION(options_t, wire_ns, "wire-ns", TOOL_U64, "N",
                "from a send call to the arrival (1000)", .most = 1000000000),
    TOOL_OPTION(options_t, call_ns, "call-ns", TOOL_U64, "N", "cost of an MPI call (300)",
                .most = 1000000000),
    TOOL_OPTION(options_t, rings, "rings", TOOL_FLAG, NULL,
                "memory of IPUSH receive rings instead, with and without sharing"),
    TOOL_OPTION(options_t, ring_bytes, "ring-bytes", TOOL_INT, "N", "of one ring (262144)",
                .least = 1, .most = 1u << 30),
    TOOL_OPTION(options_t, print, "print", TOOL_FLAG, NULL,
                "the calls of a trace in words instead"),
    TOOL_OPTION(options_t, csv, "csv", TOOL_FLAG, NULL, "for scripts"),
    TOOL_OPTION(options_t, json, "json", TOOL_FLAG, NULL, "for scripts"),
    {NULL},
};

static void more(FILE *out)
{
    fprintf(out,
            "\n"
            "  TRACE       files of libdimmnet-trace, of all ranks; gzip is understood\n"
            "  bt|sp RANKS the communication of NAS bt or sp, class A, RANKS a square number\n");
}

static int form(const options_t *o)
{
    return o->json ? JSON : o->csv ? CSV : FOR_PEOPLE;
}

static void must(dnet_status_t status)
{
    if (status == DNET_OK)
        return;
    if (status == DNET_ERR_STATE)
        dnet_error("a rank waits for a message or a collective call that others never begin; were "
                   "all ranks traced to their end, or do messages on two communicators have one "
                   "tag?");
    else if (status != DNET_ERR_FORMAT && status != DNET_ERR_SYSTEM) /* they have been told */
        dnet_error("%s", dnet_status_text(status));
    exit(status == DNET_ERR_NO_MEMORY || status == DNET_ERR_SYSTEM ? TOOL_SYSTEM : TOOL_USAGE);
}

/* Points of the study on their way out. */
typedef struct {
    const subject_t *subject;
    const options_t *o;
    uint32_t enough[MODES][METHODS]; /* buffers */
    bool some;
} table_t;

/* How an object of JSON begins. */
static void begin_object(const subject_t *s)
{
    printf("{\n  \"program\": ");
    dnet_json_quote(stdout, s->name);
    printf(", \"ranks\": %u,", s->program.ranks);
}

static void begin_table(const table_t *t)
{
    const subject_t *s = t->subject;
    if (form(t->o) == CSV)
        printf("program,procs,method,mode,release,B,bytes,events_total,events_max,"
               "increase_percent\n");
    if (form(t->o) == JSON) {
        begin_object(s);
        printf(" \"messages\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", \"collectives\": %" PRIu64
               ",\n  \"points\": [",
               s->base.messages, s->base.time_ns, s->program.collectives);
    }
    if (form(t->o) != FOR_PEOPLE)
        return;
    printf("%s: %u ranks, %" PRIu64 " messages, %.3f ms\n", s->name, s->program.ranks,
           s->base.messages, (double) s->base.time_ns / 1e6);
    if (s->program.collectives != 0)
        printf("%" PRIu64 " collective calls: their own messages are not known and not counted\n",
               s->program.collectives);
    printf("Longer by %%     stop/resend (4.51 us)   limit event (92.8 us)\n");
    printf("buffers   KiB    STATIC      REPLAY      STATIC      REPLAY\n");
}

static void point(table_t *t, uint32_t b, unsigned mode, unsigned method,
                  const dnet_replay_result_t *result)
{
    uint64_t more = mode == REPLAY ? result->time_ns - t->subject->base.time_ns
                                   : result->events_max * penalty_ns[method];
    uint64_t base_ns = t->subject->base.time_ns;
    double increase = base_ns != 0 ? 100.0 * (double) more / (double) base_ns : 0;
    if (increase >= LIMIT_PERCENT)
        t->enough[mode][method] = b + 1;
    const char *release = t->o->release == WAITS ? "WAITS" : "ANY_CALL";
    if (form(t->o) == CSV)
        printf("%s,%u,%s,%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%.4f\n", t->subject->name,
               t->subject->program.ranks, method_name[method], mode_name[mode], release, b,
               b * BUFFER_BYTES, result->events, result->events_max, increase);
    if (form(t->o) == JSON)
        printf("%s\n    {\"method\": \"%s\", \"mode\": \"%s\", \"release\": \"%s\", \"B\": %u, "
               "\"bytes\": %u, \"events_total\": %" PRIu64 ", \"events_max\": %" PRIu64
               ", \"increase_percent\": %.4f}",
               t->some ? "," : "", method_name[method], mode_name[mode], release, b,
               b * BUFFER_BYTES, result->events, result->events_max, increase);
    t->some = true;
    if (form(t->o) == FOR_PEOPLE && method == 0 && mode == 0)
        printf("%7u %5u", b, b * (BUFFER_BYTES / 1024));
    if (form(t->o) == FOR_PEOPLE)
        printf("%10.4f%s", increase, method == LIMIT_EVENT && mode == REPLAY ? "\n" : "  ");
}

/* Buffers that meet the limit, and what one method needs less than the other; of no method that
 * needs more than were tried is it known. */
typedef struct {
    char buffers[METHODS][24], reduction[24];
} found_t;

static found_t found(const uint32_t enough[METHODS], bool json)
{
    found_t f;
    bool known = true;
    for (unsigned m = 0; m < METHODS; m++) {
        known &= enough[m] <= BUFFERS_MAX;
        if (enough[m] <= BUFFERS_MAX)
            snprintf(f.buffers[m], sizeof(f.buffers[m]), "%u", enough[m]);
        else
            snprintf(f.buffers[m], sizeof(f.buffers[m]), json ? "null" : "more than %u",
                     BUFFERS_MAX);
    }
    double percent = 100 * (1 - (double) enough[STOP_RESEND] / enough[LIMIT_EVENT]);
    if (known)
        snprintf(f.reduction, sizeof(f.reduction), json ? "%.1f" : "%.0f %%", percent);
    else
        snprintf(f.reduction, sizeof(f.reduction), json ? "null" : "not known");
    return f;
}

static void end_table(const table_t *t)
{
    if (form(t->o) == JSON)
        printf("\n  ],\n  \"found\": [");
    for (unsigned mode = 0; mode < MODES; mode++) {
        const found_t f = found(t->enough[mode], form(t->o) == JSON);
        if (form(t->o) == JSON)
            printf("%s\n    {\"mode\": \"%s\", \"limit_percent\": %.1f, \"prop\": %s, "
                   "\"conv\": %s, \"reduction_percent\": %s, "
                   "\"published\": {\"%s\": %d, \"%s\": %d}}",
                   mode ? "," : "", mode_name[mode], LIMIT_PERCENT, f.buffers[STOP_RESEND],
                   f.buffers[LIMIT_EVENT], f.reduction, published[0].program, published[0].percent,
                   published[1].program, published[1].percent);
        else
            printf("%s%s: below %.1f %% with %s buffers and stop/resend, %s and a limit event: "
                   "reduction %s (published for 196 ranks: %s %d %%, %s %d %%)\n",
                   form(t->o) == CSV ? "# " : "", mode_name[mode], LIMIT_PERCENT,
                   f.buffers[STOP_RESEND], f.buffers[LIMIT_EVENT], f.reduction,
                   published[0].program, published[0].percent, published[1].program,
                   published[1].percent);
    }
    if (form(t->o) == JSON)
        printf("\n  ]\n}\n");
}

/* Sweeps B until no message is without a buffer, or to its end; finds the smallest B that meets the
 * limit. */
static void study(const subject_t *subject, const options_t *o)
{
    table_t t = {.subject = subject, .o = o, .enough = {{1, 1}, {1, 1}}};
    const uint32_t mark = o->mark != 0 ? (uint32_t) o->mark : 19;
    begin_table(&t);
    bool events = true;
    for (uint32_t b = 1; events && b <= BUFFERS_MAX; b++) {
        events = false;
        for (unsigned method = 0; method < METHODS; method++)
            for (unsigned mode = 0; mode < MODES; mode++) {
                bool marked = method == LIMIT_EVENT && o->trigger == LOW_MARK;
                dnet_replay_result_t result;
                dnet_replay_config_t config = {.buffers = b,
                                               .penalty_ns = penalty_ns[method],
                                               .wire_ns = o->wire_ns,
                                               .call_ns = o->call_ns,
                                               .replay = mode == REPLAY,
                                               .at_waits = o->release == WAITS,
                                               .mark = marked ? mark : 0};
                must(dnet_replay_run(&subject->program, &config, &result));
                point(&t, b, mode, method, &result);
                events |= result.events != 0;
            }
    }
    end_table(&t);
}

/* [TH table 7.3]: without IPUSH a ring for every rank; with it one for each partner, one shared. */
static void rings(const subject_t *s, const options_t *o)
{
    dnet_replay_partners_t p;
    must(dnet_replay_partners(&s->program, &p));
    unsigned ring = o->ring_bytes != 0 ? (unsigned) o->ring_bytes : 262144;
    uint64_t alone = (uint64_t) s->program.ranks * ring;
    uint64_t shared = (p.most + 1ull) * ring;
    double percent = 100.0 * (double) shared / (double) alone;
    if (form(o) == CSV)
        printf("program,procs,partners_least,partners_mean,partners_most,ring_bytes,"
               "bytes_per_sender,bytes_shared,percent\n"
               "%s,%u,%u,%.2f,%u,%u,%" PRIu64 ",%" PRIu64 ",%.1f\n",
               s->name, s->program.ranks, p.least, p.mean, p.most, ring, alone, shared, percent);
    if (form(o) == JSON) {
        begin_object(s);
        printf("\n  \"partners_least\": %u, "
               "\"partners_mean\": %.2f, \"partners_most\": %u, \"partners_most_rank\": %u,\n"
               "  \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64
               ",\n  \"ring_bytes\": %u, \"bytes_per_sender\": %" PRIu64
               ", \"bytes_shared\": %" PRIu64 ", \"percent\": %.1f\n}\n",
               p.least, p.mean, p.most, p.most_rank, p.messages, p.bytes, ring, alone, shared,
               percent);
    }
    if (form(o) == FOR_PEOPLE)
        printf("%s: %u ranks, %" PRIu64 " messages of %.0f bytes on average\n"
               "partners of a rank            %u to %u, mean %.2f (most: rank %u)\n"
               "a ring for every sender       %u x %u = %" PRIu64 " bytes a rank\n"
               "rings for partners, 1 shared  (%u + 1) x %u = %" PRIu64 " bytes a rank, %.1f %%\n"
               "published for 64 ranks: bt and sp 6 partners, 10.9 %%\n",
               s->name, s->program.ranks, p.messages,
               p.messages != 0 ? (double) p.bytes / (double) p.messages : 0.0, p.least, p.most,
               p.mean, p.most_rank, s->program.ranks, ring, alone, p.most, ring, shared, percent);
}

static void write_trace(const dnet_replay_program_t *program, const char *name, const options_t *o)
{
    const uint32_t tick_ns = o->tick_ns != 0 ? (uint32_t) o->tick_ns : 1;
    FILE *out = strcmp(o->write, "-") == 0 ? stdout : fopen(o->write, "wb");
    dnet_status_t status =
        out == NULL ? DNET_ERR_SYSTEM : dnet_replay_to_trace(program, tick_ns, name, out);
    if (out != NULL && out != stdout && fclose(out) != 0 && status == DNET_OK)
        status = DNET_ERR_SYSTEM;
    if (status == DNET_ERR_SYSTEM)
        dnet_error("cannot write %s: %s", o->write, strerror(errno));
    must(status);
}

static void generate(char **argument, const options_t *o, subject_t *s)
{
    dnet_replay_shape_t shape = argument[0][0] == 'b' ? DNET_REPLAY_BT : DNET_REPLAY_SP;
    uint64_t ranks;
    if (!tool_number("RANKS", argument[1], 4, 4096, &ranks))
        exit(TOOL_USAGE);
    uint32_t iterations = o->iterations != 0        ? (uint32_t) o->iterations
                          : shape == DNET_REPLAY_BT ? 200
                                                    : 400;
    uint32_t noise_percent = o->noise_percent >= 0 ? (uint32_t) o->noise_percent : 5;
    uint64_t seed = o->seed != NOT_GIVEN ? o->seed : 1;
    dnet_status_t status =
        dnet_replay_generate(shape, (uint32_t) ranks, iterations, noise_percent, seed, &s->program);
    if (status == DNET_ERR_ARGUMENT) {
        dnet_error("RANKS '%s': a square number is wanted", argument[1]);
        exit(TOOL_USAGE);
    }
    must(status);
    snprintf(s->name, sizeof(s->name), "%s", argument[0]);
}

/* @return false: it was to be printed only */
static bool load(char **path, int paths, const options_t *o, subject_t *s)
{
    dnet_calls_t trace = {0};
    for (int i = 0; i < paths; i++)
        must(dnet_calls_load(&trace, path[i]));
    must(dnet_calls_complete(&trace));
    if (o->print) {
        dnet_calls_print(&trace, stdout);
        dnet_calls_free(&trace);
        return false;
    }
    must(dnet_replay_from_trace(&trace, &s->program));
    /* It is printed between quotes and commas. */
    snprintf(s->name, sizeof(s->name), "%s", trace.rank[0].name);
    for (char *c = s->name; *c != '\0'; c++)
        if (*c == ',' || *c == '"' || *c == '\\' || (unsigned char) *c < ' ')
            *c = '_';
    dnet_calls_free(&trace);
    return true;
}

static int run(int argc, char **argv);

static const tool_command_t replay = {
    .args = "TRACE... | bt|sp RANKS",
    .args_least = 1,
    .args_most = INT32_MAX,
    .summary = "Slowdown of a program against the number of its shared receive buffers.",
    .options = options,
    .run = run,
};

/* @return what of the command line does not belong together; NULL: it does */
static const char *misfit(const options_t *o, bool shape, int arguments)
{
    bool generated = o->iterations != 0 || o->noise_percent >= 0 || o->seed != NOT_GIVEN;
    if (shape && arguments != 2)
        return "bt and sp want the number of RANKS and nothing else";
    if (!shape && (generated || o->write != NULL))
        return "--iterations, --noise, --seed and --write go with bt and sp";
    if (o->tick_ns != 0 && o->write == NULL)
        return "--tick goes with --write";
    if (o->mark != 0 && o->trigger != LOW_MARK)
        return "--mark goes with --trigger low-mark";
    if (o->ring_bytes != 0 && !o->rings)
        return "--ring-bytes goes with --rings";
    if (o->csv && o->json)
        return "--csv and --json: want one of them";
    if (o->print && shape)
        return "--print goes with traces";
    if ((o->write != NULL) + o->rings + o->print > 1)
        return "--write, --rings and --print: want one of them";
    if ((o->csv || o->json) && (o->write != NULL || o->print))
        return "--csv and --json go without --write and --print";
    bool of_study =
        o->release >= 0 || o->trigger >= 0 || o->wire_ns != NOT_GIVEN || o->call_ns != NOT_GIVEN;
    if (of_study && (o->write != NULL || o->rings || o->print))
        return "--release, --trigger, --wire-ns and --call-ns go without --write, --rings and "
               "--print";
    return NULL;
}

static int run(int argc, char **argv)
{
    options_t o = {.noise_percent = -1,
                   .release = -1,
                   .trigger = -1,
                   .seed = NOT_GIVEN,
                   .wire_ns = NOT_GIVEN,
                   .call_ns = NOT_GIVEN};
    subject_t s = {0};
    if (!tool_parse(&replay, &argc, &argv, &o))
        return TOOL_USAGE;
    bool shape = strcmp(argv[0], "bt") == 0 || strcmp(argv[0], "sp") == 0;
    const char *wrong = misfit(&o, shape, argc);
    if (wrong) {
        tool_error("%s", wrong);
        return TOOL_USAGE;
    }
    if (o.wire_ns == NOT_GIVEN)
        o.wire_ns = 1000;
    if (o.call_ns == NOT_GIVEN)
        o.call_ns = 300;
    if (shape)
        generate(argv, &o, &s);
    else if (!load(argv, argc, &o, &s))
        return TOOL_GOOD;
    dnet_replay_config_t enough = {
        .buffers = ENOUGH_BUFFERS, .wire_ns = o.wire_ns, .call_ns = o.call_ns};
    if (o.write != NULL) {
        write_trace(&s.program, s.name, &o);
    } else if (o.rings) {
        rings(&s, &o);
    } else {
        must(dnet_replay_run(&s.program, &enough, &s.base));
        study(&s, &o);
    }
    dnet_replay_free(&s.program);
    return TOOL_GOOD;
}

int main(int argc, char **argv)
{
    static const tool_command_t *const commands[] = {&replay, NULL};
    static const tool_t tool = {"dnet-replay", commands, more, NULL};
    dnet_log_identity("dnet-replay");
    return tool_main(&tool, argc, argv);
}
