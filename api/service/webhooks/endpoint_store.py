"""The endpoints of a ledger's webhooks, in a sealed file beside it, with their addresses and secrets.

Only the operator changes the file, with `tallystick webhook`. A file without a right seal is refused: otherwise anyone
who may write in the folder could have events sent to an address of his own.
"""

import fcntl
import os
import re
import secrets
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from api.service.webhooks.event_kinds import KINDS, Kind
from api.service.webhooks.receiver_address import refuse_literal_address
from events.decode_error_messages import DECODE_ERRORS
from events.limits import WEBHOOKS_MAX
from ledger.errors import InvalidQuery, LedgerUnusable, NotFound
from ledger.file_seal import find_alteration, replace_sealed, seal_advice, seal_path
from ledger.private_file import FILE_MODE, follow_typed_link, open_private, read_private

FILE_BYTES_MAX = 1 << 20
SECRET_BYTES = 32
URL_CHARS_MAX = 2_048
PORT_MAX = 65_535

_host = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
"""A name in ASCII, or an IPv6 address without its brackets."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long an endpoint is waited for, in seconds.

    `timeout_s` bounds an attempt; `first_wait_s` and `longest_wait_s` the waits between attempts, which double; after
    `give_up_s` an event that still fails is given up.
    """

    timeout_s: float = 10.0
    first_wait_s: float = 5.0
    longest_wait_s: float = 43_200.0
    give_up_s: float = 432_000.0


DEFAULT_PACE = Pace()


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receiver: its address, the secret with which messages to it are signed, and what it gets, after a position."""

    id: str
    url: str
    secret: str
    kinds: tuple[Kind, ...]
    after: int
    created: datetime
    allow_private: bool = False
    pace: Pace = DEFAULT_PACE


class EndpointStore:
    """The file of the endpoints of one ledger."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = follow_typed_link(ledger)
        self.path = self._ledger.with_name(f"{self._ledger.name}.webhooks")
        self._lock_path = self._ledger.with_name(f"{self._ledger.name}.webhooks.lock")

    def version(self) -> tuple[int, int] | None:
        """Return what differs after each change of the file; None if it does not exist."""
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_ino

    def list(self) -> Sequence[Endpoint]:
        """Return every endpoint, oldest first. Errors: LedgerUnusable, for a file that cannot be used."""
        try:
            data = read_private(self.path, FILE_BYTES_MAX)
            if not seal_path(self.path).exists():
                detail = f"{self.path} has no seal: another program wrote it."
                raise LedgerUnusable(detail, "Remove it, and add each webhook: tallystick webhook add URL.")
            if (alteration := find_alteration(self._ledger, self.path, data)) is not None:
                raise LedgerUnusable(alteration, f"Restore both. {seal_advice(self.path)}".partition(" If ")[0])
            return msgspec.json.decode(data, type=list[Endpoint])
        except FileNotFoundError:
            return []
        except (OSError, *DECODE_ERRORS) as error:
            raise LedgerUnusable(f"{self.path} cannot be read: {error}.", "Add the webhooks again.") from error

    def find(self, endpoint_id: str) -> Endpoint:
        """Return an endpoint. Errors: NotFound; LedgerUnusable."""
        for endpoint in self.list():
            if endpoint.id == endpoint_id:
                return endpoint
        raise NotFound(f"Webhook {endpoint_id} does not exist.", "See tallystick webhook list.")

    def add(
        self, url: str, kinds: Sequence[Kind], after: int, now: datetime, *, allow_private: bool, pace: Pace
    ) -> Endpoint:
        """Make an endpoint with a new secret. Errors: InvalidQuery; LedgerUnusable."""
        check_url(url, allow_private=allow_private)
        endpoint = Endpoint(
            id=secrets.token_hex(4),
            url=url,
            secret=f"whsec_{b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}",
            kinds=tuple(kind for kind in KINDS if kind in kinds) or KINDS,
            after=after,
            created=now,
            allow_private=allow_private,
            pace=pace,
        )
        with self._locked():
            endpoints = self.list()
            if len(endpoints) >= WEBHOOKS_MAX:
                detail = f"the ledger has {len(endpoints)} webhooks; at most {WEBHOOKS_MAX} are allowed."
                raise InvalidQuery("url", detail, "Remove one: tallystick webhook remove ID.")
            self._write([*endpoints, endpoint])
        return endpoint

    def remove(self, endpoint_id: str) -> Endpoint:
        """Remove an endpoint, and return it. Errors: NotFound; LedgerUnusable."""
        with self._locked():
            removed = self.find(endpoint_id)
            self._write([endpoint for endpoint in self.list() if endpoint.id != endpoint_id])
        return removed

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with os.fdopen(open_private(self._lock_path, os.O_RDWR | os.O_CREAT), "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, endpoints: Sequence[Endpoint]) -> None:
        data = msgspec.json.format(msgspec.json.encode(endpoints))
        replace_sealed(self._ledger, self.path, data, mode=FILE_MODE)


def check_url(url: str, *, allow_private: bool) -> None:
    """Check the address of a receiver. Errors: InvalidQuery."""
    import httpx  # noqa: PLC0415 - only an address that is set is checked

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidQuery("url", f"{url!r} is not an address: {error}.", "Write https://example.com/hook.") from None
    host, port = parsed.raw_host.decode(), parsed.port
    port = 1 if port is None else port
    fits = url.isascii() and len(url) <= URL_CHARS_MAX and _host.fullmatch(host) and 0 < port <= PORT_MAX
    if parsed.scheme not in {"http", "https"} or not fits:
        raise InvalidQuery("url", f"{url!r} is not the address of a receiver.", "Write https://example.com/hook.")
    if parsed.userinfo:
        raise InvalidQuery("url", "it has a user or a password.", "Leave them out: each message is signed.")
    if parsed.fragment:
        raise InvalidQuery("url", "it has a fragment, which is never sent.", "Leave out the part after #.")
    refuse_literal_address(host, allow_private=allow_private)
    if parsed.scheme == "http" and not allow_private:
        advice = "Write https://, or add --allow-private for a receiver in your own network."
        raise InvalidQuery("url", "http sends events in clear text.", advice)
