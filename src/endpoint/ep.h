/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An endpoint: what all of its parts know, and a struct for each part.  A part's struct is touched
 * by the file of that name and by those that are said with it; its objects and functions are
 * declared by that file's header.
 *
 * Calls go down only (floors from the bottom, docs/architecture.md):
 *
 *   op         sends under way                     channel     one peer's way out
 *   aperture   own memory that peers may reach     rndv_*      large messages, a file for each way
 *   inbox      messages before their receive       strided     messages whose bytes lie in blocks
 *   job        where the job's processes are       defer_*     messages that are held back
 *   memory     dnet_ep_alloc()                     retry       stops that have lasted long
 *   guests     processes of other jobs             contact     how those reach this one, as bytes
 *   compare/   flow control for comparison         send, recv  entry points
 *   dispatch   what arrives                        flow        senders stopped here are granted
 *   progress   the round over all of them          lifecycle   open and close
 *   waits      what the rank waits for: its page   dump        the same as text
 */
#ifndef DNET_ENDPOINT_EP_H
#define DNET_ENDPOINT_EP_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/cluster.h"
#include "common/clock.h"
#include "common/compiler.h"
#include "common/log.h"
#include "common/options.h"
#include "common/trace.h"
#include "deferral/defer_rx.h"
#include "driver/driver.h"
#include "driver/heap.h"
#include "endpoint/am.h"
#include "endpoint/endpoint.h"
#include "endpoint/page.h"
#include "endpoint/piece_times.h"
#include "endpoint/wire.h"
#include "locality/locality.h"
#include "srq_flowctl/partners.h"
#include "srq_flowctl/srq_flowctl.h"

typedef struct dnet_op dnet_op_t;               /* op.h */
typedef struct dnet_channel dnet_channel_t;     /* channel.h */
typedef struct dnet_assembly dnet_assembly_t;   /* inbox.h */
typedef struct dnet_rndv_recv dnet_rndv_recv_t; /* rndv.h */
typedef struct dnet_deferred dnet_deferred_t;   /* defer_recv.h */
typedef struct dnet_probe dnet_probe_t;         /* defer_recv.h */

#define DNET_EP_LINE 64u /* bytes of a cache line; an endpoint begins with one */
#define DNET_STAGING_AREAS 4u
#define DNET_APERTURES_MAX 128u

typedef struct {
    dnet_drv_target_t target;
    dnet_channel_t *channel; /* NULL: nothing waits, send at once */
} dnet_peer_t;

/* op.c: sends under way. */
typedef struct {
    dnet_op_t **by_id; /* by the index of their id */
    uint32_t cap;
    uint32_t active;
    dnet_op_t *free;
} dnet_ops_t;

/* channel.c: ways out that wait for something. */
typedef struct {
    dnet_channel_t *free;
    uint32_t open_channels; /* peers that have one */
    uint64_t retry_ns;      /* the next time of a channel, or earlier; UINT64_MAX: none */
    uint64_t waited_ns;     /* how long stops take that end with a RESEND: rises slowly */
    /* a refused packet is sent again after so long, and no receiver resumes its senders (compare/);
     * 0: stop and resend */
    uint64_t timer_ns;
    bool gathers; /* what is issued to other hosts waits, and leaves together */
} dnet_tx_t;

/* inbox.c: what has been posted, and what has arrived. */
typedef struct {
    dnet_match_t match;
    dnet_assembly_t *assemblies;
    dnet_assembly_t *assemblies_free;
    dnet_ep_message_t *messages_free; /* blocks of DNET_MESSAGE_SMALL bytes */
    uint64_t budget;                  /* most bytes of unexpected messages */
    uint8_t *scratch;                 /* one packet, made contiguous */
    dnet_ep_unexpected_fn unexpected_fn;
    uint64_t received_before; /* messages received when one last came without a receive */
    uint32_t left;            /* number of the last entry that was left for the next round */
    bool goes_on;             /* a round that has handled some already */
} dnet_inbox_t;

/* aperture.c: by slot, the receive whose data are stored there, or the send that shows its
 * message. */
typedef struct {
    dnet_rndv_recv_t *recv[DNET_APERTURES_MAX];
    dnet_op_t *send[DNET_APERTURES_MAX];
} dnet_aperture_t;

/* How large messages move (DIMMNET_RENDEZVOUS). */
enum {
    DNET_RENDEZVOUS_AUTO,
    DNET_RENDEZVOUS_DIRECT,
    DNET_RENDEZVOUS_STAGED,
    DNET_RENDEZVOUS_PUSHED
};

