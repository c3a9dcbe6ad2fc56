/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Split messages (docs/protocol.md 4.1): each side alone moves all that is left, both in turns, a
 * sender that computes, one that dies in its piece, a cursor that somebody has turned back
 * or holds down; two messages of which the receiver fetches the first pieces before it takes more;
 * what is too short to be split, whatever the option says.
 *
 * The script stands between each process and its network: it sees a sender's RVS and a receiver's
 * FADD, and lets them go when their turn has come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/swif/swif.h"
#include "endpoint/ep.h"
#include "job.h"

enum { BYTES = 32000001, PIECES = (BYTES + DNET_PIECE_MOST - 1) / DNET_PIECE_MOST };

typedef enum {
    RECEIVER_ALONE,
    SENDER_ALONE,
    IN_TURNS,
    DIES_EARLY, /* while there are pieces for the receiver */
    DIES_LATE,  /* the sender has claimed all that are left */
    TURNED_BACK,
    HELD_DOWN, /* the sender gets the same number again and again */
    TWO,       /* the sender begins when the receiver has asked for a piece */
    TWO_ALONE, /* it computes */
} script_t;

static struct {
    atomic_uint stored, taken; /* pieces the sender has stored; that the receiver has asked for */
    atomic_bool announced, received;
} * stage;
static script_t script;

static bool is_death(script_t what)
{
    return what == DIES_EARLY || what == DIES_LATE;
}

static int messages(void)
{
    return script == TWO || script == TWO_ALONE ? 2 : 1;
}

static bool sender_computes(void)
{
    return script == RECEIVER_ALONE || script == TWO_ALONE;
}

static const dnet_emu_swif_ops_t *below;
static dnet_ep_t *endpoint;

/* The job's alarm ends a wait that would have no end. */
static void wait_for(const atomic_uint *count, unsigned least)
{
    while (atomic_load(count) < least)
        sched_yield();
}

/* A piece of the sender. */
static dnet_emu_result_t store(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    unsigned number = atomic_load(&stage->stored) + 1;
    if (script == DIES_EARLY && number == 2)
        raise(SIGKILL);
    if (script == DIES_LATE && number == PIECES - 1) {
        atomic_fetch_add(&stage->stored, 1); /* the receiver may ask: all are claimed */
        raise(SIGKILL);
    }
    if (script == IN_TURNS)
        wait_for(&stage->taken, number - 1);
    if (script == HELD_DOWN)
        for (uint32_t slot = 1; slot <= DNET_DRV_CURSORS; slot++)
            dnet_drv_cursor_set(&endpoint->drv, slot, 1);
    dnet_emu_result_t result = below->send(via, dlid, packet);
    atomic_fetch_add(&stage->stored, 1);
    return result;
}

/* The receiver asks for a piece. */
static dnet_emu_result_t take(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    unsigned number = atomic_load(&stage->taken) + 1;
    if (script == SENDER_ALONE || script == DIES_LATE || script == HELD_DOWN)
        wait_for(&stage->stored, PIECES - 1);
    if (script == DIES_EARLY && number == 2)
        wait_for(&stage->stored, 1);
    if (script == IN_TURNS && 2 * number <= PIECES)
        wait_for(&stage->stored, number);
    if (script == TWO && number == 1) {
        atomic_fetch_add(&stage->taken, 1);
        wait_for(&stage->stored, 2 * (PIECES - 1)); /* the sender knows of both, and gets all */
        return below->send(via, dlid, packet);
    }
    dnet_emu_result_t result = below->send(via, dlid, packet);
    if (script == TURNED_BACK && number == 3)
        packet->answer = 1;
    atomic_fetch_add(&stage->taken, 1);
    return result;
}

static dnet_emu_result_t scripted(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    uint64_t type = DNET_GET(packet->header[0], PK_TYPE);
    /* the first packets of a piece, which come together */
    if (type == DNET_PRIM_RVS && packet->packets > 1 && !packet->reply &&
        DNET_GET(packet->header[2], PK_LIST) == 0)
        return store(via, dlid, packet);
    if (type == DNET_PRIM_FADD)
        return take(via, dlid, packet);
    return below->send(via, dlid, packet);
}

static const dnet_emu_swif_ops_t scripted_ops = {.name = "scripted", .send = scripted};

static int send_large(dnet_job_rank_t *job, const uint8_t *data)
{
    dnet_job_request_t r[2];
    for (int i = 0; i < messages(); i++)
        dnet_job_isend(job, &r[i], 1, dnet_ep_envelope(1, 0, 1), data, BYTES, false);
    atomic_store(&stage->announced, true);
    while (sender_computes() && !atomic_load(&stage->received))
        sched_yield();
    if (script == TWO)
        wait_for(&stage->taken, 1);
    int bad = 0;
    for (int i = 0; i < messages(); i++)
        bad += dnet_job_wait(job, &r[i]) != DNET_OK;
    unsigned stored = atomic_load(&stage->stored);
    bad += sender_computes() && stored != 0;
    bad += script == TWO && stored != 2 * (PIECES - 1);
    bad += (script == SENDER_ALONE || script == HELD_DOWN) && stored != PIECES - 1;
    bad += script == IN_TURNS && stored != PIECES / 2;
    if (bad)
        fprintf(stderr, "sender: status %s, %u pieces stored, of %d each\n",
                dnet_status_name(r[0].status), stored, PIECES);
    return bad;
}

