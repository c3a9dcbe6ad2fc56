/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tools/wireshark/dimmnet.lua: tshark finds in the captures of a two-rank job the primitives,
 * envelopes and heads that were sent, in their order.  Skipped where tshark or mergecap is missing.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/endpoint/job.h"

enum { LINE = 256, LONGEST = 20000 };

static char folder[] = "/tmp/dimmnet-dissector-XXXXXX";
/* rank 0 has been stopped by rank 1, which has not looked meanwhile */
static atomic_bool *stopped;

static void complete(dnet_ep_request_t *req, dnet_status_t status)
{
    (void) status;
    free(req);
}

/* Messages of rank 0 with tags 1 to 5; then so many that rank 1 stops it. */
static int talk(dnet_job_rank_t *job, void *arg)
{
    static char buf[LONGEST];
    static const size_t sizes[] = {8, 300, 3000, 40, LONGEST};
    (void) arg;
    dnet_job_barrier(job); /* a rank that is not ready yet stops its senders */
    for (unsigned i = 0; i < 5; i++) {
        uint64_t envelope = dnet_ep_envelope(300, 7, i + 1);
        if (job->rank == 0
                ? dnet_job_send(job, 1, envelope, buf, sizes[i], i == 3) != 0
                : dnet_job_recv(job, envelope, DNET_MATCH_BITS, buf, LONGEST) != (long) sizes[i])
            return 1;
    }
    dnet_job_barrier(job);
    if (job->rank == 0)
        for (unsigned i = 0; i < 5000 && !dnet_ep_counters(job->ep)->stop; i++) {
            dnet_ep_request_t *req = calloc(1, sizeof(*req));
            req->complete = complete;
            if (dnet_ep_send(job->ep, 1, dnet_ep_envelope(301, 0, i), buf, 8, false, req) !=
                DNET_IN_PROGRESS)
                free(req);
        }
    if (job->rank == 0)
        atomic_store(stopped, true);
    else
        while (!atomic_load(stopped))
            usleep(100);
    return 0;
}

/* Runs a command in the scratch folder. */
static FILE *run(const char *command)
{
    char line[4096];
    snprintf(line, sizeof(line), "cd %s && %s", folder, command);
    FILE *out = popen(line, "r");
    if (!out)
        exit(99);
    return out;
}

static bool have(const char *tool)
{
    char command[64];
    snprintf(command, sizeof(command), "command -v %s >/dev/null", tool);
    return system(command) == 0;
}

/* The packets that match a filter, a line each: type, context, rank, tag, head, data bytes, result.
 */
static FILE *decode(const char *filter)
{
    char command[2048];
    snprintf(
        command, sizeof(command),
        "tshark -2 -X lua_script:%s/tools/wireshark/dimmnet.lua -r all.pcapng -Y '%s' -T fields "
        "-E separator=/s -E occurrence=l -E quote=n -e dimmnet.type.name -e dimmnet.context "
        "-e dimmnet.rank -e dimmnet.tag -e dimmnet.head -e dimmnet.data_bytes "
        "-e dimmnet.result.name 2>tshark.log",
        getenv("DNET_SRC"), filter);
    return run(command);
}

/* Do the packets of a filter read like this? */
static bool reads(const char *filter, const char *const *expected)
{
    char line[LINE];
    FILE *out = decode(filter);
    bool good = true;
    unsigned n = 0;
    for (; fgets(line, sizeof(line), out); n++) {
        line[strcspn(line, "\n")] = '\0';
        if (good && (!expected[n] || strcmp(line, expected[n]) != 0)) {
            fprintf(stderr, "%s: packet %u is '%s', expected '%s'\n", filter, n, line,
                    expected[n] ? expected[n] : "nothing");
            good = false;
        }
        if (!expected[n])
            break;
    }
    if (good && expected[n]) {
        fprintf(stderr, "%s: %u packets, then '%s' is missing\n", filter, n, expected[n]);
        good = false;
    }
    pclose(out);
    return good;
}

static unsigned count(const char *filter)
{
    char line[LINE];
    unsigned n = 0;
    FILE *out = decode(filter);
    while (fgets(line, sizeof(line), out))
        n++;
    pclose(out);
    return n;
}

/* Are there so many packets that match the filter? */
static bool counts(const char *filter, unsigned least, unsigned most)
{
    unsigned n = count(filter);
    if (n >= least && n <= most)
        return true;
    fprintf(stderr, "%s: %u packets, expected %u to %u\n", filter, n, least, most);
    return false;
}

/* A message that met no room is there as stopped first and as delivered last, and none is missing.
 */
static bool stopped_one_is_resent(void)
{
    char line[LINE] = "", filter[128], result[16] = "none";
    unsigned tag, lines = 0;
    FILE *out = decode("dimmnet.result.name == \"stopped\" && dimmnet.context == 301");
    char *found = fgets(line, sizeof(line), out);
    pclose(out);
    if (!found || sscanf(line, "IPUSH 301 0 %u", &tag) != 1) {
        fprintf(stderr, "no packet was stopped\n");
        return false;
    }
    snprintf(filter, sizeof(filter), "dimmnet.context == 301 && dimmnet.tag == %u", tag);
    out = decode(filter);
    while (fgets(line, sizeof(line), out) && ++lines)
        sscanf(line, "IPUSH 301 0 %*u 16 %15s", result);
    pclose(out);
    unsigned delivered = count("dimmnet.context == 301 && dimmnet.result == 0");
    if (strcmp(result, "delivered") == 0 && lines > 1 && delivered == tag + 1)
        return true;
    fprintf(stderr, "message %u, stopped, is sent %u times and %s at last; %u messages arrive\n",
            tag, lines, result, delivered);
    return false;
}

