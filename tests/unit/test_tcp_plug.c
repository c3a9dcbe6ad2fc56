/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plug over TCP sockets by itself: two of its ports on the loopback of this machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emulator/swif/hosts/tcp_end.h"

#define PLUG dnet_emu_plug_tcp

enum { LARGE_BYTES = 16 << 20, PATIENCE_S = 20 };

/* A port, and what it has been told. */
typedef struct {
    dnet_emu_plug_end_t *end;
    dnet_emu_port_address_t at;
    uint64_t peer; /* the other one */
    unsigned arrived, sent, failed;
    uint32_t bytes; /* of the last message */
    uint8_t first;  /* its first byte */
    bool is_enough; /* one message a poll */
} side_t;

static bool arrived(void *arg, uint8_t *data, uint32_t bytes)
{
    side_t *s = arg;
    s->arrived++;
    s->bytes = bytes;
    s->first = data[0];
    return !s->is_enough;
}

static void sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    side_t *s = arg;
    (void) op;
    s->sent++;
    s->failed += why != NULL;
}

static const dnet_emu_plug_events_t events = {.arrived = arrived, .sent = sent};

static void open_side(side_t *s, uint32_t key)
{
    const dnet_emu_port_config_t config = {.interface = "lo"};
    *s = (side_t){.at.key = key};
    assert_int_equal(PLUG.open(&config, &s->at, &s->end), DNET_OK);
}

static void open_both(side_t *a, side_t *b)
{
    open_side(a, 1);
    open_side(b, 2);
    assert_true(PLUG.reach(a->end, &b->at, &a->peer));
    assert_true(PLUG.reach(b->end, &a->at, &b->peer));
}

static void close_both(side_t *a, side_t *b)
{
    PLUG.close(a->end);
    PLUG.close(b->end);
}

static void poll_both(side_t *a, side_t *b)
{
    PLUG.poll(a->end, &events, a);
    PLUG.poll(b->end, &events, b);
}

/* Poll until a number is reached.  @return false: it was not in time */
static bool reaches(side_t *a, side_t *b, const unsigned *number, unsigned wanted)
{
    time_t end = time(NULL) + PATIENCE_S;
    while (*number < wanted && time(NULL) < end)
        poll_both(a, b);
    return *number == wanted;
}

/* Send as soon as that goes.  @return false: it did not in time */
static bool sends(side_t *from, side_t *to, const void *data, uint32_t bytes,
                  dnet_emu_plug_op_t *op)
{
    time_t end = time(NULL) + PATIENCE_S;
    dnet_status_t status;
    while ((status = PLUG.send(from->end, from->peer, data, bytes, op)) == DNET_STOPPED &&
           time(NULL) < end)
        poll_both(from, to);
    return status == DNET_OK || status == DNET_IN_PROGRESS;
}

static const dnet_emu_tcp_peer_t *peer_of(const side_t *s)
{
    return (const dnet_emu_tcp_peer_t *) (uintptr_t) s->peer;
}

/* Has the port itself made its connection? */
static bool has_connected(const side_t *s)
{
    dnet_emu_tcp_address_t own;
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(peer_of(s)->fd, &own.any, &length), 0);
    return own.v4.sin_port != s->end->at.v4.sin_port;
}

/* The one with the lower address is the first to see the other's greeting, and declines. */
static void test_tcp_plug_both_connect_at_once(void **state)
{
    side_t a, b;
    dnet_emu_plug_op_t op;
    (void) state;
    open_both(&a, &b);
    if (dnet_emu_tcp_address_compare(&a.end->at, &b.end->at) > 0) {
        side_t c = a;
        a = b;
        b = c;
    }
    assert_int_equal(PLUG.send(a.end, a.peer, "a", 1, &op), DNET_STOPPED);
    assert_int_equal(PLUG.send(b.end, b.peer, "b", 1, &op), DNET_STOPPED);
    assert_true(sends(&a, &b, "a", 1, &op));
    assert_true(sends(&b, &a, "b", 1, &op));
    assert_true(reaches(&a, &b, &a.arrived, 1) && reaches(&a, &b, &b.arrived, 1));
    assert_int_equal(a.first, 'b');
    assert_int_equal(b.first, 'a');
    for (int i = 0; i < 1000; i++)
        poll_both(&a, &b);
    assert_int_equal(a.end->connected, 1);
    assert_int_equal(b.end->connected, 1);
    assert_true(has_connected(&a));
    assert_false(has_connected(&b));
    close_both(&a, &b);
}

