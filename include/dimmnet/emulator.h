/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and joining emulated NICs.  An emulated NIC is one shared-memory segment; its Core Logic
 * runs inside the processes that use it.
 */
#ifndef DIMMNET_EMULATOR_H
#define DIMMNET_EMULATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dimmnet/device.h"
#include "dimmnet/format.h"
#include "dimmnet/status.h"

typedef enum {
    DNET_PROFILE_PROTOTYPE,      /* exactly the data sheet's sizes and rules */
    DNET_PROFILE_EXTENDED,       /* same formats and rules; larger rings, apertures, flow ring */
    DNET_PROFILE_PROTOTYPE_FLOW, /* the prototype with a flow ring: what messages need of it */
} dnet_profile_t;

typedef struct dnet_emu_nic dnet_emu_nic_t;

typedef struct {
    dnet_profile_t profile;
    uint16_t lid; /* what the Subnet Manager assigned; shown in SMA LID */
    /* a packet without room stalls reception for both WIDs, in the extended profile too */
    bool in_line;
    /* with a flow ring: both WIDs stop their senders until their process sets Flow Mode */
    bool start_paused;
    bool no_pgid_check;  /* receivers accept every PGID (OP-13) */
    bool strict_swid;    /* BOTF images get their SWID from the register page used (OP-14) */
    bool rc_skip_errors; /* RC goes on at the next first line after an error (OP-42) */
    /* few messages from each: pages are mapped as they are used, not when a process joins */
    bool many_senders;
} dnet_emu_config_t;

/** Where a NIC's segment can be found: enough for another process of the same user to attach. */
typedef struct {
    int32_t pid; /* owner */
    int32_t fd;  /* the owner's descriptor of the segment */
    uint64_t id; /* random; a segment with another id is not the one meant */
    uint16_t lid;
} dnet_emu_locator_t;

/**
 * Make a NIC: a sealed memfd segment of this process, mode 0600, every page the NIC will touch at
 * once reserved.
 *
 * @return DNET_OK; DNET_ERR_NO_MEMORY (logged with bytes needed and available); DNET_ERR_LIMIT (on
 *         the size of files, logged); DNET_ERR_SYSTEM
 */
dnet_status_t dnet_emu_create(const dnet_emu_config_t *config, dnet_emu_nic_t **nic_p);

/** Locator of a NIC, to be sent to other processes. */
void dnet_emu_locate(const dnet_emu_nic_t *nic, dnet_emu_locator_t *locator_p);

/**
 * Join a NIC made by another process of the same user.
 *
 * @return DNET_OK; DNET_ERR_PEER_DEAD (owner has ended); DNET_ERR_FORMAT (not a NIC segment, wrong
 *         version or id); DNET_ERR_SYSTEM (permission); DNET_ERR_NO_MEMORY (memory, address space)
 * and DNET_ERR_LIMIT (open files; an owner that has to pass its descriptor and does not answer),
 * which may pass; each logged
 */
dnet_status_t dnet_emu_attach(const dnet_emu_locator_t *locator, dnet_emu_nic_t **nic_p);

/**
 * Look at a NIC of the same user without taking part: its segment is mapped read-only, so nothing
 * this process does can change it.  A device opened on it claims no WID, and stores to it are
 * faults.
 *
 * @param locator  as found by dnet_emu_find(), or with id 0: whatever NIC that descriptor is
 * @return as dnet_emu_attach()
 */
dnet_status_t dnet_emu_watch(const dnet_emu_locator_t *locator, dnet_emu_nic_t **nic_p);

/**
 * Visit every NIC segment that a process of this user holds open, this process included: one visit
 * for each descriptor, in the order of /proc.  Processes that may not be looked into are passed
 * over.
 *
 * @param visit  called with the process, its descriptor, and the NIC's id and LID
 */
void dnet_emu_find(void (*visit)(void *arg, const dnet_emu_locator_t *at), void *arg);

