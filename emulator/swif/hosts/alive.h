/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a NIC with a processor of its own would do while its process computes or sleeps, by a thread
 * that does nothing else: answer other hosts, by UDP, that ask whether the process is still there;
 * and wake it when something has come.
 */
#ifndef DNET_EMU_ALIVE_H
#define DNET_EMU_ALIVE_H

#include <sys/socket.h>

#include "emulator/core_logic.h"

typedef struct dnet_emu_alive dnet_emu_alive_t;

#define DNET_EMU_CALL_BYTES 256u /* the longest call, and the longest reply */

/** Another host's process calls this one; in the thread.  @param reply  DNET_EMU_CALL_BYTES
 * @return bytes of the reply */
typedef uint32_t (*dnet_emu_alive_called_fn)(void *arg, const void *call, uint32_t bytes,
                                             void *reply);

/**
 * Answer from now on.
 *
 * @param ip     IP addresses of this host, one for each rail
 * @param rails  how many
 * @param at     in: `key` of the first is set; out: `alive_port` of each
 * @return NULL: cannot be had (logged), or one is no IP address
 */
dnet_emu_alive_t *dnet_emu_alive_start(const struct sockaddr_storage *ip, unsigned rails,
                                       dnet_emu_port_address_t *at, dnet_emu_alive_called_fn called,
                                       void *arg);

/** The opposite. */
void dnet_emu_alive_end(dnet_emu_alive_t *a);

/** Wake the process of a WID when a descriptor can be read, once after each dnet_emu_alive_arm().
 */
void dnet_emu_alive_watch(dnet_emu_alive_t *a, int fd, dnet_emu_wid_t *sleeper);

/** The process sleeps from now on.  @return false: nothing could wake it */
bool dnet_emu_alive_arm(dnet_emu_alive_t *a);

/** Ask the process that has this address, on the host `ip`, by a rail.  @param tag  comes back with
 * the answer */
void dnet_emu_alive_ask(dnet_emu_alive_t *a, unsigned rail, const struct sockaddr_storage *ip,
                        const dnet_emu_port_address_t *at, uint32_t tag);

/** The next answer.  @param gone_p  its host says that no such process is there  @return false:
 * there is none now */
bool dnet_emu_alive_answer(dnet_emu_alive_t *a, uint32_t *tag_p, bool *gone_p);

/**
 * Call a process and wait for its thread's reply.  What it does must be the same whether it is
 * called once or several times.
 *
 * @param wait_ns  at most so long
 * @return bytes of the reply; 0: that process is not there any more; -1: no answer
 */
int dnet_emu_alive_call(const struct sockaddr_storage *ip, const dnet_emu_port_address_t *at,
                        const void *call, uint32_t bytes, void *reply, uint64_t wait_ns);

#endif
