"""Receipts: that one event stands in a log, in a file that stands alone.

Source: C2SP's tlog-proof. Its `extra` holds the event's line, so that nothing else is needed to check one. It is not
signed, and need not be trusted: what it holds is what the proof is checked of.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from events.limits import RECEIPT_BYTES_MAX
from ledger.errors import BadNote
from ledger.transparency.merkle import HASH_BYTES, includes, leaf_hash
from ledger.transparency.signed_note import SignedCheckpoint, Verifier, decode_base64, encode_base64, parse_size

HEADER = "c2sp.org/tlog-proof@v1"
HASHES_MAX = 63


class Receipt(NamedTuple):
    """Where an event stands, the proof, the checkpoint, and the event's line where given; the file counts from 0."""

    position: int
    hashes: tuple[bytes, ...]
    signed: SignedCheckpoint
    line: bytes | None = None

    @classmethod
    def parse(cls, encoded: bytes) -> Self:
        """Read a receipt. Errors: BadNote."""
        if len(encoded) > RECEIPT_BYTES_MAX:
            raise BadNote(f"A receipt is at most {RECEIPT_BYTES_MAX} bytes; this one has {len(encoded)}.")
        head, blank, note = encoded.partition(b"\n\n")
        try:
            lines = head.decode().split("\n")
        except UnicodeDecodeError as error:
            raise BadNote(f"The receipt is not UTF-8: {error}.") from None
        if not blank or lines.pop(0) != HEADER:
            raise BadNote("This is no receipt.", f"One begins with the line {HEADER}.")
        line = None
        if lines and lines[0].startswith("extra "):
            line = decode_base64(lines.pop(0).removeprefix("extra "), "The extra data of the receipt")
        if not lines or not lines[0].startswith("index "):
            raise BadNote("The receipt names no index.")
        index = parse_size(lines.pop(0).removeprefix("index "))
        hashes = tuple(decode_base64(text, "A hash of the receipt") for text in lines)
        if len(hashes) > HASHES_MAX or any(len(found) != HASH_BYTES for found in hashes):
            raise BadNote(f"A receipt has at most {HASHES_MAX} hashes, of {HASH_BYTES} bytes each.")
        return cls(index + 1, hashes, SignedCheckpoint.parse(note), line)

    def encode(self) -> bytes:
        """The bytes that `parse` reads."""
        extra = [] if self.line is None else [f"extra {encode_base64(self.line)}"]
        head = [HEADER, *extra, f"index {self.position - 1}", *map(encode_base64, self.hashes)]
        return "\n".join(head).encode() + b"\n\n" + self.signed.note.encode()

    def includes(self, line: bytes) -> bool:
        """Whether the proof shows that a line stands at the position, in the tree of the checkpoint."""
        checkpoint = self.signed.checkpoint
        return includes(leaf_hash(line), self.position - 1, checkpoint.size, self.hashes, checkpoint.root)

    def faults(self, line: bytes, verifier: Verifier, witnesses: Sequence[Verifier] = ()) -> list[str]:
        """What is wrong with a receipt of a line, by the keys of its log and of witnesses that must have cosigned."""
        checkpoint, note = self.signed
        found: list[str] = []
        if not self.includes(line):
            found.append(f"The event is not the one at position {self.position} of that log.")
        if checkpoint.origin != verifier.name:
            found.append(f"The receipt is of the log {checkpoint.origin}, the key of {verifier.name}.")
        elif not verifier.verifies(note):
            found.append(f"The checkpoint is not signed with the key {verifier}.")
        found += [
            f"The witness {witness.name} has not cosigned the checkpoint."
            for witness in witnesses
            if witness.cosigned_at(note) is None
        ]
        return found
