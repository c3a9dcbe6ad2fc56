/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_T performance variables: one per counter of the endpoint, named dimmnet_<counter>, and the
 * lengths of its lists.
 *
 * Registered whether or not MPICH was configured with pvars of its own.  They can be read after
 * MPI_Finalize, when the endpoint is gone: then they have its last values.
 */
#include "dimmnet_impl.h"
#include "mpitimpl.h"

/* MPICH's table of variables by name (mpi_t/mpit.c); it has no function to look one up. */
extern name2index_hash_t *pvar_hashs[MPIR_T_PVAR_CLASS_NUMBER];

static dnet_ep_counters_t last;

/* Those of all endpoints together. */
static dnet_ep_counters_t counters_now(void)
{
    dnet_ep_counters_t sum = {0};
    if (!MPIDI_DIMMNET_EP(0))
        return last;
    for (int vci = 0; vci < MPIDI_DIMMNET_vcis(); vci++) {
        const dnet_ep_counters_t *c = dnet_ep_counters(MPIDI_DIMMNET_EP(vci));
#define DNET_EP_COUNTER(name, title) sum.name += c->name;
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
    }
    return sum;
}

/* addr is a member of `last` and says which counter is meant. */
static void read_counter(void *addr, void *obj_handle, int count, void *buf)
{
    size_t offset = (const char *) addr - (const char *) &last;
    dnet_ep_counters_t now = counters_now();
    memcpy(buf, (const char *) &now + offset, sizeof(uint64_t));
}

/* Of all endpoints together; addr is the offset in dnet_ep_lengths_t, from `lengths` on. */
static dnet_ep_lengths_t lengths;

static void read_length(void *addr, void *obj_handle, int count, void *buf)
{
    dnet_ep_lengths_t sum = {0};
    for (int vci = 0; MPIDI_DIMMNET_EP(0) && vci < MPIDI_DIMMNET_vcis(); vci++) {
        dnet_ep_lengths_t of = dnet_ep_lengths(MPIDI_DIMMNET_EP(vci));
        sum.posted += of.posted;
        sum.unexpected += of.unexpected;
        sum.unexpected_bytes += of.unexpected_bytes;
    }
    size_t offset = (const char *) addr - (const char *) &lengths;
    memcpy(buf, (const char *) &sum + offset, sizeof(uint64_t));
}

/* MPI_T may have been initialized before MPI was, and stays when MPI is initialized again
 * (sessions). */
static bool is_registered(int class, const char *name)
{
    name2index_hash_t *entry;
    HASH_FIND_STR(pvar_hashs[class - MPIR_T_PVAR_CLASS_FIRST], name, entry);
    return entry != NULL;
}

static void register_one(int class, const char *name, uint64_t *addr,
                         MPIR_T_pvar_get_value_cb *get_value, const char *title)
{
    if (is_registered(class, name))
        return;
    MPIR_T_PVAR_REGISTER_impl(class, MPI_UNSIGNED_LONG_LONG, name, addr, 1, MPI_T_ENUM_NULL,
                              MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                              MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, get_value,
                              NULL, "DIMMNET", title);
}

void MPIDI_DIMMNET_pvar_init(void)
{
#define DNET_EP_COUNTER(name, title) \
    register_one(MPI_T_PVAR_CLASS_COUNTER, "dimmnet_" #name, &last.name, read_counter, title);
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
    register_one(MPI_T_PVAR_CLASS_LEVEL, "dimmnet_posted_length", &lengths.posted, read_length,
                 "receives that wait for a message");
    register_one(MPI_T_PVAR_CLASS_LEVEL, "dimmnet_unexpected_length", &lengths.unexpected,
                 read_length, "messages that wait for a receive");
    register_one(MPI_T_PVAR_CLASS_LEVEL, "dimmnet_unexpected_now_bytes", &lengths.unexpected_bytes,
                 read_length, "bytes that these take");
}

void MPIDI_DIMMNET_pvar_finalize(void)
{
    last = counters_now();
}
