"""The network addresses to which a webhook may connect.

A name is resolved before each attempt, and the connection is made to the address that was checked: an answer of the
name server that changes in between has no effect. Link-local addresses and those of cloud metadata are always refused.
"""

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from ledger.errors import InvalidQuery

Address = IPv4Address | IPv6Address

METADATA = frozenset(map(ip_address, ("100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")))
"""Addresses of cloud metadata that are not link-local: Alibaba Cloud, Azure, AWS, Google Cloud."""

NAT64 = ip_network("64:ff9b::/96")
"""IPv6 addresses whose last 32 bits are an IPv4 address (RFC 6052)."""

COMPATIBLE = ip_network("::/96")
"""The same, as IPv4-compatible addresses (RFC 4291); `::` and `::1` are in it, and are not such addresses."""


class AddressRefused(Exception):
    """The receiver has no address that a webhook may connect to."""


def refusal(address: Address, *, allow_private: bool) -> str | None:
    """Return why an address may not be connected to; None if it may."""
    embedded = _embedded(address)
    if embedded is not None:
        return refusal(embedded, allow_private=allow_private)
    if address.is_link_local:
        return f"{address} is link-local"
    if address in METADATA:
        return f"{address} is an address of cloud metadata"
    if address.is_multicast or address.is_unspecified or address == ip_address("255.255.255.255"):
        return f"{address} is not the address of one machine"
    if allow_private or (address.is_global and not address.is_private):
        return None
    return f"{address} is {'loopback' if address.is_loopback else 'private or reserved'}"


def refuse_literal_address(host: str, *, allow_private: bool) -> None:
    """Refuse a host that is written as an address to which no webhook may connect. Errors: InvalidQuery."""
    address = _literal_address(host.strip("[]").rstrip(".").lower())
    reason = None if address is None else refusal(address, allow_private=allow_private)
    if address is not None and reason is not None:
        helps = refusal(address, allow_private=True) is None
        advice = "Add --allow-private if it is meant." if helps else "Name a receiver elsewhere."
        raise InvalidQuery("url", f"{reason}.", advice)


def _literal_address(host: str) -> Address | None:
    """Return the address that a host states without a name server: also as `localhost`, 2130706433 or 0x7f.1."""
    if host == "localhost" or host.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(host)
    except ValueError:
        with suppress(OSError):
            return IPv4Address(socket.inet_aton(host))
    return None


async def resolve(host: str, port: int, *, allow_private: bool) -> Sequence[Address]:
    """Return the addresses of a host to which a webhook may connect. Errors: AddressRefused; OSError."""
    found = [ip_address(address) for address in dict.fromkeys(await _look_up(host, port))]
    allowed = [address for address in found if refusal(address, allow_private=allow_private) is None]
    if found and not allowed:
        raise AddressRefused(refusal(found[0], allow_private=allow_private))
    if not allowed:
        raise OSError(f"{host} has no address")
    return allowed


async def _look_up(host: str, port: int) -> list[str]:
    """Resolve a name on a thread of its own: a slow name server keeps neither other work nor the end of the process."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def finish(result: list[str] | OSError) -> None:
        if answer.done():
            return
        if isinstance(result, OSError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    def look_up() -> None:
        result: list[str] | OSError
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result = [str(entry[4][0]).partition("%")[0] for entry in found]
        except (OSError, UnicodeError) as error:
            result = error if isinstance(error, OSError) else OSError(f"{host} is not a name")
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, result)

    threading.Thread(target=look_up, name="webhook-name", daemon=True).start()
    return await answer


def _embedded(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in NAT64 or (address in COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.teredo[1] if address.teredo is not None else None
