"""Socket filters for the packets of a network namespace, and the calls that the packets show.

In the namespace every address is one of the loopback interface, so each call is a packet there: a TCP connection begins
with SYN, and is refused at once where nothing listens. A filter passes what a call consists of: TCP packets with SYN,
and every packet of another protocol. The filter is classic BPF. Source: Documentation/networking/filter.rst.
"""

import ctypes
import socket
import struct
from typing import NamedTuple

SNAP_BYTES = 512
"""Bytes of a packet that are kept: its headers, and a query for a name."""

DNS_PORT = 53
NAME_CHARS_MAX = 253

_SO_ATTACH_FILTER = 26
_WORD, _BYTE, _BYTE_AT_X, _HEADER_TO_X = 0x20, 0x30, 0x50, 0xB1
_AND, _EQUAL, _ANY_BIT, _GOTO, _RETURN = 0x54, 0x15, 0x45, 0x05, 0x06
_PACKET_TYPE, _OUTGOING = 0xFFFFF004, 4
_TCP, _UDP, _ICMP, _ICMP6 = 6, 17, 1, 58
_SYN, _ACK = 0x02, 0x10
_UNREACHABLE, _UNREACHABLE6 = 3, 1

_names = {_TCP: "tcp", _UDP: "udp", _ICMP: "icmp", _ICMP6: "icmp"}


class PacketFact(NamedTuple):
    """What one packet shows. `is_answer`: a TCP listener accepts. `refused`: where a UDP packet reached nothing."""

    protocol: str
    source: tuple[str, int | None]
    target: tuple[str, int | None]
    is_answer: bool = False
    refused: tuple[str, int | None] | None = None
    name: str | None = None
    """The name that a query to port 53 asks for."""


def attach_filter(packets: socket.socket, *, loopback: bool) -> None:
    """Let a packet socket receive only what belongs to calls, to loopback addresses or to all others.

    Errors: OSError.
    """
    rows = _resolve(_rows(loopback))
    code = b"".join(struct.pack("=HBBI", *row) for row in rows)
    buffer = ctypes.create_string_buffer(code, len(code))
    packets.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(rows), ctypes.addressof(buffer)))


_Row = tuple[str, int, str, str, int]
"""A label or nothing, the code, the labels to go to if a test holds and if not, and the operand."""


def _rows(loopback: bool) -> list[_Row]:
    is_loopback, is_other = ("keep", "drop") if loopback else ("drop", "keep")
    return [
        ("", _WORD, "", "", _PACKET_TYPE),
        ("", _EQUAL, "", "drop", _OUTGOING),  # each packet on the interface occurs twice: sent and received
        ("", _BYTE, "", "", 0),
        ("", _AND, "", "", 0xF0),
        ("", _EQUAL, "v4", "", 0x40),
        ("", _EQUAL, "v6", "drop", 0x60),
        ("v4", _BYTE, "", "", 9),
        ("", _EQUAL, "", "address4", _TCP),
        ("", _HEADER_TO_X, "", "", 0),
        ("", _BYTE_AT_X, "", "", 13),
        ("", _ANY_BIT, "address4", "drop", _SYN),
        ("address4", _BYTE, "", "", 16),
        ("", _EQUAL, is_loopback, is_other, 127),
        ("v6", _BYTE, "", "", 6),
        ("", _EQUAL, "", "address6", _TCP),
        ("", _BYTE, "", "", 53),
        ("", _ANY_BIT, "address6", "drop", _SYN),
        ("address6", _WORD, "", "", 24),
        ("", _EQUAL, "", is_other, 0),
        ("", _WORD, "", "", 28),
        ("", _EQUAL, "", is_other, 0),
        ("", _WORD, "", "", 32),
        ("", _EQUAL, "", is_other, 0),
        ("", _WORD, "", "", 36),
        ("", _EQUAL, is_loopback, is_other, 1),
        ("keep", _RETURN, "", "", SNAP_BYTES),
        ("drop", _RETURN, "", "", 0),
    ]


def _resolve(rows: list[_Row]) -> list[tuple[int, int, int, int]]:
    """Return the rows with distances instead of labels."""
    places = {row[0]: at for at, row in enumerate(rows) if row[0]}

    def distance(label: str, at: int) -> int:
        return places[label] - at - 1 if label else 0

    return [(code, distance(yes, at), distance(no, at), k) for at, (_, code, yes, no, k) in enumerate(rows)]


def read_packet(data: bytes) -> PacketFact | None:
    """Return what a packet shows, from its network header on; None for one that does not belong to a call."""
    try:
        version = data[0] >> 4
        if version == 4:
            header = (data[0] & 0x0F) * 4
            addresses = socket.inet_ntop(socket.AF_INET, data[12:16]), socket.inet_ntop(socket.AF_INET, data[16:20])
            return _read_inner(data[9], addresses, data[header:])
        addresses = socket.inet_ntop(socket.AF_INET6, data[8:24]), socket.inet_ntop(socket.AF_INET6, data[24:40])
        return _read_inner(data[6], addresses, data[40:])
    except (IndexError, ValueError, struct.error):  # cut off
        return None


def _read_inner(protocol: int, addresses: tuple[str, str], body: bytes) -> PacketFact | None:
    source, target = addresses
    name = _names.get(protocol, f"protocol {protocol}")
    if protocol in (_TCP, _UDP):
        from_port, to_port = struct.unpack_from("!HH", body)
        is_answer = protocol == _TCP and body[13] & (_SYN | _ACK) == _SYN | _ACK
        asked = _query_name(body[8:]) if protocol == _UDP and to_port == DNS_PORT else None
        return PacketFact(name, (source, from_port), (target, to_port), is_answer, name=asked)
    if protocol in (_ICMP, _ICMP6) and body[0] == (_UNREACHABLE if protocol == _ICMP else _UNREACHABLE6):
        original = read_packet(body[8:])
        return None if original is None else PacketFact(name, (source, None), (target, None), refused=original.target)
    if (protocol, body[0]) in ((_ICMP, 0), (_ICMP6, 129)):  # the answer to an echo request
        return None
    return PacketFact(name, (source, None), (target, None))


def _query_name(message: bytes) -> str | None:
    """Return the name that a DNS query asks for; None for another message. Source: RFC 1035, 4.1.2."""
    labels, at = list[str](), 12
    while at < len(message) and message[at]:
        size = message[at]
        labels.append(message[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += size + 1
    text = ".".join(labels)
    return text if text.isprintable() and 0 < len(text) <= NAME_CHARS_MAX else None