static int receive_large(dnet_job_rank_t *job, const uint8_t *data)
{
    dnet_status_t due = is_death(script)        ? DNET_ERR_PEER_DEAD
                        : script == TURNED_BACK ? DNET_ERR_FORMAT
                                                : DNET_OK;
    uint8_t *in[2];
    dnet_job_request_t r[2];
    int bad = 0;
    while (messages() == 2 && !atomic_load(&stage->announced))
        sched_yield(); /* both have come when it looks */
    for (int i = 0; i < messages(); i++) {
        in[i] = calloc(1, BYTES + 1);
        dnet_job_irecv(job, &r[i], dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, in[i], BYTES);
    }
    for (int i = 0; i < messages(); i++) {
        dnet_status_t status = dnet_job_wait(job, &r[i]);
        bool differ = memcmp(in[i], data, BYTES) != 0;
        if (status != due || in[i][BYTES] != 0 || (due == DNET_OK && differ)) {
            fprintf(stderr, "receiver: status %s, %u pieces asked for, data %s\n",
                    dnet_status_name(status), atomic_load(&stage->taken),
                    differ ? "differ" : "right");
            bad++;
        }
    }
    atomic_store(&stage->received, true);
    bad += job->ep->rndv.recvs_stored != is_death(script);
    bad += job->ep->rndv.recvs_polled != 0;
    for (int i = 0; i < messages(); i++)
        free(in[i]);
    if (is_death(script))
        _exit(bad);
    return bad;
}

static int scripted_pair(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    uint8_t *data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t) (i * 7 + i / 4093);
    job->ep->oversubscribed = false; /* also on a machine of one processor */
    endpoint = job->ep;
    below = job->ep->job.emu->swif;
    job->ep->job.emu->swif = &scripted_ops;
    dnet_job_barrier(job);
    int bad = job->rank == 0 ? send_large(job, data) : receive_large(job, data);
    free(data);
    return bad;
}

static void play(script_t what)
{
    memset((void *) stage, 0, sizeof(*stage));
    script = what;
    assert_int_equal(dnet_job_run_mourning(2, 60, is_death(what) ? 0 : 2, scripted_pair, NULL), 0);
}

static void test_split_receiver_alone_finishes_while_the_sender_computes(void **state)
{
    (void) state;
    play(RECEIVER_ALONE);
}

static void test_split_sender_alone_finishes_after_the_first_piece(void **state)
{
    (void) state;
    play(SENDER_ALONE);
}

static void test_split_both_in_turns_move_each_piece_once(void **state)
{
    (void) state;
    play(IN_TURNS);
}

static void test_split_sender_killed_in_its_piece_is_an_error(void **state)
{
    (void) state;
    play(DIES_EARLY);
    play(DIES_LATE);
}

static void test_split_cursor_turned_back_is_an_error(void **state)
{
    (void) state;
    play(TURNED_BACK);
}

static void test_split_cursor_held_down_starts_no_more_than_there_are(void **state)
{
    (void) state;
    play(HELD_DOWN);
}

static void test_split_first_pieces_of_two_messages_come_before_others(void **state)
{
    (void) state;
    play(TWO);
}

static void test_split_receiver_alone_finishes_two_messages(void **state)
{
    (void) state;
    play(TWO_ALONE);
}

static int cut_short(dnet_job_rank_t *job, void *arg)
{
    static uint8_t out[20000], in[20000];
    int bad = 0;
    (void) arg;
    job->ep->oversubscribed = false;
    job->ep->job.place[1 - job->rank].distance = DNET_DISTANCE_OTHER + 1u;
    for (size_t room = 1; room <= sizeof(in); room = room * 4 + 1) {
        dnet_job_request_t r;
        memset(out, (int) room, sizeof(out));
        if (job->rank == 0) {
            bad |= dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 1), out, sizeof(out), true);
            continue;
        }
        dnet_job_irecv(job, &r, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, in, room);
        bad |= dnet_job_wait(job, &r) != DNET_ERR_TRUNCATED || memcmp(in, out, room) != 0;
    }
    dnet_job_barrier(job);
    return bad;
}

static void test_split_needs_two_pieces(void **state)
{
    (void) state;
    setenv("DIMMNET_SPLIT_LIMIT_FAR", "1", 1);
    assert_int_equal(dnet_job_run(2, 60, cut_short, NULL), 0);
    unsetenv("DIMMNET_SPLIT_LIMIT_FAR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_receiver_alone_finishes_while_the_sender_computes),
        cmocka_unit_test(test_split_sender_alone_finishes_after_the_first_piece),
        cmocka_unit_test(test_split_both_in_turns_move_each_piece_once),
        cmocka_unit_test(test_split_sender_killed_in_its_piece_is_an_error),
        cmocka_unit_test(test_split_cursor_turned_back_is_an_error),
        cmocka_unit_test(test_split_cursor_held_down_starts_no_more_than_there_are),
        cmocka_unit_test(test_split_first_pieces_of_two_messages_come_before_others),
        cmocka_unit_test(test_split_receiver_alone_finishes_two_messages),
        cmocka_unit_test(test_split_needs_two_pieces),
    };
    setenv("DIMMNET_RENDEZVOUS", "direct", 1); /* where the kernel is slow, too */
    stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("endpoint_split", tests, NULL, NULL);
}
