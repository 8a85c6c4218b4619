"""Signed notes (text, a blank line, signature lines), checkpoints (the notes that logs sign), and their keys.

Source: C2SP's signed-note, tlog-checkpoint and tlog-cosignature. Parsing is strict: only a line feed is a line break,
base64 and sizes have one spelling, and a checkpoint has exactly three lines.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import sha256
from typing import NamedTuple, Self

from events.limits import KEY_NAME_CHARS_MAX, NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX
from ledger.errors import BadNote
from ledger.transparency.merkle import HASH_BYTES

ED25519 = 0x01
"""The kind of a log's key, which signs the text."""

COSIGNATURE = 0x04
"""The kind of a witness's key, which signs the text and the time."""

KINDS = {ED25519: "Ed25519", COSIGNATURE: "cosignature/v1"}
"""The kinds of keys that this module verifies."""

KEY_BYTES = 32
"""An Ed25519 key, public or private."""

PRIVATE_PREFIX = "PRIVATE+KEY+"

KEY_ID_BYTES = 4
TIME_BYTES = 8

SIZE_MAX = 2**63 - 1
"""Largest size of a tree, and latest second of a cosignature."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_SIGNATURE_LINE = re.compile(r"— ([^ ]+) ([^ ]+)")


class Signature(NamedTuple):
    """A signature line: the name and id of the key that it claims, and the signature."""

    name: str
    key_id: bytes
    signature: bytes

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a line, without its line feed. Errors: BadNote."""
        match = _SIGNATURE_LINE.fullmatch(line)
        if match is None:
            raise BadNote(f"{line[:80]!r} is not a signature line.", "It must be an em dash, a name and base64.")
        name = check_name(match[1])
        decoded = decode_base64(match[2], "A signature")
        if len(decoded) <= KEY_ID_BYTES:
            raise BadNote(f"The signature of {name} is empty.")
        return cls(name, decoded[:KEY_ID_BYTES], decoded[KEY_ID_BYTES:])

    def __str__(self) -> str:
        return f"— {self.name} {encode_base64(self.key_id + self.signature)}"


