/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contacts as bytes, without the gaps that structs have: MPI gives a port name 256 characters, of
 * which MPICH takes 21 for the port's tag and its words, and two for each byte.
 */
#include <string.h>

#include "common/log.h"
#include "endpoint/endpoint.h"

#define VERSION 2u
#define PORT_NAME_CHARS 256u
#define PORT_NAME_WORDS sizeof("tag#2047$connentry#$")
_Static_assert(PORT_NAME_WORDS + 2 * DNET_EP_CONTACT_BYTES <= PORT_NAME_CHARS,
               "a contact fits a port name");

/* Integers as the machine has them; then the port's address, and the host's name without its end.
 */
typedef struct {
    uint64_t host_id;
    uint64_t group;
    uint64_t nic_id;
    int32_t nic_pid, nic_fd;
    int32_t pid;
    uint32_t member;
    uint32_t key;
    uint16_t epoch;
    uint16_t alive_port;
    uint16_t lid;
    uint8_t wid, pgid;
    uint8_t version;
    uint8_t plug;
    uint8_t address_bytes; /* 0: there is no port */
    uint8_t host_bytes;
} packed_t;
_Static_assert(sizeof(packed_t) == 56, "no gaps");
_Static_assert(sizeof(packed_t) + sizeof((dnet_emu_port_address_t *) 0)->at + 24 <=
                   DNET_EP_CONTACT_BYTES,
               "room for 24 characters of a name");

size_t dnet_ep_contact_pack(const dnet_ep_contact_t *contact, uint8_t *bytes)
{
    const dnet_emu_guest_t *g = &contact->who.process;
    const dnet_emu_port_address_t *at = &contact->who.port;
    size_t room = DNET_EP_CONTACT_BYTES - sizeof(packed_t) - at->bytes;
    size_t host = strnlen(contact->who.host, sizeof(contact->who.host) - 1);
    host = host < room ? host : room;
    packed_t p = {
        .host_id = contact->host_id,
        .group = g->group,
        .nic_id = g->nic.id,
        .nic_pid = g->nic.pid,
        .nic_fd = g->nic.fd,
        .pid = g->pid,
        .member = g->member,
        .key = at->key,
        .epoch = at->epoch,
        .alive_port = at->alive_port,
        .lid = g->nic.lid,
        .wid = g->wid,
        .pgid = g->pgid,
        .version = VERSION,
        .plug = at->plug,
        .address_bytes = at->bytes,
        .host_bytes = (uint8_t) host,
    };
    memcpy(bytes, &p, sizeof(p));
    memcpy(bytes + sizeof(p), at->at, at->bytes);
    memcpy(bytes + sizeof(p) + at->bytes, contact->who.host, host);
    return sizeof(p) + at->bytes + host;
}

static bool is_sound(const packed_t *p, size_t len)
{
    return p->version == VERSION && p->wid < DNET_PROCESSES_PER_NIC && p->nic_id != 0 &&
           p->address_bytes <= sizeof((dnet_emu_port_address_t *) 0)->at &&
           p->host_bytes < DNET_EP_HOST_BYTES &&
           len == sizeof(*p) + p->address_bytes + p->host_bytes;
}

dnet_status_t dnet_ep_contact_unpack(const uint8_t *bytes, size_t len, dnet_ep_contact_t *contact_p)
{
    packed_t p = {0};
    memcpy(&p, bytes, len < sizeof(p) ? len : sizeof(p));
    if (!is_sound(&p, len)) {
        dnet_error("a process of another job has sent no contact of this library's version");
        return DNET_ERR_FORMAT;
    }
    dnet_ep_contact_t c = {.host_id = p.host_id};
    c.who.process = (dnet_emu_guest_t){
        .nic = {.pid = p.nic_pid, .fd = p.nic_fd, .id = p.nic_id, .lid = p.lid},
        .group = p.group,
        .pid = p.pid,
        .member = p.member,
        .wid = p.wid,
        .pgid = p.pgid,
    };
    c.who.port = (dnet_emu_port_address_t){.bytes = p.address_bytes,
                                           .plug = p.plug,
                                           .epoch = p.epoch,
                                           .key = p.key,
                                           .alive_port = p.alive_port};
    memcpy(c.who.port.at, bytes + sizeof(p), p.address_bytes);
    memcpy(c.who.host, bytes + sizeof(p) + p.address_bytes, p.host_bytes);
    *contact_p = c;
    return DNET_OK;
}
