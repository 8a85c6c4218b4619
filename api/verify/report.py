"""What `verify` answers, whatever it verified."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from api.verify.export import verify_export
from api.verify.server import verify_served
from ledger import Verifier
from ledger.errors import BadNote, InvalidQuery
from ledger.verify import Check, FileFindings, Finding, Findings, verify_file
from ledger.verify.ledger_file import Progress

Kind = Literal["export", "ledger", "server"]


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A verification: what of, whether all of it is right, and if not, what is wrong first."""

    what: str
    kind: Kind
    right: bool
    events: int
    root: bytes
    """The root of the lines, worked out from them."""
    key: str | None
    """The verifier key that the checkpoints were verified by; None where there was none."""
    key_given: bool
    """Whether it was given with --key: only then a signature proves who signed."""
    first: Finding | None
    """What is wrong at the lowest position."""
    checks: list[Check]
    notes: list[str]
    elapsed_ms: int


def verify_ledger(
    path: Path, key: str | None, since: Path | None, *, quick: bool, progress: Progress = lambda done, total: None
) -> VerifyReport:
    """Verify a ledger file. Errors: LedgerUnusable, InvalidQuery."""
    trusted, earlier = key_of(key), note_of(since)
    return made(
        str(path),
        "ledger",
        trusted,
        lambda account: verify_file(account, path, key=trusted, earlier=earlier, quick=quick, progress=progress),
    )


def verify_package(
    path: Path, key: str | None, since: Path | None, *, progress: Progress = lambda done, total: None
) -> VerifyReport:
    """Verify an export in a folder or a ZIP. Errors: UnusableExport, InvalidQuery."""
    trusted, earlier = key_of(key), note_of(since)
    return made(
        str(path),
        "export",
        trusted,
        lambda account: verify_export(account, path, key=trusted, earlier=earlier, progress=progress),
    )


def verify_server(
    url: str,
    token: str | None,
    key: str | None,
    since: Path | None,
    *,
    progress: Progress = lambda done, total: None,
) -> VerifyReport:
    """Verify what a server serves. Errors: LedgerUnavailable, InvalidQuery, and those that it answers."""
    trusted, earlier = key_of(key), note_of(since)
    return made(
        url,
        "server",
        trusted,
        lambda account: asyncio.run(
            verify_served(account, url, token, key=trusted, earlier=earlier, progress=progress)
        ),
    )


def made(what: str, kind: Kind, key: Verifier | None, work: Callable[[Findings], FileFindings]) -> VerifyReport:
    """The report on a verification that a function does."""
    began = time.monotonic()
    account = Findings()
    found = work(account)
    return VerifyReport(
        what=what,
        kind=kind,
        right=account.right,
        events=found.events,
        root=found.root,
        key=str(found.key) if found.key else None,
        key_given=key is not None,
        first=account.first,
        checks=account.checks,
        notes=account.notes,
        elapsed_ms=int(1000 * (time.monotonic() - began)),
    )


def key_of(text: str | None) -> Verifier | None:
    """The key that was given. Errors: InvalidQuery."""
    try:
        return Verifier.parse(text.strip()) if text is not None else None
    except BadNote as error:
        raise InvalidQuery("key", error.detail, error.advice) from error


def note_of(file: Path | None) -> bytes | None:
    """The earlier checkpoint that was given. Errors: InvalidQuery."""
    try:
        return file.read_bytes() if file is not None else None
    except OSError as error:
        raise InvalidQuery("since", f"{file} cannot be read: {error.strerror}.", "Name a checkpoint's file.") from error