class SignedNote(NamedTuple):
    """A text that ends with a line feed, and its signatures. Parsing does not verify them."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, encoded: bytes) -> Self:
        """Read a note. Errors: BadNote."""
        if len(encoded) > NOTE_BYTES_MAX:
            raise BadNote(f"A note is at most {NOTE_BYTES_MAX} bytes; this one has {len(encoded)}.")
        try:
            decoded = encoded.decode()
        except UnicodeDecodeError as error:
            raise BadNote(f"The note is not UTF-8: {error}.") from None
        if any(character < " " and character != "\n" for character in decoded):
            raise BadNote("The note contains a control character.")
        text, blank, lines = decoded.rpartition("\n\n")
        if not blank or not text or not lines.endswith("\n"):
            raise BadNote("This is not a signed note.", "A signed note is text, a blank line, and signature lines.")
        signatures = tuple(map(Signature.parse, lines[:-1].split("\n")))
        if len(signatures) > NOTE_SIGNATURES_MAX:
            raise BadNote(f"A note has at most {NOTE_SIGNATURES_MAX} signatures; this one has {len(signatures)}.")
        return cls(text + "\n", signatures)

    def encode(self) -> bytes:
        """Return the bytes that `parse` reads."""
        return "".join((self.text, "\n", *(f"{signature}\n" for signature in self.signatures))).encode()


class Verifier(NamedTuple):
    """A public key with its name, written as `NAME+ID+KEY`."""

    name: str
    key_id: bytes
    kind: int
    public: bytes

    @classmethod
    def of(cls, name: str, kind: int, public: bytes) -> Self:
        """Return the verifier of a name and a public key. Errors: BadNote, for an invalid name."""
        return cls(name, key_id_of(check_name(name), kind, public), kind, public)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a verifier key. Errors: BadNote."""
        name, key_id, data = _key_parts(text, "NAME+ID+KEY")
        kind, public = data[0], data[1:]
        if kind not in KINDS:
            kinds = ", ".join(KINDS.values())
            raise BadNote(f"The key of {name} is of an unknown kind (0x{kind:02x}).", f"Known kinds: {kinds}.")
        verifier = cls.of(name, kind, public)
        if len(public) != KEY_BYTES or verifier.key_id != key_id:
            raise BadNote(f"The key of {name} is damaged: its id does not match its bytes.", "Copy all of it again.")
        return verifier

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes([self.kind]) + self.public)}"

    def verifies(self, note: SignedNote) -> bool:
        """Return whether this key signed the note; False if any signature with its name and id is wrong."""
        signatures = self.signatures(note)
        return bool(signatures) and all(self._signed(note.text, signature) for signature in signatures)

    def signatures(self, note: SignedNote) -> list[bytes]:
        """Return the signatures in a note with this key's name and id, right or wrong."""
        return [line.signature for line in note.signatures if line[:2] == (self.name, self.key_id)]

    def cosigned_at(self, note: SignedNote) -> int | None:
        """Return the latest time of this witness's cosignature, seconds since 1970; None if it did not sign."""
        if self.kind != COSIGNATURE or not self.verifies(note):
            return None
        return max(int.from_bytes(signature[:TIME_BYTES]) for signature in self.signatures(note))

    def _signed(self, text: str, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - most commands verify and sign nothing
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - as above

        message = text.encode()
        if self.kind == COSIGNATURE:
            moment, signature = int.from_bytes(signature[:TIME_BYTES]), signature[TIME_BYTES:]
            if moment > SIZE_MAX:
                return False
            message = f"cosignature/v1\ntime {moment}\n".encode() + message
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class Signer:
    """A private key with its name; it signs a log's checkpoints."""

    def __init__(self, name: str, seed: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above

        self._seed = seed
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.verifier = Verifier.of(name, ED25519, self._private.public_key().public_bytes_raw())

    @classmethod
    def make(cls, name: str) -> Self:
        """Make a new key. Errors: BadNote, for a name that is invalid or not printable."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above

        if len(name) > KEY_NAME_CHARS_MAX or not name.isprintable():
            raise BadNote(f"{name[:80]!r} cannot name a log.", f"Use 1..{KEY_NAME_CHARS_MAX} printable characters.")
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a private key, `PRIVATE+KEY+NAME+ID+KEY`. Errors: BadNote, which quotes no part of it."""
        if not text.startswith(PRIVATE_PREFIX):
            raise BadNote(f"This is not a private key: it does not begin with {PRIVATE_PREFIX}.")
        name, key_id, data = _key_parts(text.removeprefix(PRIVATE_PREFIX), f"{PRIVATE_PREFIX}NAME+ID+KEY")
        if data[0] != ED25519 or len(data) != 1 + KEY_BYTES:
            raise BadNote(f"The private key of {name} is not an Ed25519 key.")
        signer = cls(name, data[1:])
        if signer.verifier.key_id != key_id:
            raise BadNote(f"The private key of {name} is damaged: its id does not match its bytes.")
        return signer

    def secret(self) -> str:
        """Return the text that `parse` reads. Anyone who has it can sign in this log's name."""
        verifier = self.verifier
        key = encode_base64(bytes([ED25519]) + self._seed)
        return f"{PRIVATE_PREFIX}{verifier.name}+{verifier.key_id.hex()}+{key}"

    def sign(self, text: str) -> SignedNote:
        """Sign a text that ends with a line feed; return the note with this one signature."""
        assert text.endswith("\n"), text
        signature = self._private.sign(text.encode())
        return SignedNote(text, (Signature(self.verifier.name, self.verifier.key_id, signature),))


class Checkpoint(NamedTuple):
    """A log's statement about its tree: the origin (name of the log), the number of leaves, and the root."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a note. Errors: BadNote."""
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise BadNote("This is not a checkpoint.", "A checkpoint has exactly the lines origin, size and root.")
        origin, size, root = lines[:3]
        decoded = decode_base64(root, "The root")
        if len(decoded) != HASH_BYTES:
            raise BadNote(f"The root has {len(decoded)} bytes; a root has {HASH_BYTES}.")
        return cls(check_name(origin), parse_size(size), decoded)

    def text(self) -> str:
        """Return the three lines, each with a line feed."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"


class SignedCheckpoint(NamedTuple):
    """A checkpoint and its note. Parsing does not verify signatures."""

    checkpoint: Checkpoint
    note: SignedNote

    @classmethod
    def parse(cls, encoded: bytes) -> Self:
        """Read the bytes of a note. Errors: BadNote."""
        note = SignedNote.parse(encoded)
        return cls(Checkpoint.parse(note.text), note)

    @property
    def size(self) -> int:
        return self.checkpoint.size


def key_id_of(name: str, kind: int, public: bytes) -> bytes:
    """Return the id that distinguishes keys with the same name."""
    return sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:KEY_ID_BYTES]


def check_name(name: str) -> str:
    """Check and return the name of a key or a log. Errors: BadNote."""
    if not name or "+" in name or any(character.isspace() for character in name):
        raise BadNote(f"{name[:80]!r} cannot name a log or a key.", "A name has no spaces and no +.")
    return name


def parse_size(text: str) -> int:
    """Parse a number of leaves in its only spelling. Errors: BadNote."""
    if _NUMBER.fullmatch(text) is None or int(text) > SIZE_MAX:
        raise BadNote(f"{text[:80]!r} is not a number of events.", "Write decimal digits without a leading zero.")
    return int(text)


def encode_base64(data: bytes) -> str:
    """Return the standard base64 of some bytes."""
    return b64encode(data).decode()


def decode_base64(text: str, name: str) -> bytes:
    """Decode standard base64 in its only spelling. Errors: BadNote, which has the name and no part of the text."""
    try:
        data = b64decode(text, validate=True)
    except (NotBase64, ValueError):
        data = None
    if data is None or encode_base64(data) != text:
        raise BadNote(f"{name} is not standard base64.", "Copy all of it again.")
    return data


def _key_parts(text: str, shape: str) -> tuple[str, bytes, bytes]:
    """Return the name, id and bytes of a key. Errors: BadNote, which quotes no bytes."""
    # at most twice: base64 has plus signs of its own
    parts = text.split("+", 2)
    if len(parts) != 3 or re.fullmatch(r"[0-9a-f]{8}", parts[1], re.ASCII) is None or not parts[2]:
        raise BadNote("This is not a key.", f"A key is {shape}.")
    return check_name(parts[0]), bytes.fromhex(parts[1]), decode_base64(parts[2], "The key")
