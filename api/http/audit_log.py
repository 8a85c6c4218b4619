"""The audit log: one JSON line for each authenticated request, in a file of its own.

A line says who (token and agent) read or wrote what (route, positions), and when. It never has the token itself,
headers, bodies or queries.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from starlette.types import Scope

from api.principal import Principal
from api.service.position_notes import PositionNotes
from api.service.server_log import log
from ledger.errors import InvalidQuery

_encode = msgspec.json.Encoder().encode


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the audit log. `written` and `read` are the first and the last position, null without any."""

    time: datetime
    request_id: str
    token: str | None
    agent: str
    method: str
    route: str
    status: int
    written: tuple[int, int] | None
    read: tuple[int, int] | None


class AuditLog:
    """The file of the audit log, open for appending. Only its owner may read it."""

    def __init__(self, path: Path) -> None:
        """Open the file. Errors: InvalidQuery."""
        self._path = path
        self._failed = False
        try:
            self._descriptor = self._open()
        except OSError as error:
            raise InvalidQuery(
                "audit-log", f"{path} cannot be written: {error.strerror}.", "Name another file."
            ) from None

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(self._path, flags, 0o600)

    def reopen(self) -> None:
        """Open the file of this name again, after logrotate has renamed it."""
        try:
            descriptor = self._open()
        except OSError as error:
            log.error("audit log", path=str(self._path), error=str(error), advice="The open file is still written.")
            return
        os.close(self._descriptor)
        self._descriptor = descriptor

    def write(self, scope: Scope, route: str, status: int, notes: PositionNotes) -> None:
        """Write the line of an authenticated request. A full disk does not stop the server."""
        caller: Principal = scope["caller"]
        entry = AuditEntry(
            time=datetime.now(UTC),
            request_id=scope["request_id"].decode(),
            token=caller.token_id,
            agent=caller.agent,
            method=scope["method"],
            route=route,
            status=status,
            written=notes.written,
            read=notes.read,
        )
        self._write(entry)

    def write_delivery(self, endpoint_id: str, message_id: str, position: int, status: int) -> None:
        """Write the line of an attempt to deliver an event to a webhook. Status 0: there was no answer."""
        entry = AuditEntry(
            time=datetime.now(UTC),
            request_id=message_id,
            token=None,
            agent=f"webhook/{endpoint_id}",
            method="POST",
            route="webhook",
            status=status,
            written=None,
            read=(position, position),
        )
        self._write(entry)

    def _write(self, entry: AuditEntry) -> None:
        line = _encode(entry) + b"\n"
        try:
            complete = os.write(self._descriptor, line) == len(line)
        except OSError:
            complete = False
        if not complete and not self._failed:
            log.error("audit log", path=str(self._path), error="lines are lost", advice="Free some space on its disk.")
        self._failed = not complete

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
