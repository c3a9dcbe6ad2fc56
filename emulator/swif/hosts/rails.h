/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several ports of a process as one: rails.  It is a plug over the ports of another plug, so that a
 * process with one port pays nothing for it.
 *
 * Rail i of a process meets rail i of its peers, so all hosts name their rails in the same order; a
 * pair has as many as the one with fewer.  Messages to a peer keep to one rail, so that they stay
 * in order: the nearest to the processors, or of several as near ones in turn by peer.  A read is
 * cut in parts by the rates of the links, one for each rail that is connected.
 *
 * A rail fails to a peer when a message or read on it does, when its plug says that nothing gets
 * through (ill()), or when the peer says so in a note.  What was under way on it goes by another
 * rail then: parts of reads again, messages when the caller hears lost().  Each second it is tried
 * to connect anew, and when that is done the rail carries again.
 */
#ifndef DNET_EMU_RAILS_H
#define DNET_EMU_RAILS_H

#include "emulator/swif/hosts/plug.h"

/** Is more than one rail wanted? */
bool dnet_emu_rails_wanted(const dnet_emu_port_config_t *config);

/**
 * Open a plug's ports.
 *
 * @param at      in: key; out: an address for each rail, and `bytes` 0 for the others
 * @param plug_p  in: the plug; out: the operations by which to use them, until close(); unchanged
 *                where there is one rail only
 * @return as the plug's open operation; each logged
 */
dnet_status_t dnet_emu_rails_open(const dnet_emu_port_config_t *config,
                                  dnet_emu_port_address_t at[DNET_RAILS_MAX],
                                  const dnet_emu_plug_ops_t **plug_p, dnet_emu_plug_end_t **end_p);

/** By which rail messages to a peer leave. */
unsigned dnet_emu_rails_now(uint64_t peer);

#endif
