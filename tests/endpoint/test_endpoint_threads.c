/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process with several endpoints, each in a thread of its own: those of one number exchange
 * messages of every way to travel with each other, all numbers at once, and nothing that belongs to
 * one of them is seen by another.  Built with -fsanitize=thread this is the test that endpoints of
 * a process share nothing.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint/endpoint.h"

enum { VCIS = 3, RANKS = 4, ROUNDS = 12, MOST = 300001 };

static const size_t sizes[] = {0, 8, 49, 489, 4065, 16385, 65536, MOST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

typedef struct {
    dnet_ep_t *ep;
    uint32_t vci, rank;
    int bad;
} end_t;

typedef struct {
    dnet_ep_request_t req; /* first member */
    bool done;
    dnet_status_t status;
} request_t;

static void finished(dnet_ep_request_t *req, dnet_status_t status)
{
    request_t *r = (request_t *) req;
    r->done = true;
    r->status = status;
}

static void started(request_t *r, dnet_status_t status)
{
    if (status != DNET_IN_PROGRESS)
        finished(&r->req, status);
}

static bool wait_for(end_t *e, const request_t *r)
{
    bool did;
    while (!r->done)
        if (dnet_ep_progress(e->ep, &did) != DNET_OK)
            return false;
    return r->status == DNET_OK;
}

/* Two ranks share a NIC: the partner is on the other one. */
static uint32_t other_of(const end_t *e)
{
    return e->rank ^ 2;
}

/* Every number has bytes of its own. */
static uint8_t byte_of(const end_t *e, unsigned round, size_t i)
{
    return (uint8_t) (i * 7 + i / 251 + round + e->vci * 50);
}

static bool send_one(end_t *e, unsigned round, uint8_t *buf, size_t len)
{
    request_t r = {.req.complete = finished};
    for (size_t i = 0; i < len; i++)
        buf[i] = byte_of(e, round, i);
    started(&r, dnet_ep_send(e->ep, other_of(e), dnet_ep_envelope(7, e->rank, round), buf, len,
                             round % 2, &r.req));
    return wait_for(e, &r);
}

static bool receive_one(end_t *e, unsigned round, uint8_t *buf, size_t len)
{
    request_t r = {.req.complete = finished};
    memset(buf, 0xee, len);
    started(&r, dnet_ep_recv(e->ep, dnet_ep_envelope(7, other_of(e), round), DNET_MATCH_BITS, buf,
                             len, &r.req));
    if (!wait_for(e, &r) || r.req.len_bytes != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (buf[i] != byte_of(e, round, i))
            return false;
    return true;
}

static void *exchange(void *arg)
{
    end_t *e = arg;
    void *buf, *other;
    for (unsigned round = 0; round < ROUNDS * SIZES && !e->bad; round++) {
        size_t len = sizes[(round + e->vci) % SIZES];
        bool first = round % 2 == e->rank / 2;
        /* memory of the NIC now and then, of one endpoint while others are under way */
        if (dnet_ep_alloc(e->ep, MOST, &buf) != DNET_OK ||
            dnet_ep_alloc(e->ep, 100000 * (e->vci + 1), &other) != DNET_OK) {
            e->bad = 1;
            break;
        }
        e->bad = first ? !send_one(e, round, buf, len) : !receive_one(e, round, buf, len);
        dnet_ep_free(e->ep, other);
        dnet_ep_free(e->ep, buf);
        if (e->bad)
            fprintf(stderr, "vci %u rank %u round %u: %zu bytes are wrong\n", e->vci, e->rank,
                    round, len);
    }
    return NULL;
}

static void open_all(end_t end[VCIS][RANKS])
{
    dnet_ep_address_t address[RANKS];
    for (uint32_t v = 0; v < VCIS; v++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            dnet_ep_config_t config = {
                .rank = r, .size = RANKS, .vci = v, .job = (uint64_t) getpid()};
            end[v][r] = (end_t){.vci = v, .rank = r};
            assert_int_equal(dnet_ep_open(&config, &end[v][r].ep), DNET_OK);
            dnet_ep_address(end[v][r].ep, &address[r]);
        }
        for (uint32_t r = 0; r < RANKS; r++)
            assert_int_equal(dnet_ep_connect(end[v][r].ep, address), DNET_OK);
    }
}

static void close_all(end_t end[VCIS][RANKS])
{
    for (unsigned v = VCIS; v-- > 0;)
        for (unsigned r = RANKS; r-- > 0;)
            dnet_ep_close(end[v][r].ep);
}

static void test_endpoints_of_a_process_in_threads(void **state)
{
    end_t end[VCIS][RANKS];
    pthread_t thread[VCIS][RANKS];
    (void) state;
    open_all(end);
    for (unsigned v = 0; v < VCIS; v++)
        for (unsigned r = 0; r < RANKS; r++)
            assert_int_equal(pthread_create(&thread[v][r], NULL, exchange, &end[v][r]), 0);
    for (unsigned v = 0; v < VCIS; v++)
        for (unsigned r = 0; r < RANKS; r++)
            pthread_join(thread[v][r], NULL);
    for (unsigned v = 0; v < VCIS; v++) {
        for (unsigned r = 0; r < RANKS; r++)
            assert_int_equal(end[v][r].bad, 0);
        /* each has sent and received its own half of the messages */
        assert_int_equal(dnet_ep_counters(end[v][0].ep)->sent_messages, ROUNDS * SIZES / 2);
        assert_int_equal(dnet_ep_counters(end[v][0].ep)->received_messages, ROUNDS * SIZES / 2);
    }
    close_all(end);
}

/* Lines of what all endpoints of the process have said when they were asked. */
static unsigned lines_with(FILE *f, const char *text)
{
    char line[512];
    unsigned n = 0;
    rewind(f);
    while (fgets(line, sizeof(line), f))
        n += strstr(line, text) != NULL;
    return n;
}

static void test_all_endpoints_of_a_process_answer(void **state)
{
    end_t end[VCIS][RANKS];
    char path[] = "/tmp/test-endpoint-threads-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "r");
    (void) state;
    assert_non_null(f);
    setenv("DIMMNET_DUMP", path, 1);
    open_all(end);
    raise(SIGUSR2);
    assert_int_equal(lines_with(f, "] state: "), VCIS * RANKS);
    assert_int_equal(lines_with(f, "dimmnet[rank 1] state: "), 1);
    assert_int_equal(lines_with(f, "dimmnet[rank 1 vci 2] state: "), 1);
    dnet_ep_close(end[1][0].ep); /* one in the middle */
    raise(SIGUSR2);
    assert_int_equal(lines_with(f, "dimmnet[rank 0 vci 1] state: "), 1);
    assert_int_equal(lines_with(f, "dimmnet[rank 0 vci 2] state: "), 2);
    for (unsigned v = VCIS; v-- > 0;)
        for (unsigned r = RANKS; r-- > 0;)
            if (v != 1 || r != 0)
                dnet_ep_close(end[v][r].ep);
    fclose(f);
    unlink(path);
    unsetenv("DIMMNET_DUMP");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoints_of_a_process_in_threads),
        cmocka_unit_test(test_all_endpoints_of_a_process_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
