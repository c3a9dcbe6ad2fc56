/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading memory of processes on other hosts, by networks that can: what the device's operations of
 * these names do.
 */
#ifndef DNET_EMU_READS_H
#define DNET_EMU_READS_H

#include "emulator/core_logic.h"
#include "emulator/swif/hosts/plug.h"

void *dnet_emu_hosts_lend(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid, const void *at,
                          uint64_t bytes, dnet_remote_memory_t *memory_p);

/** The next packet to that process says what is lent; `loan` NULL: it has been sent, or not. */
void dnet_emu_hosts_send_ahead(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid, void *loan);

void dnet_emu_hosts_take_back(dnet_emu_nic_t *nic, void *loan);

bool dnet_emu_hosts_read(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                         const dnet_remote_memory_t *from, void *to, uint64_t bytes, void *tag);

void *dnet_emu_hosts_read_ended(dnet_emu_nic_t *nic, dnet_status_t *status_p);

/** SO-DIMM is given back. */
void dnet_emu_hosts_forget(dnet_emu_nic_t *nic, const void *at, uint64_t bytes);

/** The plug's sent event, of a read. */
void dnet_emu_read_sent(dnet_emu_port_t *port, dnet_emu_plug_op_t *op, const char *why);

/** Hand the plug what waits for it. */
void dnet_emu_reads_go_on(dnet_emu_port_t *port);

struct dnet_emu_connection;

/** Is a read from that process not over yet? */
bool dnet_emu_reads_from(const dnet_emu_port_t *port, const struct dnet_emu_connection *c);

/** The port is closed, and its plug has no read any more. */
void dnet_emu_reads_drop(dnet_emu_port_t *port);

#endif
