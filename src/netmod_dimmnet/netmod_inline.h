/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All of the netmod that MPICH inlines: our native calls, and MPICH's fall-back for the rest.
 */
#ifndef NETMOD_INLINE_H_INCLUDED
#define NETMOD_INLINE_H_INCLUDED

#ifdef MPIDI_ENABLE_AM_ONLY
#include "netmod_am_fallback.h"
#else
#include "dimmnet_rma.h"
#include "dimmnet_coll.h"
#include "netmod_am_fallback_part.h"
#include "dimmnet_send.h"
#include "dimmnet_recv.h"
#include "dimmnet_probe.h"
#endif

#include "dimmnet_am.h"
#include "dimmnet_proc.h"
#include "dimmnet_progress.h"
#include "dimmnet_noinline.h"

#endif
