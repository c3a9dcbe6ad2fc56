/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC carried the traffic: MPI_T performance variables dimmnet_* count what went through its
 * primitives, and agree with what was sent.
 */
#include "counter.h"

enum { SMALL = 1000, LARGE = 10, LARGE_BYTES = 1 << 20 };

static const char *const names[] = {"botf",           "ipush",      "rvs",
                                    "sent_messages",  "sent_bytes", "received_messages",
                                    "received_bytes", "rendezvous", "rvl"};
enum { BOTF, IPUSH, RVS, SENT, SENT_BYTES, RECEIVED, RECEIVED_BYTES, RENDEZVOUS, RVL, NAMES };

static void read_all(unsigned long long *values)
{
    for (int i = 0; i < NAMES; i++)
        values[i] = counter(names[i]);
}

/* Every variable of ours is a counter, or the length of a list (queues.c), that always runs and
 * cannot be written. */
static void look_at_list(void)
{
    int count, ours = 0;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[128], text[256];
        int name_len = sizeof(name), text_len = sizeof(text), verbosity, class, bind, readonly,
            continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &values, text,
                                &text_len, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS ||
            strncmp(name, "dimmnet_", 8) != 0)
            continue;
        ours++;
        CHECK((class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_LEVEL) && readonly &&
                  continuous && text[0] && type == MPI_UNSIGNED_LONG_LONG &&
                  bind == MPI_T_BIND_NO_OBJECT,
              "%s: class %d type 0x%x", name, class, (unsigned) type);
    }
    CHECK(ours >= NAMES, "%d variables named dimmnet_*", ours);
}

int main(int argc, char **argv)
{
    int provided;
    check_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    look_at_list();
    MPI_Barrier(MPI_COMM_WORLD);

    unsigned long long before[NAMES], after[NAMES];
    char *buf = check_alloc(LARGE_BYTES);
    read_all(before);
    for (int i = 0; i < SMALL + LARGE; i++) {
        int len = i < SMALL ? 8 : LARGE_BYTES;
        if (rank == 0)
            MPI_Send(buf, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buf, len, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buf, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    read_all(after);
    for (int i = 0; i < NAMES; i++)
        after[i] -= before[i];
    const unsigned long long bytes = SMALL * 8ull + LARGE * (unsigned long long) LARGE_BYTES;
    CHECK(after[SENT] == SMALL + LARGE && after[SENT_BYTES] == bytes,
          "sent %llu messages, %llu bytes", after[SENT], after[SENT_BYTES]);
    CHECK(after[RECEIVED] == SMALL + LARGE && after[RECEIVED_BYTES] == bytes,
          "received %llu messages, %llu bytes", after[RECEIVED], after[RECEIVED_BYTES]);
    CHECK(after[BOTF] >= SMALL, "%llu BOTF requests for %d small messages", after[BOTF], SMALL);
    CHECK(after[IPUSH] >= SMALL, "%llu IPUSH for %d small messages", after[IPUSH], SMALL);
    /* A large message is moved by both sides, or by one alone where the other has no processor; or
     * its pieces, of 32 KB, are pushed through the ring where the kernel is slow to copy. */
    unsigned long long pushed = (after[IPUSH] - SMALL) / (LARGE_BYTES / 32768);
    CHECK(after[RENDEZVOUS] == LARGE && after[RVS] + after[RVL] + pushed >= LARGE,
          "%llu rendezvous, %llu RVS, %llu RVL and %llu IPUSH for %d messages", after[RENDEZVOUS],
          after[RVS], after[RVL], after[IPUSH], LARGE);
    free(buf);
    MPI_T_finalize();
    counters_end();
    return check_end();
}