/** What a NIC is and who uses it now. */
typedef struct {
    dnet_profile_t profile;
    uint64_t id;
    uint16_t lid;
    int32_t maker;                           /* process that made it */
    int32_t process[DNET_PROCESSES_PER_NIC]; /* that has the WID open; 0: none */
    /* PID of the data sheet: its place in its process group; -1: not told */
    int32_t member[DNET_PROCESSES_PER_NIC];
    uint8_t pgid[DNET_PROCESSES_PER_NIC]; /* its process group */
} dnet_emu_description_t;

void dnet_emu_describe(const dnet_emu_nic_t *nic, dnet_emu_description_t *description_p);

/** Entry of the AMT Address Table for packets of a sender to a WID (9.1): index of a 64-bit word of
 * LLCM. */
uint16_t dnet_emu_amt_word(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid);

/**
 * Read SO-DIMM memory for display, past all units.  Memory never written reads 0 and stays
 * uncommitted.
 *
 * @param offset,len  bytes in the area of `wid`
 * @return DNET_OK; DNET_ERR_ARGUMENT (outside the area); DNET_ERR_SYSTEM
 */
dnet_status_t dnet_emu_sodimm_peek(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset,
                                   void *to, uint64_t len);

/**
 * Make a NIC as it was after power-on, for its next users: registers, rings, tables, SO-DIMM
 * memory.
 *
 * @param start_paused  as in dnet_emu_config_t
 * @return DNET_OK; DNET_ERR_STATE (another process has a WID open, logged)
 */
dnet_status_t dnet_emu_restart(dnet_emu_nic_t *nic, bool start_paused);

/** Tell others what place (from 0) this process has in its process group; until the device is
 * closed. */
void dnet_emu_set_member(dnet_device_t *dev, uint32_t member);

/**
 * From now on packets that this process sends through `nic`, and replies to its RVLs, follow the
 * forwarding tables of a network (dimmnet/switches.h) and are counted on its links.  One that has
 * no way waits for new tables; after a second a line says where the way ends.
 *
 * @param pid,segment  process that keeps the network, and its descriptor of the segment
 * @param wait_s       after so many seconds the packet is lost (logged), and later ones to its
 *                     target that have no way are lost at once
 * @return DNET_OK; DNET_ERR_FORMAT (no such network, or of another user or version; logged);
 *         DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_emu_network_join(dnet_emu_nic_t *nic, int32_t pid, int32_t segment,
                                    uint32_t wait_s);

/** A way that a packet has waited for in vain. */
typedef struct {
    uint16_t from, lid; /* where it was to lead; 0: there is none */
    bool keeper_ended;
    uint32_t waited_s;
    char switch_name[32]; /* where it ends: */
    uint32_t port;
} dnet_emu_lost_way_t;

/** The last way that was lost since dnet_emu_network_join(). */
void dnet_emu_network_lost(const dnet_emu_nic_t *nic, dnet_emu_lost_way_t *lost_p);

/** The opposite; dnet_emu_detach() does it too. */
void dnet_emu_network_leave(dnet_emu_nic_t *nic);

/* ---- processes of other hosts ---- */

/** Networks, or ports of one, that a process may use at once as rails. */
#define DNET_RAILS_MAX 4u

/** Where a process's port to other hosts is on one rail: a plain value, to be sent to them. */
typedef struct {
    uint8_t bytes;       /* of `at`; 0: there is no port, or no such rail */
    uint8_t plug;        /* its number in the list of plugs */
    uint16_t epoch;      /* tells this process from earlier ones with the same address */
    uint32_t key;        /* random; what does not carry it is not for this port */
    uint16_t alive_port; /* UDP port where a thread answers for the process; 0: none */
    uint16_t number;     /* of the process, known to its peers: not sent */
    uint8_t at[36];      /* address in the plug's network */
} dnet_emu_port_address_t;
_Static_assert(sizeof(dnet_emu_port_address_t) == 48, "port address layout");

