/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plug to a network between hosts, as hosts.c sees it: messages of up to message_bytes
 * between the ports of processes.  A message arrives whole and once, or is reported as not sent;
 * messages of one port to another one arrive in order unless one of them is not sent.  Numbers,
 * acknowledgements and flow control are the business of hosts.c.
 *
 * Threads: one caller at a time per port.
 */
#ifndef DNET_EMU_PLUG_H
#define DNET_EMU_PLUG_H

#include <sys/socket.h>

#include "emulator/core_logic.h"

#define DNET_RAIL_NAME 80 /* of a device and port, of an interface */

/** A port of a plug; each plug has a struct of its own. */
typedef struct dnet_emu_plug_end dnet_emu_plug_end_t;

/** A message or read under way: room for the plug, in the caller's object, until sent() is called.
 */
typedef struct {
    void *scratch[8];
    bool reads;   /* the caller's: a read, and no message */
    bool is_own;  /* of rails.c: its own, and none of its caller's; */
    uint8_t rail; /* the rail, */
    void *peer;   /* and the peer, */
} dnet_emu_plug_op_t;

typedef struct {
    /** A message has arrived.  @param data  valid during the call, and may be written  @return
     * false: poll() shall end, and keep what else there is for the next time */
    bool (*arrived)(void *arg, uint8_t *data, uint32_t bytes);
    /** A message has left, or a read has ended, or (`why`) cannot: its buffer is the caller's
     * again.
     */
    void (*sent)(void *arg, dnet_emu_plug_op_t *op, const char *why);
    /** What has left for a peer and was not acknowledged may be lost.  Of rails.c only. */
    void (*lost)(void *arg, uint64_t peer);
} dnet_emu_plug_events_t;

/** What a choice between rails goes by. */
typedef struct {
    uint32_t mbits_per_s; /* of the link; 0: not known */
    uint32_t distance;    /* dnet_adapter_distance_t */
} dnet_emu_rail_facts_t;

