/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heads of packets, and what follows them (docs/protocol.md 3.1).  The list of heads is heads.def.
 */
#ifndef DNET_ENDPOINT_WIRE_H
#define DNET_ENDPOINT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "driver/driver.h"
#include "endpoint/endpoint.h"

/* Bit 31 of the Tag: a dnet_ep_head_t stands before the data. */
#define DNET_EP_HEADED (1ull << 31)
/* Envelope of what is not a message: it needs no receive, and no room that a receive must free. */
#define DNET_EP_CONTROL (DNET_EP_HEADED | DNET_ENVELOPE_PASS)

typedef enum {
#define DNET_HEAD_TYPE(name, value, title, matched, op, arg, length, behind) \
    DNET_HEAD_##name = (value),
#include "endpoint/heads.def"
} dnet_head_type_t;

typedef struct {
#define DNET_HEAD_FIELD(type, name, offset, title) type name;
#include "endpoint/heads.def"
} dnet_ep_head_t;
#define DNET_HEAD_FIELD(type, name, at, title) \
    _Static_assert(offsetof(dnet_ep_head_t, name) == (at), "head layout");
#include "endpoint/heads.def"
_Static_assert(sizeof(dnet_ep_head_t) == 24, "head layout");
_Static_assert(sizeof(dnet_ep_head_t) + DNET_EP_AM_HEADER_MAX <= DNET_DRV_BOTF_DATA_MAX,
               "a head and an active message's header fit one window");

/* A piece (FIRST, MORE, PIECE) begins behind the entry, with a line of the ring.  User's buffers
 * mostly begin with a line, too, and then both copies are of whole lines. */
#define DNET_PIECE_AT DNET_LH_DATA_BYTES

static inline bool dnet_head_is_of_piece(uint8_t type)
{
    return type == DNET_HEAD_FIRST || type == DNET_HEAD_MORE || type == DNET_HEAD_PIECE;
}

/* Flag of a CTS: the data go through SO-DIMM in chunks. */
#define DNET_CTS_STAGED 1u
/* Flag of a CTS: each side moves pieces, as many as it gets to; the receiver acknowledges its. */
#define DNET_CTS_SPLIT 2u
/* Flag of a CTS: the sender pushes pieces, as many as it gets to. */
#define DNET_CTS_PUSHED 4u
/* Flag of a CTS: the receive was there before RTS came. */
#define DNET_CTS_AWAITED 8u

/* Bit of a head's rank: the sender is of another job, and the rest is its number in the receiver's
 * guest table. */
#define DNET_HEAD_GUEST 0x80000000u

/* Flag of an RTS: a dnet_ep_layout_t follows, where the data lie in the sender's SO-DIMM. */
#define DNET_RTS_LAYOUT 1u
/* Flag of an RTS: a dnet_remote_memory_t follows, in which another host can read the message. */
#define DNET_RTS_LENT 2u
/* Flag of an RTS: the sender would push the message. */
#define DNET_RTS_PUSHES 4u
/* Arg of an RTS instead of an address: the sender may copy neither from nor to the receiver. */
#define DNET_RTS_STAGED 1u
_Static_assert(!DNET_GET(DNET_RTS_STAGED, AP_FLAG), "no address of an aperture");
/* Flag of an AM_RTS: the same. */
#define DNET_AM_RTS_STAGED 1u
/* Flag of an ACK: arg is what a piece usually takes the receiver by the kernel. */
#define DNET_ACK_KERNEL 1u
_Static_assert(sizeof(dnet_ep_head_t) + sizeof(dnet_ep_layout_t) <= DNET_LH_DATA_BYTES &&
                   sizeof(dnet_ep_head_t) + sizeof(dnet_remote_memory_t) <= DNET_LH_DATA_BYTES,
               "head and what follows lie in the LH entry");

/* What stands behind an RTS: where the message's bytes are at the sender. */
typedef struct {
    dnet_ep_layout_t layout;     /* kind 0: not in SO-DIMM */
    dnet_remote_memory_t memory; /* if is_lent */
    bool is_lent;
    bool pushes;     /* the sender would push the message */
    bool is_awaited; /* its receive was there before */
} dnet_ep_origin_t;

/* Follows the head of a staged CTS. */
typedef struct {
    uint32_t chunk_bytes;
    uint32_t chunks;
} dnet_ep_staging_t;

/* The count of sent chunks in an LLCM word: above it stands the word, at the sender, in which the
 * receiver counts the chunks it has taken. */
#define DNET_COUNT_WORD_SHIFT 48
#define DNET_COUNT_MASK ((1ull << DNET_COUNT_WORD_SHIFT) - 1)

#define DNET_PIECE_UNIT 4096u
#define DNET_PIECE_MOST 2097152u
/* Shorter messages are not split. */
#define DNET_SPLIT_LEAST (2 * DNET_PIECE_UNIT)

/* Bytes of a split message's pieces but the last, which is what is left: a half, as long as that is
 * no more than takes some 200 us.  Each copy between processes costs 2 to 4.5 us beside its bytes:
 * 1 MB in pieces of 64 KB took 1.6 times as long as in halves, 4 MB in pieces of 512 KB 1.15 times.
 * Both sides count on the size. */
static inline uint32_t dnet_piece_bytes(size_t len)
{
    size_t half = (len / 2 + DNET_PIECE_UNIT - 1) & ~(size_t) (DNET_PIECE_UNIT - 1);
    return half < DNET_PIECE_MOST ? (uint32_t) half : DNET_PIECE_MOST;
}

/* Pieces of a split message; the first is the receiver's in any case. */
static inline uint32_t dnet_pieces(size_t len)
{
    return (uint32_t) ((len + dnet_piece_bytes(len) - 1) / dnet_piece_bytes(len));
}

/* A held message, in an OFFER. */
typedef struct {
    uint64_t envelope;
    uint64_t length;
    uint32_t op;  /* sender's operation */
    uint32_t arg; /* as in an RTS */
} dnet_ep_offer_t;
_Static_assert(sizeof(dnet_ep_offer_t) == 24, "offer layout");

#define DNET_OFFERS_MAX 19u
_Static_assert(DNET_OFFERS_MAX * sizeof(dnet_ep_offer_t) <= DNET_EP_AM_HEADER_MAX,
               "head and offers fit one window");

#endif