typedef struct {
    const char *plug;      /* NULL: the first that finds a network here */
    const char *provider;  /* of libfabric; NULL: net where there is one, else tcp */
    const char *interface; /* network interface, or address of one, or several with commas between;
                              NULL: the first that is not the loopback */
    uint32_t rails;        /* at most; 0: as many as are named, or one */
    uint32_t wait_s;       /* a process not heard of for so long is lost */
    /* of verbs */
    const char *device; /* or device:port, or several with commas between; NULL: an active port */
    const char *gid;    /* index; NULL: chosen */
    const char *pkey;   /* NULL: the default partition's */
    uint32_t mtu_bytes; /* at most */
    uint32_t buffers;   /* for receiving; 0: by the link's rate */
} dnet_emu_port_config_t;

/** A process's port to other hosts. */
typedef struct dnet_emu_port dnet_emu_port_t;

/**
 * Open a port.  A thread is started that answers when another host asks whether this process lives.
 *
 * @return DNET_OK; DNET_NOT_FOUND (no plug, no such network); DNET_ERR_SYSTEM; DNET_ERR_NO_MEMORY;
 *         each logged
 */
dnet_status_t dnet_emu_port_open(const dnet_emu_port_config_t *config, dnet_emu_port_t **port_p);

/** Its addresses, one for each rail, for the others. */
void dnet_emu_port_address(const dnet_emu_port_t *port,
                           dnet_emu_port_address_t address[DNET_RAILS_MAX]);

/** Up to how many bytes a message for another host arrives sooner when it is sent at once, whatever
 * is copied then, than when it is read once its receive is known. */
uint32_t dnet_emu_port_eager_bytes(const dnet_emu_port_t *port);

/** Close a port that dnet_emu_hosts_join() has not taken. */
void dnet_emu_port_close(dnet_emu_port_t *port);

/**
 * From now on packets that this process, which has `wid` open, sends through `nic` to LIDs of
 * dnet_emu_hosts_route() leave by the port, and its device's poll operation delivers what comes by
 * it.  The port belongs to the NIC then.
 */
void dnet_emu_hosts_join(dnet_emu_nic_t *nic, unsigned wid, dnet_emu_port_t *port);

/**
 * Tell where a process of another host is.  Nothing is sent or kept for it before its first packet
 * but this address.
 *
 * @param address  as dnet_emu_port_address() has filled in there
 * @param host  its host's name, for lines; the caller keeps it
 * @return DNET_OK; DNET_ERR_ARGUMENT (no LID of a NIC, or no port there; logged);
 * DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_emu_hosts_route(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                                   const dnet_emu_port_address_t address[DNET_RAILS_MAX],
                                   const char *host);

/** Is anything under way to other hosts that is not known to have arrived, or to be said to them?
 */
bool dnet_emu_hosts_busy(const dnet_emu_nic_t *nic);

/** Why that process counts as lost, as the end of a sentence that begins with the process; NULL: it
 * does not.  Valid until the NIC is left. */
const char *dnet_emu_hosts_why(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid);

/**
 * Packets to a process that it has not acknowledged; of this process's port, so 0 for one of its
 * host.
 *
 * @param since_ns_p  out, where there are some: on CLOCK_MONOTONIC, when one was acknowledged last
 * or the first was sent
 */
uint32_t dnet_emu_hosts_unacked(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                                uint64_t *since_ns_p);

/** What has gone by one of several rails. */
typedef struct {
    const char *network;             /* "eth0" */
    uint64_t sent_bytes, read_bytes; /* of messages, and of memory of others */
} dnet_emu_rail_stats_t;

/** What this process's port has done so far. */
typedef struct {
    const char *plug, *network; /* "libfabric", "tcp eth0" */
    uint32_t rails;             /* 0: one, of which nothing is counted */
    dnet_emu_rail_stats_t rail[DNET_RAILS_MAX];
    uint32_t routes;           /* processes of other hosts */
    uint32_t connected;        /* of which so many have sent or been sent a packet */
    uint32_t connection_bytes; /* memory for one that is connected and has nothing under way */
    uint64_t sent, received;   /* packets, those sent again included */
    uint64_t again;            /* packets that were sent again */
    uint64_t stops;            /* packets from other hosts that found no room here */
    uint64_t reads;            /* messages read from memory of other hosts */
    uint64_t registered;       /* messages sent or received whose memory was registered for it, */
    uint64_t reused;           /* or had been for an earlier one */
    int64_t rnr; /* messages of this adapter that found no receive buffer; -1: it does not say */
} dnet_emu_hosts_stats_t;

