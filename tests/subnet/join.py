# SPDX-License-Identifier: BSD-3-Clause
"""Joins ports of a simulated fabric to a multicast group, as their hosts would.

    LD_PRELOAD=libumad2sim.so SIM_HOST=HOST python3 join.py SM-LID MGID PORT-GUID...

Sends SubnAdmSet(MCMemberRecord) for each port through libibumad; the group exists already.
"""
import ctypes
import ipaddress
import struct
import sys

SA_CLASS, SA_VERSION, SET, GET_RESP = 3, 2, 2, 0x81
MC_MEMBER_RECORD, FULL_MEMBER = 0x38, 1
MGID, PORT_GID, JOIN_STATE = 1 << 0, 1 << 1, 1 << 16
WELL_KNOWN_QKEY, MAD_BYTES, STATUS_AT = 0x80010000, 256, 4


def request(transaction, mgid, port_guid):
    """The datagram of a join."""
    header = struct.pack(
        ">BBBBHHQHHI", 1, SA_CLASS, SA_VERSION, SET, 0, 0, transaction, MC_MEMBER_RECORD, 0, 0
    )
    sa = bytes(12) + struct.pack(">QHHQ", 0, 0, 0, MGID | PORT_GID | JOIN_STATE)
    record = mgid + struct.pack(">QQ", 0xFE80 << 48, port_guid) + bytes(16)
    return (header + sa + record + bytes([FULL_MEMBER])).ljust(MAD_BYTES, b"\0")


def main(sm_lid, mgid, *guids):
    umad = ctypes.CDLL("libibumad.so.3")
    umad.umad_get_mad.restype = ctypes.c_void_p
    umad.umad_init()
    port = umad.umad_open_port(None, 0)
    agent = umad.umad_register(port, SA_CLASS, SA_VERSION, 0, None)
    if port < 0 or agent < 0:
        sys.exit("join: no port of a simulated fabric")
    buffer = ctypes.create_string_buffer(umad.umad_size() + MAD_BYTES)
    for i, guid in enumerate(guids):
        mad = request(i + 1, ipaddress.IPv6Address(mgid).packed, int(guid, 16))
        umad.umad_set_addr(buffer, int(sm_lid), 1, 0, ctypes.c_uint(WELL_KNOWN_QKEY))
        ctypes.memmove(umad.umad_get_mad(buffer), mad, MAD_BYTES)
        if umad.umad_send(port, agent, buffer, MAD_BYTES, 2000, 3) < 0:
            sys.exit(f"join: cannot send for {guid}")
        length = ctypes.c_int(MAD_BYTES)
        if umad.umad_recv(port, buffer, ctypes.byref(length), 5000) < 0:
            sys.exit(f"join: no answer for {guid}")
        answer = ctypes.string_at(umad.umad_get_mad(buffer), MAD_BYTES)
        status = struct.unpack_from(">H", answer, STATUS_AT)[0]
        if answer[3] != GET_RESP or status:
            sys.exit(f"join: {guid} is refused, status {status:#x}")


if __name__ == "__main__":
    main(*sys.argv[1:])