static bool check(void)
{
    bool good = reads("dimmnet.context == 300", (const char *const[]){
                                                    "IPUSH 300 7 1  16 delivered",
                                                    "IPUSH 300 7 2  308 delivered",
                                                    "IPUSH 300 7 3  3008 delivered",
                                                    "IPUSH 300 7 4 SYNC 72 delivered",
                                                    "IPUSH 300 7 5 RTS 32 delivered",
                                                    NULL,
                                                });
    /* Each answer behind what it answers. */
    good &= reads("dimmnet.head", (const char *const[]){
                                      "IPUSH 300 7 4 SYNC 72 delivered",
                                      "IPUSH    ACK 32 delivered",
                                      "IPUSH 300 7 5 RTS 32 delivered",
                                      "IPUSH    CTS 32 delivered",
                                      "IPUSH    ACK 32 delivered", /* all of it has been moved */
                                      NULL,
                                  });
    good &= stopped_one_is_resent();
    /* Either side may have moved any piece of the longest message. */
    good &= counts("dimmnet.type.name == \"RVS\" || dimmnet.type.name == \"RVL\"", 1, UINT_MAX);
    good &= counts("dimmnet.type.name == \"RESEND\"", 1, UINT_MAX);
    good &= counts("_ws.malformed", 0, 0);
    return good;
}

/* Ranks beside each packet; conversations; answers, packets sent again and those that were stopped
 * lead to each other. */
static bool check_links(void)
{
    bool good =
        counts("dimmnet.context == 300 && dimmnet.src_rank == 0 && dimmnet.dst_rank == 1", 5, 5);
    /* Two processes: one conversation. */
    good &= counts("dimmnet.conversation == 0", 1, UINT_MAX) &&
            counts("dimmnet.conversation > 0", 0, 0);
    /* The ACK of the SYNC, the CTS, the ACK of the rendezvous. */
    good &= counts("dimmnet.answers && dimmnet.head", 3, 3);
    good &= counts("dimmnet.head == \"CTS\" && dimmnet.answers && dimmnet.answer_time >= 0", 1, 1);
    good &= counts("(dimmnet.head == \"SYNC\" || dimmnet.head == \"RTS\") && dimmnet.answered_in",
                   2, 2);
    good &= counts("dimmnet.context == 300 && dimmnet.tag < 4 && dimmnet.answered_in", 0, 0);
    unsigned stops = count("dimmnet.result.name == \"stopped\"");
    good &= counts("dimmnet.expert.stopped", stops, stops) && stops > 0;
    unsigned again = count("dimmnet.resends");
    good &= counts("dimmnet.resent_in", again, again) && again > 0;
    good &= counts("dimmnet.expert.resent", again, again);
    FILE *out = run("tshark -q -X lua_script:$DNET_SRC/tools/wireshark/dimmnet.lua "
                    "-X lua_script1:conversations -r all.pcapng 2>/dev/null");
    char line[LINE];
    unsigned rows = 0;
    while (fgets(line, sizeof(line), out))
        rows += strncmp(line, "    0  rank 0       rank 1 ", 27) == 0;
    pclose(out);
    if (rows != 1)
        fprintf(stderr, "%u rows of ranks 0 and 1 in the table of conversations\n", rows);
    return good && rows == 1;
}

/* Headers only: what message a packet is of is there all the same, and no byte of the message. */
static bool check_headers_only(void)
{
    bool good = reads("dimmnet.context == 300", (const char *const[]){
                                                    "IPUSH 300 7 1  16 delivered",
                                                    "IPUSH 300 7 2  308 delivered",
                                                    "IPUSH 300 7 3  3008 delivered",
                                                    "IPUSH 300 7 4 SYNC 72 delivered",
                                                    "IPUSH 300 7 5 RTS 32 delivered",
                                                    NULL,
                                                });
    good &= counts("dimmnet.head == \"ACK\" && !dimmnet.tag", 2, 2);
    good &= counts("dimmnet.data", 0, 0);
    return good;
}

static bool run_job(void)
{
    atomic_store(stopped, false);
    return dnet_job_run(2, 60, talk, NULL) == 0 &&
           pclose(run("mergecap -w all.pcapng run.0.pcapng run.1.pcapng 2>&1")) == 0;
}

int main(void)
{
    char path[128];
    if (!have("tshark") || !have("mergecap")) {
        puts("tshark or mergecap is missing (Debian: tshark)");
        return 77;
    }
    if (!getenv("DNET_SRC")) {
        puts("DNET_SRC does not name the source tree");
        return 77;
    }
    if (!mkdtemp(folder))
        return 99;
    stopped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(path, sizeof(path), "%s/run.pcapng", folder);
    setenv("DIMMNET_PCAP", path, 1);
    setenv("DIMMNET_PROFILE", "extended", 1);
    setenv("DIMMNET_EAGER_LIMIT", "8192", 1);
    setenv("DIMMNET_SPLIT_LIMIT", "8192", 1); /* the longest message is split */
    bool good = run_job() && check() && check_links();
    setenv("DIMMNET_PCAP_BYTES", "0", 1);
    good = good && run_job() && check_headers_only();
    if (!good) {
        fprintf(stderr, "files: %s\n", folder);
        return 1;
    }
    snprintf(path, sizeof(path), "rm -r %s", folder);
    return system(path) != 0;
}