static void test_tcp_plug_strangers_are_sent_away(void **state)
{
    side_t a, b;
    dnet_emu_plug_op_t op;
    (void) state;
    open_both(&a, &b);
    b.at.key++;
    assert_true(PLUG.reach(a.end, &b.at, &a.peer));
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(PLUG.send(a.end, a.peer, "a", 1, &op), DNET_STOPPED);
        poll_both(&a, &b);
    }
    assert_int_equal(b.arrived, 0);
    assert_int_equal(b.end->connected, 0);
    assert_null(b.end->strangers);
    close_both(&a, &b);
}

/* Longer than what a socket takes at once, and more than is taken in a poll. */
static void test_tcp_plug_order_and_ends(void **state)
{
    enum { MESSAGES = 400 };
    static uint8_t data[TCP_MESSAGE_BYTES];
    static dnet_emu_plug_op_t op[MESSAGES];
    side_t a, b;
    unsigned at_once = 0;
    (void) state;
    open_both(&a, &b);
    b.is_enough = true;
    for (unsigned i = 0; i < MESSAGES; i++) {
        dnet_status_t status;
        assert_true(i > 0 || sends(&a, &b, data, 1, &op[0]));
        status = PLUG.send(a.end, a.peer, data, sizeof data - i, &op[i]);
        assert_true(status == DNET_OK || status == DNET_IN_PROGRESS);
        at_once += status == DNET_OK;
    }
    assert_true(at_once > 0 && at_once < MESSAGES);
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_true(reaches(&a, &b, &b.arrived, i + 2));
        assert_int_equal(b.bytes, sizeof data - i);
    }
    assert_true(reaches(&a, &b, &a.sent, MESSAGES - at_once));
    assert_int_equal(a.failed, 0);
    close_both(&a, &b);
}

static void test_tcp_plug_reads_what_is_lent(void **state)
{
    uint8_t *from = malloc(LARGE_BYTES), *to = calloc(1, LARGE_BYTES);
    uint64_t bytes = LARGE_BYTES;
    dnet_remote_memory_t memory;
    dnet_emu_plug_op_t op;
    side_t a, b;
    void *held;
    (void) state;
    assert_true(from && to);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        from[i] = (uint8_t) (i * 7 + i / 251);
    open_both(&a, &b);
    held = PLUG.hold(a.end, from, LARGE_BYTES, false, &memory);
    assert_true(sends(&a, &b, "a", 1, &op));
    assert_true(reaches(&a, &b, &b.arrived, 1));
    assert_int_equal(PLUG.read(b.end, b.peer, &memory, to, b.end, &bytes, &op), DNET_IN_PROGRESS);
    assert_true(reaches(&a, &b, &b.sent, 1));
    assert_memory_equal(from, to, LARGE_BYTES);

    memory.address = 1; /* behind its end */
    assert_int_equal(PLUG.read(b.end, b.peer, &memory, to, b.end, &bytes, &op), DNET_IN_PROGRESS);
    assert_true(reaches(&a, &b, &b.sent, 2));
    assert_int_equal(b.failed, 1);
    memory.address = 0;
    PLUG.let_go(a.end, held);
    assert_int_equal(PLUG.read(b.end, b.peer, &memory, to, b.end, &bytes, &op), DNET_IN_PROGRESS);
    assert_true(reaches(&a, &b, &b.sent, 3));
    assert_int_equal(b.failed, 2);
    close_both(&a, &b);
    free(from);
    free(to);
}

/* Send a message, and with it what is lent.  @return whether it was sent ahead */
static bool sends_ahead(side_t *a, side_t *b, const uint8_t *from, uint32_t bytes, void **held_p,
                        dnet_remote_memory_t *memory_p)
{
    dnet_emu_plug_op_t op;
    unsigned before = b->arrived;
    bool is_ahead;
    *held_p = PLUG.hold(a->end, from, bytes, false, memory_p);
    PLUG.send_ahead(a->end, a->peer, *held_p);
    is_ahead = peer_of(a)->follows;
    assert_int_equal(PLUG.send(a->end, a->peer, "a", 1, &op), DNET_OK);
    PLUG.send_ahead(a->end, a->peer, NULL);
    assert_true(reaches(a, b, &b->arrived, before + 1));
    return is_ahead;
}

