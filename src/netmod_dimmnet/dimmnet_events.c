/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_T events: a message that no receive has matched is kept, or is kept no longer.
 */
#include "dimmnet_impl.h"
#include "mpitimpl.h"

/* What an event's elements are read from. */
typedef struct {
    int source, tag; /* rank in the communicator */
    unsigned long long bytes;
} unexpected_t;

static int kept_index, gone_index;

static void unexpected(uint64_t envelope, size_t len, bool kept)
{
    if (!MPIR_T_is_initialized()) /* nobody can have asked */
        return;
    unexpected_t data = {
        .source = (int) dnet_ep_envelope_rank(envelope),
        .tag = MPIR_TAG_MASK_ERROR_BITS((int) dnet_ep_envelope_tag(envelope)),
        .bytes = len,
    };
    MPIR_T_DO_EVENT(kept ? kept_index : gone_index, MPI_T_CB_REQUIRE_MPI_RESTRICTED, &data);
}

static void register_events(void)
{
    MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_UNSIGNED_LONG_LONG};
    MPI_Aint at[] = {offsetof(unexpected_t, source), offsetof(unexpected_t, tag),
                     offsetof(unexpected_t, bytes)};
    int source;
    MPIR_T_register_source("dimmnet", "endpoints of this process", MPI_T_SOURCE_ORDERED, NULL, -1,
                           -1, &source);
    MPIR_T_register_event(source, "dimmnet_unexpected_kept", MPI_T_VERBOSITY_USER_BASIC, types, at,
                          3, "a message arrived before its receive: source, tag, bytes",
                          MPI_T_BIND_NO_OBJECT, "DIMMNET", &kept_index);
    MPIR_T_register_event(source, "dimmnet_unexpected_gone", MPI_T_VERBOSITY_USER_BASIC, types, at,
                          3, "such a message has been received, or cancelled: source, tag, bytes",
                          MPI_T_BIND_NO_OBJECT, "DIMMNET", &gone_index);
}

void MPIDI_DIMMNET_events_init(void)
{
    /* They stay when MPI is initialized again (sessions). */
    if (MPIR_T_event_get_index_impl("dimmnet_unexpected_kept", &kept_index) != MPI_SUCCESS ||
        MPIR_T_event_get_index_impl("dimmnet_unexpected_gone", &gone_index) != MPI_SUCCESS)
        register_events();
    for (int vci = 0; vci < MPIDI_DIMMNET_vcis(); vci++)
        dnet_ep_set_unexpected(MPIDI_DIMMNET_EP(vci), unexpected);
}
