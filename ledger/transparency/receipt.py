"""Receipts: self-contained files which prove that a log has an event.

Source: C2SP's tlog-proof. Its `extra` has the event's line, so that a check needs no other file. `extra` is not signed
and need not be trusted: the proof is checked against its content.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from events.limits import RECEIPT_BYTES_MAX
from ledger.errors import BadNote
from ledger.transparency.merkle import HASH_BYTES, leaf_hash, verify_inclusion
from ledger.transparency.signed_note import SignedCheckpoint, Verifier, decode_base64, encode_base64, parse_size

HEADER = "c2sp.org/tlog-proof@v1"
HASHES_MAX = 63


class Receipt(NamedTuple):
    """An event's position, its inclusion proof, the checkpoint, and the event's line if given.

    `position` is 1-based; `index` in the file is 0-based.
    """

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
            raise BadNote("This is not a receipt.", f"A receipt begins with the line {HEADER}.")
        line = None
        if lines and lines[0].startswith("extra "):
            line = decode_base64(lines.pop(0).removeprefix("extra "), "The extra data of the receipt")
        if not lines or not lines[0].startswith("index "):
            raise BadNote("The receipt has no index.")
        index = parse_size(lines.pop(0).removeprefix("index "))
        hashes = tuple(decode_base64(text, "A hash of the receipt") for text in lines)
        if len(hashes) > HASHES_MAX or any(len(decoded) != HASH_BYTES for decoded in hashes):
            raise BadNote(f"A receipt has at most {HASHES_MAX} hashes, of {HASH_BYTES} bytes each.")
        return cls(index + 1, hashes, SignedCheckpoint.parse(note), line)

    def encode(self) -> bytes:
        """Return the bytes that `parse` reads."""
        extra = [] if self.line is None else [f"extra {encode_base64(self.line)}"]
        head = [HEADER, *extra, f"index {self.position - 1}", *map(encode_base64, self.hashes)]
        return "\n".join(head).encode() + b"\n\n" + self.signed.note.encode()

    def includes(self, line: bytes) -> bool:
        """Return whether the proof shows that the checkpoint's tree has a line at the position."""
        checkpoint = self.signed.checkpoint
        return verify_inclusion(leaf_hash(line), self.position - 1, checkpoint.size, self.hashes, checkpoint.root)

    def faults(self, line: bytes, verifier: Verifier, witnesses: Sequence[Verifier] = ()) -> list[str]:
        """Check the receipt of a line with the key of the log and of required witnesses; return each fault as text."""
        checkpoint, note = self.signed
        faults: list[str] = []
        if not self.includes(line):
            faults.append(f"The event is not the one at position {self.position} of that log.")
        if checkpoint.origin != verifier.name:
            faults.append(f"The receipt is of the log {checkpoint.origin}, the key is of {verifier.name}.")
        elif not verifier.verifies(note):
            faults.append(f"The checkpoint is not signed with the key {verifier}.")
        faults += [
            f"The witness {witness.name} has not cosigned the checkpoint."
            for witness in witnesses
            if witness.cosigned_at(note) is None
        ]
        return faults