typedef struct {
    const char *name;
    uint32_t message_bytes; /* longest message */
    /* Messages of MPI up to so many bytes arrive sooner when they are sent at once, whatever is
     * copied then, than when they are read once their receive is known. */
    uint32_t eager_bytes;
    /**
     * What of the network there is on this machine, for people.
     *
     * @return false: nothing, and the text says what is missing
     */
    bool (*found)(char *text, size_t bytes);
    /** A port.  @param config  names one network at most  @param at  in: key; out: `at` and its
     * bytes  @return DNET_OK, or after one logged line DNET_NOT_FOUND, DNET_ERR_SYSTEM,
     * DNET_ERR_NO_MEMORY */
    dnet_status_t (*open)(const dnet_emu_port_config_t *config, dnet_emu_port_address_t *at,
                          dnet_emu_plug_end_t **end_p);
    /** Learn an address.  @return false: it cannot be one of this network (logged) */
    bool (*reach)(dnet_emu_plug_end_t *end, const dnet_emu_port_address_t *at, uint64_t *peer_p);
    /** Forget an address that nothing will be sent to any more.  What is under way to it is
     * reported as not sent.  NULL: addresses stay. */
    void (*part)(dnet_emu_plug_end_t *end, uint64_t peer);
    /** The IP address in a port's address, for alive.c.  @return its bytes; 0: it has none */
    socklen_t (*ip)(const dnet_emu_port_address_t *at, struct sockaddr_storage *ip_p);
    /**
     * Send a message.
     *
     * @param data  it stays until it has left
     * @return DNET_OK: it has left, and `data` is the caller's again; DNET_IN_PROGRESS: sent()
     * follows; DNET_STOPPED: not now; else: not at all
     */
    dnet_status_t (*send)(dnet_emu_plug_end_t *end, uint64_t peer, const void *data, uint32_t bytes,
                          dnet_emu_plug_op_t *op);
    /**
     * Prepare memory for reads, until let_go().
     *
     * @param memory_p  not NULL: a peer may read it, and this is what it has to know; NULL: this
     *                  process reads into it
     * @param steady    it stays where it is until forget(), so that all that costs time may be kept
     * @return what let_go() and read() want; NULL: it cannot be prepared.  NULL (the operation):
     *         this network does not read
     */
    void *(*hold)(dnet_emu_plug_end_t *end, const void *at, uint64_t bytes, bool steady,
                  dnet_remote_memory_t *memory_p);
    void (*let_go)(dnet_emu_plug_end_t *end, void *held);
    /** Steady memory is given back.  NULL: this does not matter. */
    void (*forget)(dnet_emu_plug_end_t *end, const void *at, uint64_t bytes);
    /** The next message to a peer, if it leaves at once, says what was lent, and the data may leave
     * with it, before they are asked for.  NULL (the operation): this network does not do that.
     *
     * @param held  NULL: that message has been sent, or will not be */
    void (*send_ahead)(dnet_emu_plug_end_t *end, uint64_t peer, void *held);
    /**
     * Read memory of a peer.
     *
     * @param bytes_p  in: as many as are wanted; out: as many as will be read
     * @return DNET_IN_PROGRESS: sent() follows; DNET_STOPPED: not now; else: not at all
     */
    dnet_status_t (*read)(dnet_emu_plug_end_t *end, uint64_t peer, const dnet_remote_memory_t *from,
                          void *to, void *held, uint64_t *bytes_p, dnet_emu_plug_op_t *op);
    /** Call arrived() and sent() for what has happened.  @return how many have arrived */
    unsigned (*poll)(dnet_emu_plug_end_t *end, const dnet_emu_plug_events_t *events, void *arg);
    /** Why nothing can go to a peer any more, as the end of a sentence that begins with it; NULL
     * (also the operation): it can. */
    const char *(*why)(const dnet_emu_plug_end_t *end, uint64_t peer);
    /** Ask a peer's adapter whether its port is still there, where ip() finds no address.  @return
     * true: it has answered since the last call, or cannot be asked yet */
    bool (*ask)(dnet_emu_plug_end_t *end, uint64_t peer);
    /** Has the peer's host acknowledged lately that its process has an end of a connection, whether
     * that process gets a processor or not?  Asked where an answer of ip() is missing, some times a
     * second.  NULL: the network does not tell. */
    bool (*hears)(dnet_emu_plug_end_t *end, uint64_t peer);
    /** A descriptor that can be read when something is to be polled for; -1: there is none. */
    int (*wait_fd)(const dnet_emu_plug_end_t *end);
    /** May a process wait for that descriptor?  False: poll first. */
    bool (*may_wait)(dnet_emu_plug_end_t *end);
    /** Fill in what the plug itself counts.  NULL: nothing. */
    void (*count)(const dnet_emu_plug_end_t *end, dnet_emu_hosts_stats_t *stats);
    /** In how many receive buffers messages of all peers arrive, one each.  NULL: it does not
     * matter. */
    uint32_t (*buffers)(const dnet_emu_plug_end_t *end);
    /** Name of the network that the port is on. */
    const char *(*network)(const dnet_emu_plug_end_t *end);
    void (*close)(dnet_emu_plug_end_t *end);

    /* For processes with several ports, their rails (rails.c); NULL: of this network there is one.
     * hold(), let_go() and forget() are for all of them then, and called of the first. */

    /** What there is, where no names are given: the same in the same order in all processes of a
     * host.  @param rail  out: `config` with the name of one each  @param name  room for these
     * @return how many, at most `most` */
    uint32_t (*choose)(const dnet_emu_port_config_t *config, uint32_t most,
                       dnet_emu_port_config_t *rail, char (*name)[DNET_RAIL_NAME]);
    /** From now on the end is that rail of the port whose first is `first`, itself or another. */
    void (*join)(dnet_emu_plug_end_t *end, dnet_emu_plug_end_t *first, unsigned rail,
                 dnet_emu_rail_facts_t *facts_p);
    /** Why messages do not get through now though no connection has failed: to anybody, where
     * `peer` is 0.  NULL: nothing is known of that. */
    const char *(*ill)(dnet_emu_plug_end_t *end, uint64_t peer);
    /** Is there a connection to a peer?  @param begin  make one where there is none */
    bool (*ready)(dnet_emu_plug_end_t *end, uint64_t peer, bool begin);
    /** End the connection to a peer: what is under way fails. */
    void (*drop)(dnet_emu_plug_end_t *end, uint64_t peer);
} dnet_emu_plug_ops_t;

#define DNET_PLUG(name, title) extern const dnet_emu_plug_ops_t dnet_emu_plug_##name;
#include "emulator/swif/hosts/plugs.def"
#undef DNET_PLUG

#endif
