/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port of several rails, for its files only, from the lowest floor up: rails_state.c says which
 * rails carry, rails_reads.c cuts reads in parts, rails.c is the plug.
 */
#ifndef DNET_EMU_RAILS_END_H
#define DNET_EMU_RAILS_END_H

#include "common/clock.h"
#include "emulator/swif/hosts/plug.h"
#include "locality/adapter.h"

/* What a process tells a peer: which rails carry, as far as it knows.  Shorter than any other
 * message between ports. */
typedef struct {
    uint32_t key;      /* +0x00 of the port it goes to */
    uint32_t magic;    /* +0x04 */
    uint32_t from_key; /* +0x08 */
    uint32_t number;   /* +0x0c of the note, 1.. */
    uint32_t good;     /* +0x10 a bit for each rail */
    uint32_t zero;     /* +0x14 */
} dnet_emu_rails_note_t;
_Static_assert(sizeof(dnet_emu_rails_note_t) == 24, "a note");

typedef struct dnet_emu_rails_peer {
    struct dnet_emu_rails_peer *next;
    uint64_t to[DNET_RAILS_MAX]; /* as the plug knows it */
    uint32_t key;                /* of its port */
    uint8_t rails;               /* that both have */
    uint8_t home, now;           /* rail of its messages: when all is well, and now */
    uint8_t good, says;          /* a bit for each that carries: as is known here, and there; */
    uint8_t denied;              /* that has ceased to there since the last look */
    uint8_t used;                /* a bit for each that has been connected at some time, */
    uint8_t asked;               /* for each that is wanted to be, */
    uint8_t late;                /* and for each of those that messages wait for no more; */
    uint8_t refused;             /* whose adapter would refuse again, at once */
    bool is_lost;                /* messages may be: lost() is to be called */
    bool is_unsaid;              /* `good` is to be told */
    bool is_leaving;             /* the note is under way */
    bool is_parted;              /* its plug may not know it any more */
    uint32_t said, heard;        /* numbers of notes */
    uint64_t since_ns[DNET_RAILS_MAX]; /* `asked`: since then; not `good`: tried again then */
    uint64_t connected_ns;             /* one that was asked for was */
    uint64_t none_ns;                  /* no rail carried then, and nothing got through since */
    const char *why;                   /* the last failure */
    char lost[128];                    /* nothing can go there any more */
    dnet_emu_plug_op_t op;             /* of the note */
    dnet_emu_rails_note_t note;
} dnet_emu_rails_peer_t;

typedef struct {
    dnet_emu_plug_end_t *end;
    dnet_emu_rail_facts_t facts;
    const char *name;
    const char *ill; /* why it carries nothing at all; NULL: it does */
    bool is_told;    /* that it has failed */
    uint64_t sent_bytes, read_bytes;
} dnet_emu_rail_t;

/* A part of a read. */
typedef struct {
    dnet_emu_plug_op_t op; /* first */
    struct dnet_emu_rails_read *of;
    uint64_t at, left, under_way; /* bytes: where it begins, and so on */
    bool is_due;
    uint8_t tries;
} dnet_emu_rails_part_t;

typedef struct dnet_emu_rails_read {
    struct dnet_emu_rails_read *next;
    dnet_emu_plug_op_t *op; /* the caller's */
    dnet_emu_rails_peer_t *peer;
    dnet_remote_memory_t from;
    uint8_t *to;
    void *held;
    unsigned pending; /* parts that have not ended */
    const char *why;  /* one has failed */
    unsigned parts;
    dnet_emu_rails_part_t part[DNET_RAILS_MAX];
} dnet_emu_rails_read_t;

struct dnet_emu_plug_end {
    const dnet_emu_plug_ops_t *plug; /* of the rails */
    dnet_emu_plug_ops_t ops;         /* and those of all together */
    unsigned rails;
    dnet_emu_rail_t rail[DNET_RAILS_MAX];
    uint32_t key;
    uint64_t wait_ns; /* no rail carries for so long: the peer is lost */
    int wait_fd;
    char network[256];
    dnet_emu_rails_peer_t *peers, *parted; /* of those parted with messages may be under way */
    dnet_emu_rails_read_t *reads;
    uint32_t due;   /* parts that wait for the plug */
    unsigned last;  /* rail that brought something last */
    uint32_t polls; /* since the others were polled */
    dnet_clock_t clock;
    uint64_t now_ns, check_ns, peers_ns;
    bool changed; /* something is to be told, or is lost */
    bool ends;    /* the poll that runs shall end */
    const dnet_emu_plug_events_t *events;
    void *arg;
};

/* ---- rails_state.c ---- */

/* Rails by which something may go to a peer, a bit for each; `now` where there is none. */
unsigned dnet_emu_rails_usable(const dnet_emu_rails_peer_t *p);

/* A rail is wanted to be connected to a peer.  @return whether it is */
bool dnet_emu_rails_connect(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r);

/* A rail does not carry to a peer. */
void dnet_emu_rails_failed(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r,
                           const char *why);

/* The same: its plug takes nothing, and would not when it is connected anew at once. */
void dnet_emu_rails_refused(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r);

/* Is it a note?  It is taken then. */
bool dnet_emu_rails_noted(dnet_emu_plug_end_t *e, const uint8_t *data, uint32_t bytes);

/* Look at rails and peers where it is time, and tell what has changed. */
void dnet_emu_rails_check(dnet_emu_plug_end_t *e, uint64_t now);

/* ---- rails_reads.c ---- */

/* The plug's operation of this name. */
dnet_status_t dnet_emu_rails_read(dnet_emu_plug_end_t *e, uint64_t peer,
                                  const dnet_remote_memory_t *from, void *to, void *held,
                                  uint64_t *bytes_p, dnet_emu_plug_op_t *op);

/* A part has ended, or (`why`) has failed; `is_broken`: its connection has. */
void dnet_emu_rails_part_sent(dnet_emu_plug_end_t *e, dnet_emu_rails_part_t *part, const char *why,
                              bool is_broken);

/* Hand the plug the parts that wait for it. */
void dnet_emu_rails_reads_go_on(dnet_emu_plug_end_t *e);

#endif