/* rndv_*.c: large messages. */
typedef struct {
    dnet_op_t *sending; /* sends whose data are under way, oldest first */
    /* answered, and data are on their way: those that each round looks for (staged, read), and
     * those that a status ends */
    uint32_t recvs_polled, recvs_stored;
    dnet_rndv_recv_t *wait, **wait_tail;       /* receives for which there was no room */
    dnet_rndv_recv_t *put_off, **put_off_tail; /* rndv_split.c: oldest first */
    bool no_fetch; /* the own NIC may take no request for a time: nothing may have to be fetched */
    /* staged */
    uint32_t chunk_bytes, chunks;
    bool staging_reserved;
    uint64_t staging_base, staging_end; /* SO-DIMM offsets */
    uint64_t words_used[DNET_DRV_WORDS / 64];
    dnet_rndv_recv_t *area[DNET_STAGING_AREAS];
    dnet_rndv_recv_t *reading; /* from memory that another host has lent */
    /* pushed */
    dnet_rndv_recv_t *pushed; /* oldest first */
    uint64_t pushed_ns;       /* the last piece came, or the last of them began */
    bool piece_came;          /* since then */
    uint32_t pieces_left;     /* that may still be sent in this round */
    uint32_t guesses;         /* messages that may still be taken for awaited ones */
    uint64_t strays;          /* pieces that nothing expected */
    dnet_piece_times_t pushed_times;
    dnet_piece_times_t at_once_times; /* of messages that go without a rendezvous instead */
    dnet_kernel_times_t kernel_times; /* where the kernel is slow */
} dnet_rndv_t;

/* defer_recv.c: senders whose messages are held back here. */
typedef struct {
    bool hold_all;
    dnet_deferred_t *senders, **senders_tail;
    uint32_t senders_count;
    uint64_t granted_bytes;      /* to all of them */
    dnet_deferred_t **sender_of; /* [sender_room] by rank; NULL before the first */
    uint32_t sender_room;
    dnet_defer_wanted_t wanted; /* receives and probes since senders are held */
    dnet_probe_t *probes;
    uint32_t probes_count;
} dnet_defer_t;

/* compare/: flow control for comparison. */
typedef struct {
    uint32_t resume_from; /* which peer is resumed next when the NIC no longer stalls */
    dnet_fc_partners_t partners;
    struct {
        pthread_t thread;
        bool running;
        atomic_bool stop;
        _Atomic uint64_t events, ns; /* as the counters */
    } limit;
} dnet_compare_t;

/* memory.c: memory of dnet_ep_alloc(); the lock is a leaf. */
typedef struct {
    dnet_heap_t heap;
    pthread_mutex_t lock;
} dnet_memory_t;

/* progress.c */
typedef struct {
    uint32_t yields, sleeps; /* of this wait; sleeps: the first few */
    uint32_t check_next;     /* peer that is looked at next */
    uint32_t network_skips;
    uint64_t idle_since_ns, idle_until_ns; /* begin of this wait, last look of it or the last one */
    uint64_t usual_wait_ns;                /* for messages, where processors are few */
    /* polling where processors are few: when it last had one back, and how long it was without */
    uint64_t runs_since_ns, away_ns;
    uint64_t checked_ns;        /* last look at the peers */
    uint64_t written_ns;        /* the page was written */
    uint64_t told_ns;           /* DIMMNET_HANG_S: the wait that began then has been told */
    uint64_t packets;           /* sent before this wait */
    int lifeline;               /* dnet_ep_config_t */
    bool (*awaited)(void *arg); /* dnet_ep_set_awaited() */
    void *awaited_arg;
    bool only_looks; /* the call does not wait */
    bool at_work;    /* dnet_ep_set_at_work() */
    bool dead_reported;
} dnet_progress_t;

/* May the memories of this process and of a rank of this host be copied between them?  What has
 * failed once is tried again: that rank may not have had its NIC open. */
enum { DNET_DIRECT_UNTRIED, DNET_DIRECT_FAILED, DNET_DIRECT_FAILS, DNET_DIRECT_WORKS };

/* Where a rank is. */
typedef struct {
    /* its NIC's number, times DNET_PROCESSES_PER_NIC, plus its WID */
    uint32_t at : 24;
    /* 1 + dnet_distance_t of this rank and that; 0: nothing has asked for it yet */
    uint32_t distance : 6;
    uint32_t direct : 2; /* DNET_DIRECT_... */
} dnet_place_t;
_Static_assert(sizeof(dnet_place_t) == 4, "there is one for each rank");

