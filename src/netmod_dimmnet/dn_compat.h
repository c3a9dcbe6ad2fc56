/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Differences between MPICH releases, in one place.  The glue is written against 4.0; a later
 * release gets its lines here.  Prototypes are generated from the release's own ch4_api.txt.
 *
 *   4.0.3  mpi_cancel_recv has a second parameter
 *   4.1    mpi_isend takes an attribute word with "synchronous" and the error flag, and replaces
 *          mpi_issend and isend_coll; MPIR_Typerep_pack and _unpack take flags
 *   4.2    progress reports through a pointer whether it made any; init_vcis; requests hold comm
 *   5.0    one address per upid (insert_upid), no init_world
 */
#ifndef DN_COMPAT_H_INCLUDED
#define DN_COMPAT_H_INCLUDED

#if MPICH_NUMVERSION >= 40100000
#error "this netmod knows MPICH 4.0; see dn_compat.h for what a later release needs"
#endif

/* 4.0.3 (40003300) and later cancel with a hint that the caller may wait; ours never needs to. */
#if MPICH_NUMVERSION >= 40003300
#define DN_CANCEL_RECV_PARAMS MPIR_Request *rreq, bool is_blocking
#else
#define DN_CANCEL_RECV_PARAMS MPIR_Request *rreq
#endif

#endif