/* Who asks as soon as the message has come has the data without a request; who asks later has them
 * once more, and then nothing is sent ahead for a while. */
static void test_tcp_plug_sent_ahead(void **state)
{
    enum { BYTES = 200000, LATER = 100 };
    static uint8_t from[BYTES], to[BYTES];
    uint64_t bytes = BYTES;
    dnet_remote_memory_t memory;
    dnet_emu_plug_op_t op;
    side_t a, b;
    void *held;
    unsigned ahead = 0;
    (void) state;
    for (size_t i = 0; i < BYTES; i++)
        from[i] = (uint8_t) (i * 7 + i / 251);
    open_both(&a, &b);
    assert_true(sends(&a, &b, "a", 1, &op));
    assert_true(reaches(&a, &b, &b.arrived, 1));
    for (unsigned i = 1; i <= 10; i++) {
        memset(to, 0, sizeof to);
        assert_true(sends_ahead(&a, &b, from, BYTES, &held, &memory));
        assert_int_equal(PLUG.read(b.end, b.peer, &memory, to, b.end, &bytes, &op),
                         DNET_IN_PROGRESS);
        assert_null(peer_of(&b)->out.first);
        assert_true(reaches(&a, &b, &b.sent, i));
        assert_memory_equal(from, to, BYTES);
        assert_null(peer_of(&b)->reads.first);
        PLUG.let_go(a.end, held);
    }
    memset(to, 0, sizeof to);
    assert_true(sends_ahead(&a, &b, from, BYTES, &held, &memory));
    for (unsigned i = 0; i < LATER; i++)
        poll_both(&a, &b);
    assert_int_equal(PLUG.read(b.end, b.peer, &memory, to, b.end, &bytes, &op), DNET_IN_PROGRESS);
    assert_true(reaches(&a, &b, &b.sent, 11));
    assert_memory_equal(from, to, BYTES);
    PLUG.let_go(a.end, held);
    for (unsigned i = 0; i < LATER; i++) {
        ahead += sends_ahead(&a, &b, from, BYTES, &held, &memory);
        PLUG.let_go(a.end, held);
    }
    assert_in_range(ahead, 1, LATER / 2);
    assert_int_equal(b.failed, 0);
    close_both(&a, &b);
}

/* Loans end when nothing of them has left, and a part: nothing of what is there later leaves. */
static void test_tcp_plug_loan_ends_ahead(void **state)
{
    enum { BYTES = 262144, LOANS = 4, LITTLE = 16384 };
    static uint8_t from[BYTES];
    const int little = LITTLE;
    dnet_remote_memory_t memory;
    dnet_emu_plug_op_t op[LOANS + 1];
    side_t a, b;
    void *held[LOANS];
    (void) state;
    open_both(&a, &b);
    assert_true(sends(&a, &b, "a", 1, &op[LOANS]));
    assert_true(reaches(&a, &b, &b.arrived, 1));
    assert_int_equal(setsockopt(peer_of(&a)->fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof little), 0);
    for (unsigned i = 0; i < LOANS; i++) {
        held[i] = PLUG.hold(a.end, from, BYTES, false, &memory);
        PLUG.send_ahead(a.end, a.peer, held[i]);
        (void) PLUG.send(a.end, a.peer, "b", 1, &op[i]);
        PLUG.send_ahead(a.end, a.peer, NULL);
    }
    assert_int_equal(peer_of(&a)->sent_ahead, 1);
    assert_true(peer_of(&a)->left > 0);
    PLUG.let_go(a.end, held[0]);
    assert_int_equal(peer_of(&a)->sent_ahead, 0);
    assert_null(peer_of(&a)->out.first);
    assert_int_equal(peer_of(&a)->fd, -1);
    for (unsigned i = 1; i < LOANS; i++)
        PLUG.let_go(a.end, held[i]);
    assert_true(reaches(&a, &b, &a.failed, LOANS - 1));
    assert_true(sends(&a, &b, "c", 1, &op[LOANS]));
    assert_true(reaches(&a, &b, &b.arrived, 3));
    assert_int_equal(b.first, 'c');
    close_both(&a, &b);
}