void dnet_emu_hosts_stats(const dnet_emu_nic_t *nic, dnet_emu_hosts_stats_t *stats_p);

/** By which of several rails messages to a process leave now; -1: there is but one, or no message
 * has left. */
int dnet_emu_hosts_rail(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid);

/** Close the port; dnet_emu_detach() does it too. */
void dnet_emu_hosts_leave(dnet_emu_nic_t *nic);

/** Visit the plugs this library knows: what each reaches, and what of it there is on this machine.
 */
void dnet_emu_plugs(void (*visit)(void *arg, const char *name, const char *title, bool found,
                                  const char *text),
                    void *arg);

/** Leave a NIC; the segment goes when its last process has left. */
void dnet_emu_detach(dnet_emu_nic_t *nic);

/**
 * The areas of one WID as a device.
 *
 * @param wid         0 or 1
 * @param privileged  also map the System Register page (the process that brings the NIC up)
 * @return DNET_OK; DNET_ERR_STATE (another process has this WID open); DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_emu_open(dnet_emu_nic_t *nic, unsigned wid, bool privileged,
                            dnet_device_t **dev_p);

/**
 * Tell this process's switch interface where a LID lives.  Nothing is mapped before the first
 * packet. The device's own LID is routed by itself (loopback).
 */
dnet_status_t dnet_emu_route(dnet_emu_nic_t *nic, const dnet_emu_locator_t *locator);

/**
 * Tell which process has a WID of a NIC of the job, as learnt where the job began.  From then on
 * host memory is copied to and from that process only, whatever the NIC's segment says, which
 * others can write.  For a routed LID, or the own one.
 *
 * @return DNET_OK; DNET_ERR_ARGUMENT (no route to that LID, no such WID)
 */
dnet_status_t dnet_emu_route_process(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid, int32_t pid);

/* ---- processes of other groups ---- */

/*
 * Each group numbers its own NICs, so that a LID means another one in each.  A process of another
 * group is a guest: it has a number in a table of the process that it talks to, and that process
 * and its NIC know it by the LID with that number, which no NIC of a job has.
 */

/** Guests of a process, numbered from 1. */
#define DNET_GUESTS_MAX 1023u
/** CLID of guest n: so much more.  A group has no more NICs than leave these free. */
#define DNET_GUESTS_CLID 2048u

/** A process as others know it: a plain value that may be sent to them. */
typedef struct {
    dnet_emu_locator_t nic; /* its NIC, with the LID in its own group */
    uint64_t group;         /* the same in all processes of its group, and in no other */
    int32_t pid;
    uint32_t member; /* its place in its group */
    uint8_t wid;
    uint8_t pgid;
    uint16_t reserved[3];
} dnet_emu_guest_t;
_Static_assert(sizeof(dnet_emu_guest_t) == 48, "guest layout");

/** What a process of the own group is to others: its routes and PGID.
 * @return false: there is no route to it */
bool dnet_emu_guest_self(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                         dnet_emu_guest_t *guest_p);

/**
 * Take up a guest: a number in the table of `own`, and a route.  Its NIC is mapped, and this
 * process entered there, with the first packet to it.
 *
 * @param own       this process; for a NIC of the extended profile
 * @param number_p  1..DNET_GUESTS_MAX; the same as long as either has the other as a guest
 * @return DNET_OK; DNET_ERR_LIMIT (too many guests), DNET_ERR_NO_MEMORY, DNET_ERR_SYSTEM; each
 *         logged
 */
dnet_status_t dnet_emu_guest_add(dnet_emu_nic_t *nic, const dnet_emu_guest_t *own,
                                 const dnet_emu_guest_t *guest, uint32_t *number_p);

/** Who has that number, also when it was the guest that entered itself.  False: nobody. */
bool dnet_emu_guest_find(dnet_emu_nic_t *nic, unsigned wid, uint32_t number,
                         dnet_emu_guest_t *guest_p);

