/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_T of the queues: variables say how many receives wait for a message and how many messages for
 * a receive, and events tell of each such message when it comes and when it goes.
 */
#include "check.h"

enum { MESSAGES = 10, RECEIVES = 4, BYTES = 100, LONG = 1 << 20, TAG = 5, TAG_POSTED = 6 };

typedef struct {
    int count, source, tag;
    unsigned long long bytes;
} seen_t;

static seen_t kept, gone;
static MPI_T_pvar_session session;

static void saw(MPI_T_event_instance event, MPI_T_event_registration registration,
                MPI_T_cb_safety safety, void *user)
{
    seen_t *seen = user;
    int tag;
    (void) registration;
    (void) safety;
    MPI_T_event_read(event, 1, &tag);
    if (tag != TAG)
        return; /* of a barrier */
    seen->count++;
    seen->tag = tag;
    MPI_T_event_read(event, 0, &seen->source);
    MPI_T_event_read(event, 2, &seen->bytes);
}

static void watch(const char *name, seen_t *seen)
{
    MPI_T_event_registration registration;
    int index;
    if (MPI_T_event_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration) != MPI_SUCCESS) {
        fprintf(stderr, "no event %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                  seen, saw);
}

static unsigned long long level(const char *name)
{
    unsigned long long value = 0;
    int index, elements;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS) {
        fprintf(stderr, "no variable %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &elements);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_handle_free(session, &handle);
    return value;
}

static void expect(const char *when, unsigned long long messages, unsigned long long receives)
{
    unsigned long long length = level("dimmnet_unexpected_length");
    unsigned long long posted = level("dimmnet_posted_length");
    unsigned long long bytes = level("dimmnet_unexpected_now_bytes");
    CHECK(length == messages && posted == receives && (bytes != 0) == (messages != 0),
          "%s: %llu messages, %llu bytes, and %llu receives wait", when, length, bytes, posted);
}

int main(int argc, char **argv)
{
    int provided, in[RECEIVES];
    MPI_Request sends[MESSAGES], receives[RECEIVES];
    check_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    watch("dimmnet_unexpected_kept", &kept);
    watch("dimmnet_unexpected_gone", &gone);
    char *buf = check_alloc(LONG);
    memset(buf, 1, LONG);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (int i = 0; i < RECEIVES; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, 0, TAG_POSTED, MPI_COMM_WORLD, &receives[i]);
    if (rank == 1) /* a message of the barrier may have come */
        CHECK(level("dimmnet_posted_length") == RECEIVES, "%llu receives wait",
              level("dimmnet_posted_length"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(buf, i == MESSAGES - 1 ? LONG : BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD,
                      &sends[i]);
        for (int i = 0; i < RECEIVES; i++)
            MPI_Send(&i, 1, MPI_INT, 1, TAG_POSTED, MPI_COMM_WORLD);
        MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE);
    } else {
        MPI_Waitall(RECEIVES, receives, MPI_STATUSES_IGNORE);
        expect("messages have come", MESSAGES, 0);
        CHECK(kept.count == MESSAGES && kept.source == 0 && kept.bytes == LONG && gone.count == 0,
              "%d events of messages that came, of the last %llu bytes from rank %d; %d of others",
              kept.count, kept.bytes, kept.source, gone.count);
        for (int i = 0; i < MESSAGES - 1; i++)
            MPI_Recv(buf, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("all but one have been received", 1, 0);
        MPI_Recv(buf, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(gone.count == MESSAGES && gone.bytes == LONG && kept.count == MESSAGES,
              "%d events of messages that went, %d of others", gone.count, kept.count);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    free(buf);
    return check_end();
}
