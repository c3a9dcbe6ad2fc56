/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_T performance variables: one per counter of the endpoint, named dimmnet_<counter>.
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

/* MPI_T may have been initialized before MPI was, and stays when MPI is initialized again
 * (sessions). */
static bool is_registered(const char *name)
{
    name2index_hash_t *entry;
    HASH_FIND_STR(pvar_hashs[MPI_T_PVAR_CLASS_COUNTER - MPIR_T_PVAR_CLASS_FIRST], name, entry);
    return entry != NULL;
}

static void register_counter(const char *name, uint64_t *addr, const char *title)
{
    if (is_registered(name))
        return;
    MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, name, addr, 1,
                              MPI_T_ENUM_NULL, MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                              MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, read_counter,
                              NULL, "DIMMNET", title);
}

void MPIDI_DIMMNET_pvar_init(void)
{
#define DNET_EP_COUNTER(name, title) register_counter("dimmnet_" #name, &last.name, title);
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
}

void MPIDI_DIMMNET_pvar_finalize(void)
{
    last = counters_now();
}