/** The number that this process has there; its NIC is mapped for that.  0: it is out of reach. */
uint32_t dnet_emu_guest_number(dnet_emu_nic_t *nic, uint32_t number);

/** Has it closed its device?  One whose NIC is not mapped here, but that has sent packets, has at
 * least forgotten this process. */
bool dnet_emu_guest_left(const dnet_emu_nic_t *nic, uint32_t number);

/** Send it no more: the opposite of dnet_emu_guest_add(). */
void dnet_emu_guest_drop(dnet_emu_nic_t *nic, uint32_t number);

/*
 * Guests of other hosts.  They have a port, and are met by it; everything but the functions that
 * follow is as with those of this host.
 */

#define DNET_EMU_HOST_BYTES 32u

/** A process as those of other hosts know it: a plain value that may be sent to them. */
typedef struct {
    dnet_emu_guest_t process;
    dnet_emu_port_address_t port;
    char host[DNET_EMU_HOST_BYTES]; /* name of its host, for lines */
} dnet_emu_far_process_t;

/**
 * Take up a guest of another host: a number in the table of `own`, and a route.  With the first
 * packet to it this process asks to be entered there.
 *
 * @param own       this process, which has a port
 * @param number_p  as by dnet_emu_guest_add()
 * @return as dnet_emu_guest_add()
 */
dnet_status_t dnet_emu_hosts_guest_add(dnet_emu_nic_t *nic, const dnet_emu_far_process_t *own,
                                       const dnet_emu_far_process_t *guest, uint32_t *number_p);

/** Which process of another host has that number, also when it has entered itself.  False: none. */
bool dnet_emu_hosts_guest_find(const dnet_emu_nic_t *nic, uint32_t number,
                               dnet_emu_far_process_t *guest_p);

/** The number that this process has there; it is asked for that.  0: it is out of reach (logged).
 */
uint32_t dnet_emu_hosts_guest_number(dnet_emu_nic_t *nic, uint32_t number);

/** Has it left its job in order? */
bool dnet_emu_hosts_guest_left(const dnet_emu_nic_t *nic, uint32_t number);

/** The opposite of dnet_emu_hosts_guest_add().  Numbers and connection stay as long as both
 * processes live, for they may meet again.  @return false: it lives, as far as is known, and is to
 * be dropped later */
bool dnet_emu_hosts_guest_drop(dnet_emu_nic_t *nic, uint32_t number);

/** LID of guest n. */
static inline uint16_t dnet_emu_guest_lid(uint32_t number)
{
    return dnet_clid_to_lid((uint16_t) (DNET_GUESTS_CLID + number));
}

/** Number of the guest with a LID; 0: it is none. */
static inline uint32_t dnet_emu_guest_of(uint16_t lid)
{
    uint32_t clid = dnet_lid_to_clid(lid);
    return clid > DNET_GUESTS_CLID && clid <= DNET_GUESTS_CLID + DNET_GUESTS_MAX
               ? clid - DNET_GUESTS_CLID
               : 0;
}
_Static_assert(DNET_GUESTS_CLID + DNET_GUESTS_MAX <= DNET_NODES_MAX, "guests have LIDs");

/** A line as it crosses the switch interface: 66 bits (7.1). */
typedef struct {
    uint64_t content;
    uint8_t id; /* dnet_line_t */
} dnet_emu_line_t;

/**
 * Hand lines to a NIC's Receive Controller as if its switch interface had received them: any
 * sequence of identifiers and contents, however wrong.  For tests, fuzzing and replay of captures.
 *
 * @param slid  LID the lines come from; RVLs are answered to it by the routes of `nic`
 */
void dnet_emu_inject(dnet_emu_nic_t *nic, uint16_t slid, const dnet_emu_line_t *lines,
                     unsigned count);

/*
 * What of a capture is written now: a page of the process that any other of its user finds as
 * /proc/PID/fd/N and may change (dnet-trace capture).  All that passes is, from the start.
 */
#define DNET_EMU_CAPTURE_MEMFD "dnet-capture"
#define DNET_EMU_CAPTURE_MAGIC 0x5541504143444e44ull
#define DNET_EMU_CAPTURE_VERSION 1u
#define DNET_EMU_CAPTURE_PAGE 4096u