/* job.c: where the job's processes are. */
typedef struct {
    uint64_t id;
    dnet_cluster_t *cluster; /* DIMMNET_CLUSTER; else NULL */
    /* DIMMNET_CLUSTER_NODES: index of each of the job's nodes; NULL: in order */
    uint32_t *cluster_node;
    uint32_t nics;
    dnet_place_t *place; /* by rank */
    uint32_t *rank_at;   /* by place; DNET_EP_NO_RANK: nobody's */
    /* [clids] 1 + number of the NIC in the job; 0: none of the job's */
    uint16_t *nic_of_clid;
    uint32_t clids;
    dnet_emu_nic_t *emu;
    int32_t *pids;
    bool spans_hosts;
    bool has_port;                     /* to other hosts: it spans some, or may have guests there */
    uint32_t near;                     /* ranks on this host */
    dnet_locality_t *locality;         /* NULL: no distance has been asked for */
    bool no_locality;                  /* it could not be loaded */
    uint32_t processors;               /* that the job may use */
    dnet_emu_locator_t nic;            /* the own NIC, as its maker has it */
    dnet_emu_port_t *port;             /* until the NIC takes it */
    char (*hosts)[DNET_EP_HOST_BYTES]; /* by rank: names of other hosts; NULL: there is no port */
    dnet_ep_address_t *addresses;      /* by rank, for guests; NULL: there is no port */
    char why[160];                     /* dnet_ep_why() */
} dnet_job_t;

/* guests.c: processes of other jobs, by their number in this process's table. */
typedef struct {
    dnet_ep_contact_t contact; /* of which the host is known when dnet_ep_add_peer() has told it */
    bool far;                  /* of another host */
    bool known;                /* peers[size + number] is it */
    bool parted;               /* dnet_ep_drop_peer(), or it has come by itself */
    bool asked;                /* dnet_ep_set_asked() */
    bool tried, direct;        /* may the memories of both be copied between them? */
} dnet_guest_t;

typedef struct {
    dnet_guest_t
        *list;    /* DNET_GUESTS_MAX + 1, of which touched pages exist; NULL: there are none */
    uint32_t end; /* numbers in use are below it; 0: there are none */
    uint32_t near;
    bool crowded; /* processors were few before the first guest */
} dnet_guests_t;

struct dnet_ep {
    dnet_drv_t drv;
    /* What every round and every message looks at: one cache line. */
    _Alignas(DNET_EP_LINE) bool in_progress;
    /* the hold table is in force, or was and some sender has not answered yet */
    bool holding;
    /* the NIC stalls, senders try again by a timer, or there is a network: a turn in every round */
    bool flow_turns;
    bool stalled; /* the NIC keeps a packet, and takes no other request */
    bool oversubscribed;
    bool impatient; /* the caller does its own waiting */
    bool tracing;   /* dnet_trace_close() is due */
    uint32_t idle;
    uint64_t looked_ns; /* last look at the clock while idle; 0: not idle */
    dnet_peer_t *peers;
    uint32_t rank, size;
    uint32_t one_packet;  /* longest message that is one packet without a head */
    uint32_t packet_data; /* data bytes of one packet */
    dnet_rndv_t rndv;     /* its first members belong to this line */
    /* The parts. */
    dnet_fc_receiver_t receiver; /* senders this process has stopped */
    dnet_inbox_t inbox;
    dnet_ops_t ops;
    dnet_tx_t tx;
    dnet_aperture_t aperture;
    dnet_defer_t defer;
    dnet_progress_t progress;
    dnet_memory_t memory;
    dnet_compare_t compare;
    dnet_job_t job;
    dnet_guests_t guests;
    dnet_device_t *dev;
    dnet_emu_capture_t *capture; /* DIMMNET_PCAP; else NULL */
    dnet_ep_am_fn am_fn;
    dnet_ep_am_long_t am_long;
    void *am_arg;
    dnet_ep_source_fn source_fn;
    void *source_arg;
    uint32_t eager_limit; /* longest message sent before its receive is known, bytes */
    dnet_eager_near_t eager_near;
    uint32_t piece_data;              /* data bytes of a piece to ranks of this host, at most */
    uint64_t awaited;                 /* dnet_ep_config_t */
    uint64_t received_before;         /* in_a_row(): what had come when a send last asked */
    uint32_t eager_limit_hosts;       /* the same, to ranks of others */
    uint32_t vci;                     /* dnet_ep_config_t */
    _Atomic(struct dnet_ep *) dumped; /* dump.c: the next endpoint of the process */
    dnet_options_t options;
    dnet_ep_names_t names;
    /* What others may read; shared memory if it could be had. */
    union {
        _Alignas(DNET_PAGE_BYTES) dnet_page_t page;
        uint8_t page_bytes[DNET_PAGE_BYTES];
    };
    int page_fd; /* -1: none */
};
_Static_assert(offsetof(dnet_ep_t, drv) == 0, "the driver's hot members come first");
_Static_assert(offsetof(dnet_ep_t, page) % DNET_PAGE_BYTES == 0 &&
                   offsetof(dnet_ep_t, page_fd) % DNET_PAGE_BYTES == 0,
               "nothing else lies in the page");
_Static_assert(offsetof(dnet_ep_t, in_progress) % DNET_EP_LINE == 0 &&
                   offsetof(dnet_ep_t, rndv.recvs_stored) + sizeof(uint32_t) ==
                       offsetof(dnet_ep_t, in_progress) + DNET_EP_LINE,
               "what every round looks at fills one cache line");

#endif