/* What waits is reported, and another connection is made. */
static void test_tcp_plug_lost_connection(void **state)
{
    uint64_t bytes = 8;
    uint8_t to[8];
    dnet_remote_memory_t memory = {.key = {1}};
    dnet_emu_plug_op_t op;
    side_t a, b;
    (void) state;
    open_both(&a, &b);
    assert_true(sends(&a, &b, "a", 1, &op));
    assert_true(reaches(&a, &b, &b.arrived, 1));
    assert_int_equal(PLUG.read(a.end, a.peer, &memory, to, a.end, &bytes, &op), DNET_IN_PROGRESS);
    assert_int_equal(shutdown(peer_of(&b)->fd, SHUT_RDWR), 0);
    assert_true(reaches(&a, &b, &a.failed, 1));
    assert_true(sends(&b, &a, "b", 1, &op));
    assert_true(reaches(&a, &b, &a.arrived, 1));
    assert_true(sends(&a, &b, "c", 1, &op));
    assert_true(reaches(&a, &b, &b.arrived, 2));
    assert_int_equal(b.first, 'c');
    close_both(&a, &b);
}

/* One peer alone is polled without a word of the kernel's: a process that goes to sleep wants it
 * again, and another peer is heard all the same. */
static void test_tcp_plug_quiet_peer_wakes(void **state)
{
    dnet_emu_plug_op_t op;
    side_t a, b, c;
    (void) state;
    open_both(&a, &b);
    open_side(&c, 3);
    assert_true(PLUG.reach(c.end, &b.at, &c.peer));
    for (unsigned i = 1; i <= 200; i++) {
        assert_true(sends(&a, &b, "a", 1, &op));
        assert_true(reaches(&a, &b, &b.arrived, i));
    }
    assert_true(peer_of(&b)->is_quiet);
    assert_true(PLUG.may_wait(b.end));
    assert_false(peer_of(&b)->is_quiet);
    assert_true(sends(&c, &b, "c", 1, &op));
    assert_true(reaches(&c, &b, &b.arrived, 201));
    assert_int_equal(b.first, 'c');
    PLUG.close(c.end);
    close_both(&a, &b);
}

/* Is there something to be polled for? */
static bool is_called(const side_t *s)
{
    struct pollfd port = {.fd = PLUG.wait_fd(s->end), .events = POLLIN};
    return poll(&port, 1, 0) == 1;
}

/* Somebody else writes less than a greeting, and waits for an answer. */
static void test_tcp_plug_few_bytes_of_a_stranger(void **state)
{
    static const char request[] = "GET /\r\n";
    side_t a;
    char byte;
    (void) state;
    open_side(&a, 1);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, &a.end->at.any, sizeof a.end->at.v4), 0);
    assert_int_equal(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    for (int i = 0; i < 1000; i++)
        PLUG.poll(a.end, &events, &a);
    assert_false(is_called(&a));
    assert_null(a.end->strangers);
    assert_true(recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET);
    close(fd);
    PLUG.close(a.end);
}

/* A child process has the descriptors of a connection, which nobody here has any more. */
static void test_tcp_plug_child_has_the_descriptors(void **state)
{
    dnet_emu_plug_op_t op;
    side_t a, b;
    (void) state;
    open_both(&a, &b);
    assert_true(sends(&a, &b, "a", 1, &op));
    assert_true(reaches(&a, &b, &b.arrived, 1));
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    PLUG.part(a.end, a.peer);
    assert_int_equal(PLUG.send(b.end, b.peer, "b", 1, &op), DNET_OK);
    for (int i = 0; i < 1000; i++)
        poll_both(&a, &b);
    bool called = is_called(&a);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(called);
    assert_int_equal(a.arrived, 0);
    close_both(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp_plug_both_connect_at_once),
        cmocka_unit_test(test_tcp_plug_strangers_are_sent_away),
        cmocka_unit_test(test_tcp_plug_order_and_ends),
        cmocka_unit_test(test_tcp_plug_reads_what_is_lent),
        cmocka_unit_test(test_tcp_plug_sent_ahead),
        cmocka_unit_test(test_tcp_plug_loan_ends_ahead),
        cmocka_unit_test(test_tcp_plug_lost_connection),
        cmocka_unit_test(test_tcp_plug_quiet_peer_wakes),
        cmocka_unit_test(test_tcp_plug_few_bytes_of_a_stranger),
        cmocka_unit_test(test_tcp_plug_child_has_the_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
