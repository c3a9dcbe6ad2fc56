/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the processes of a job are: two on a NIC, on NICs that the job makes itself, or on the
 * nodes of a persistent cluster (DIMMNET_CLUSTER), whose LIDs they take and whose network their
 * packets pass.
 */
#ifndef DNET_ENDPOINT_JOB_H
#define DNET_ENDPOINT_JOB_H

#include "endpoint/ep.h"

/**
 * Decide which NIC each rank is on, whether there is a port to other hosts, and find the cluster
 * the job is to live on, if any; its profile then replaces DIMMNET_PROFILE.
 *
 * @param node, meets_hosts  as in dnet_ep_config_t
 * @return DNET_OK; DNET_NOT_FOUND, DNET_ERR_STATE, DNET_ERR_LIMIT, DNET_ERR_FORMAT (logged);
 *         DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_job_open(dnet_ep_t *ep, const int *node, bool meets_hosts);

/** Free what is known of the job; the last call, also after a failure. */
void dnet_job_close(dnet_ep_t *ep);

/** The same number in processes that share memory, and in no others. */
uint64_t dnet_job_host_id(const dnet_ep_t *ep);

/** Name of this host.  @param host  DNET_EP_HOST_BYTES bytes, zeros */
void dnet_job_host(const dnet_ep_t *ep, char *host);

/** Profile of the NICs. */
dnet_profile_t dnet_job_profile(const dnet_ep_t *ep);

/** Open the port to other hosts if there is to be one; of the ranks that share a NIC the first has
 * it up before the others learn of it.  @param in_line  reception of both WIDs is in line  @return
 * DNET_OK, or why there is none (logged) */
dnet_status_t dnet_job_take(dnet_ep_t *ep, bool in_line);

/** Join it, learn where the others are, enter the network.  @return as dnet_ep_connect() */
dnet_status_t dnet_job_connect(dnet_ep_t *ep, const dnet_ep_address_t *addresses);

/** Rank of the process with that address; DNET_EP_NO_RANK: none of the job's. */
uint32_t dnet_job_rank(const dnet_ep_t *ep, uint16_t lid, unsigned wid);

/** Is that peer on this host, so that its memory can be reached? */
static inline bool dnet_job_is_near(const dnet_ep_t *ep, uint32_t peer)
{
    if (!ep->job.hosts)
        return true;
    return peer < ep->size ? ep->job.hosts[peer][0] == '\0' : !ep->guests.list[peer - ep->size].far;
}

/** Do more ranks of this host have to do with the processors this one may use than there are of
 * these? Looked at where a rank may not use all of the job's processors. */
bool dnet_job_crowds(const dnet_ep_t *ep);

/** Distance class of a peer on this host.  Found when it is first asked for; then remembered, where
 * that takes no memory that was not there. */
dnet_distance_t dnet_job_distance(dnet_ep_t *ep, uint32_t peer);

/** Log that a rank is lost, and why. */
void dnet_job_tell_lost(const dnet_ep_t *ep, uint32_t rank);

/** Has a packet been lost because the cluster's network had no way for it? */
bool dnet_job_way_lost(const dnet_ep_t *ep);

#endif
