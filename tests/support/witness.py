"""A C2SP witness on a real socket: it checks what it is asked to cosign, as tlog-witness says, and signs.

It uses only `cryptography` and RFC 6962, and none of the code under test.
"""

import struct
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tests.support.http_stub import bind, listening

Answer = tuple[int, bytes]


class Witness:
    """One witness of one log: what it has cosigned, what it was asked, and how it may be made to fail."""

    def __init__(self, name: str, log_key: str) -> None:
        self.name = name
        self.origin, _, held = log_key.split("+", 2)
        self.log_key = Ed25519PublicKey.from_public_bytes(b64decode(held)[1:])
        self.private = Ed25519PrivateKey.generate()
        self.size = 0
        self.root = b""
        self.asked: list[bytes] = []
        self.late_s = 0
        self.answer: Answer | None = None
        """The answer to every request, if a test sets one."""
        self.closing = threading.Event()
        self.server = bind(_handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/witness"

    @property
    def key(self) -> str:
        """Its verifier key."""
        public = self.private.public_key().public_bytes_raw()
        return f"{self.name}+{self.key_id.hex()}+{b64encode(bytes([4]) + public).decode()}"

    @property
    def key_id(self) -> bytes:
        public = self.private.public_key().public_bytes_raw()
        return sha256(self.name.encode() + b"\n" + bytes([4]) + public).digest()[:4]

    def add_checkpoint(self, body: bytes) -> Answer:
        """The answer to a request."""
        self.asked.append(body)
        if self.answer is not None:
            return self.answer
        head, note = body.split(b"\n\n", 1)
        first, *hashes = head.decode().split("\n")
        old, proof = int(first.removeprefix("old ")), [b64decode(line, validate=True) for line in hashes]
        text, signatures = note.split(b"\n\n")
        origin, size_text, root_text = text.decode().split("\n")
        size, root = int(size_text), b64decode(root_text, validate=True)
        if origin != self.origin:
            return 404, b""
        if not self._signed(text + b"\n", signatures):
            return 403, b""
        if old > size or len(proof) > 63:
            return 400, b""
        if old != self.size or (old == size and self.size and root != self.root):
            return 409, f"{self.size}\n".encode()
        if not _consistent(old, size, self.root, root, proof):
            return 422, b""
        self.size, self.root = size, root
        return 200, self._cosigned(text + b"\n")

    def _signed(self, text: bytes, signatures: bytes) -> bool:
        for line in signatures.decode().splitlines():
            _, name, held = line.split(" ")
            if name == self.origin:
                try:
                    self.log_key.verify(b64decode(held)[4:], text)
                except InvalidSignature:
                    continue
                return True
        return False

    def _cosigned(self, text: bytes) -> bytes:
        now = int(time.time()) - self.late_s
        signature = self.private.sign(f"cosignature/v1\ntime {now}\n".encode() + text)
        held = self.key_id + struct.pack(">Q", now) + signature
        return f"— {self.name} {b64encode(held).decode()}\n".encode()


def _consistent(old: int, size: int, old_root: bytes, root: bytes, proof: list[bytes]) -> bool:
    """RFC 6962's own words: the old root and the new one, each worked out from the proof."""
    if old in (0, size):
        return not proof and (old == 0 or old_root == root)
    left = list(proof)

    def both(first: int, end: int, whole: bool) -> tuple[bytes, bytes]:
        """The hash of the old part of a subtree that ends it, and that of all of it."""
        if old - first == end - first:
            found = old_root if whole else left.pop(0)
            return found, found
        middle = first + (1 << (end - first - 1).bit_length() - 1)
        if old <= middle:
            older, newer = both(first, middle, whole)
            return older, _node(newer, left.pop(0))
        older, newer = both(middle, end, whole=False)
        before = left.pop(0)
        return _node(before, older), _node(before, newer)

    try:
        return both(0, size, whole=True) == (old_root, root) and not left
    except IndexError:
        return False


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


@contextmanager
def witnessing(witness: Witness) -> Iterator[Witness]:
    """Serve a witness for as long as a test needs it."""
    with listening(witness.server, witness.closing):
        yield witness


def _handler(witness: Witness) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            path = "/witness/add-checkpoint"
            status, answer = witness.add_checkpoint(body) if self.path == path else (404, b"no such path\n")
            self.send_response(status)
            self.send_header("content-type", "text/x.tlog.size" if status == 409 else "text/plain")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
            """Say nothing."""

    return Handler
