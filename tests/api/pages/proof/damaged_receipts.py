"""Receipts that are damaged in every way that the tests know, and what the Python verifier says of each."""

import random
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import NamedTuple

from ledger.errors import BadNote
from ledger.transparency.receipt import Receipt
from ledger.transparency.signed_note import Verifier

ODD = (
    b"",
    b" ",
    b"\n",
    b"\r\n",
    b"\t",
    b"\0",
    b"+",
    b"=",
    "\u2014".encode(),
    "\u3000".encode(),
    b"\xff",
    b"\xef\xbb\xbf",
)
"""What is inserted: bytes that formats treat in a way of their own."""


def verdict_of(receipt: bytes, key: str) -> str:
    """`valid`, `invalid` or `unreadable`: as `tallystick receipt --check` ends with 0, 1 or 2."""
    try:
        verifier, parsed = Verifier.parse(key), Receipt.parse(receipt)
    except BadNote:
        return "unreadable"
    if parsed.line is None:
        return "unreadable"
    return "invalid" if parsed.faults(parsed.line, verifier) else "valid"


def flips(receipt: bytes) -> Iterator[bytes]:
    """The receipt with each of its bytes changed: the lowest bit, and the bit that changes the case of a letter."""
    for index in range(len(receipt)):
        for bit in (0x01, 0x20):
            yield receipt[:index] + bytes([receipt[index] ^ bit]) + receipt[index + 1 :]


def rearranged(receipt: bytes) -> Iterator[bytes]:
    """The receipt without a line, with one twice, with two exchanged, cut, and with odd bytes around its lines."""
    lines = receipt.split(b"\n")
    for index in range(len(lines)):
        yield b"\n".join([*lines[:index], *lines[index + 1 :]])
        yield b"\n".join([*lines[: index + 1], *lines[index:]])
        yield b"\n".join([*lines[:index], *reversed(lines[index : index + 2]), *lines[index + 2 :]])
        for odd in ODD:
            yield b"\n".join([*lines[:index], odd + lines[index], *lines[index + 1 :]])
            yield b"\n".join([*lines[:index], lines[index] + odd, *lines[index + 1 :]])
    for cut in range(0, len(receipt), 7):
        yield receipt[:cut]


class Parts(NamedTuple):
    """The parts of a receipt, as they are spelled."""

    extra: bytes
    at: bytes
    path: tuple[bytes, ...]
    origin: bytes
    size: bytes
    root: bytes
    signature: bytes

    def joined(self) -> bytes:
        head = [b"c2sp.org/tlog-proof@v1", self.extra, self.at, *self.path, b""]
        return b"\n".join([*head, self.origin, self.size, self.root, b"", self.signature])


def restated(receipt: bytes) -> Iterator[bytes]:
    """The receipt with other values that can be read: line, index, path, size, root and signature."""
    head, note = receipt.split(b"\n\n", 1)
    _, extra, index, *path = head.split(b"\n")
    text, signature = note.split(b"\n\n")
    origin, size, root = text.split(b"\n")
    yield from (each.joined() for each in _restated(Parts(extra, index, tuple(path), origin, size, root, signature)))


def _restated(parts: Parts) -> Iterator[Parts]:
    made, path = parts._replace, parts.path
    line = b64decode(parts.extra.removeprefix(b"extra "))
    for other in (b"", line[:-1], line + b" ", line.replace(b"0.7", b"0.8"), line * 40):
        yield made(extra=b"extra " + b64encode(other))
    for number in (0, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 10**19, -1):
        yield made(at=b"index %d" % number)
        yield made(size=b"%d" % number)
    for spelling in (b"007", b"+7", b"7.0", b"7e0", b"0x7", " \u0667".encode(), "\u0667".encode(), b""):
        yield made(at=b"index " + spelling)
        yield made(size=spelling)
    for level in range(len(path)):
        yield made(path=path[:level] + path[level + 1 :])
        yield made(path=(*path[:level], b64encode(bytes(32)), *path[level + 1 :]))
        yield made(path=(*path[:level], b64encode(bytes(31)), *path[level + 1 :]))
    yield made(path=path * 2)
    yield made(path=path * 20)
    yield made(path=(b64encode(bytes(32)),) * 64)
    for other_root in (bytes(32), bytes(31), bytes(33), b""):
        yield made(root=b64encode(other_root))
    yield made(origin=b"another.example/log")
    yield made(origin=parts.origin + b" ")
    yield from (made(signature=other) for other in _signatures(parts.signature))


def _signatures(line: bytes) -> Iterator[bytes]:
    """Other signature lines in the place of the right one."""
    dash, name, encoded = line.removesuffix(b"\n").split(b" ")
    raw = b64decode(encoded)
    zero = b64encode(raw[:4] + bytes(64))
    for value in (zero, b64encode(raw[:4]), b64encode(raw[:-1]), b64encode(raw + b"\0"), b64encode(bytes(4) + raw[4:])):
        yield b" ".join([dash, name, value]) + b"\n"
        yield line + b" ".join([dash, name, value]) + b"\n"
        yield b" ".join([dash, b"other.example/w", value]) + b"\n" + line
    yield line * 64
    yield line * 65
    yield line.replace(dash, b"-")
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(raw[36:], "little") + order
    yield b" ".join([dash, name, b64encode(raw[:36] + scalar.to_bytes(32, "little"))]) + b"\n"


def random_changes(receipt: bytes, count: int, seed: int) -> Iterator[bytes]:
    """The receipt with a few random bytes replaced, removed or inserted."""
    chance = random.Random(seed)
    for _ in range(count):
        changed = bytearray(receipt)
        for _ in range(chance.choice((1, 1, 2, 5))):
            at = chance.randrange(len(changed))
            removed = chance.choice((0, 1, 1, 3))
            changed[at : at + removed] = chance.randbytes(chance.choice((0, 1, 1, 2)))
        yield bytes(changed)