typedef struct {
    uint64_t magic;           /* +0x00 */
    uint32_t version;         /* +0x08 */
    int32_t pid;              /* +0x0c */
    char who[32];             /* +0x10 "rank 3" */
    _Atomic uint32_t on;      /* +0x30 */
    _Atomic uint32_t types;   /* +0x34 a bit for each primitive's code */
    _Atomic uint32_t results; /* +0x38 a bit for each result */
    _Atomic uint32_t rank;    /* +0x3c 1 + the rank that sends or receives; 0: any */
    _Atomic uint64_t limit;   /* +0x40 bytes of the file at which it is switched off; 0: none */
    _Atomic uint64_t bytes;   /* +0x48 of the file now */
    _Atomic uint64_t packets; /* +0x50 in it */
    char path[3072];          /* +0x58 of the file, as much as there is room for */
} dnet_emu_capture_control_t;

/** A capture file; used by one thread at a time, by any number of NICs of this process. */
typedef struct dnet_emu_capture dnet_emu_capture_t;

/**
 * Make a capture file: pcapng, every packet with its time, fate and direction (docs/tracing.md 1).
 *
 * @param path        made or emptied, mode 0600; a regular file
 * @param who         name of this process in the file, for example "rank 3"
 * @param data_bytes  data kept of each packet; its header is always kept
 * @return DNET_OK; DNET_ERR_SYSTEM (no such folder, no permission, no space, not a regular file);
 *         DNET_ERR_NO_MEMORY; each logged
 */
dnet_status_t dnet_emu_capture_open(const char *path, const char *who, uint32_t data_bytes,
                                    dnet_emu_capture_t **capture_p);

/**
 * From now on write each packet that this process sends through `nic`, and each reply to an RVL of
 * it, as soon as it is sent; a file that cannot grow gets one logged line and no more packets.
 *
 * @param capture  NULL: no more
 */
void dnet_emu_capture_set(dnet_emu_nic_t *nic, dnet_emu_capture_t *capture);

/** Close the file; no NIC may use it any more. */
void dnet_emu_capture_close(dnet_emu_capture_t *capture);

/**
 * From now on lose, double and delay stops and resends of what this process sends through `nic`:
 * for tests of the protocol.  Call it after dnet_emu_capture_set().
 *
 * @param permille  of 1000 packets so many are stopped for nothing; of 1000 stops so many are
 * doubled; of 1000 resends so many are lost, as many doubled and as many late
 * @param seed      of the pseudo-random sequence
 * @return DNET_OK; DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_emu_faults_set(dnet_emu_nic_t *nic, uint32_t permille, uint32_t seed);

/**
 * From now on this process is killed at one instruction of one packet that it sends through `nic`:
 * for tests of what a dead sender leaves behind, which go through the instructions of a delivery
 * one by one.  Call it after dnet_emu_capture_set() and dnet_emu_faults_set(); one NIC of a process
 * has a fault point, and SIGTRAP is its own.
 *
 * @param packet  which packet from now on, 1 the next
 * @param step    which instruction behind its entering the switch interface, from 1; a process
 *                whose packet has fewer goes on
 * @param stop    it is stopped by SIGSTOP instead, and goes on when it is continued
 * @return DNET_OK; DNET_ERR_NO_MEMORY; DNET_ERR_SYSTEM (not an x86-64 processor; logged)
 */
dnet_status_t dnet_emu_fault_point_set(dnet_emu_nic_t *nic, uint32_t packet, uint32_t step,
                                       bool stop);

/** Events no register of the data sheet shows, counted since the NIC was made. */
typedef enum {
#define DNET_EMU_EVENT(name, clause, text) DNET_EMU_##name,
#include "dimmnet/events.def"
#undef DNET_EMU_EVENT
    DNET_EMU_EVENT_COUNT,
} dnet_emu_event_t;

/** Count of an event of a NIC. */
uint64_t dnet_emu_events(const dnet_emu_nic_t *nic, dnet_emu_event_t event);

#endif
