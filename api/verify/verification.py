"""Run a verification and make its report."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from api.progress import ReportProgress
from api.verify.export import verify_export
from api.verify.server import verify_served
from ledger import Verifier
from ledger.errors import BadNote, InvalidQuery
from ledger.verify import Check, FileFindings, Finding, Findings, verify_file

Kind = Literal["export", "ledger", "server"]


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verification: its subject (`what`), whether it is right, and the first fault if it is not."""

    what: str
    kind: Kind
    right: bool
    events: int
    root: bytes
    """The root, computed from the lines."""
    key: str | None
    """The key that verified the checkpoints; None if there was none."""
    key_given: bool
    """Whether the caller gave the key with --key: only then does a signature prove the signer."""
    first: Finding | None
    """The fault at the lowest position."""
    checks: list[Check]
    notes: list[str]
    elapsed_ms: int


def verify_ledger(
    path: Path, key: str | None, since: Path | None, *, quick: bool, progress: ReportProgress = lambda done, total: None
) -> VerifyReport:
    """Verify a ledger file. Errors: LedgerUnusable, InvalidQuery."""
    trusted, earlier = parse_key(key), read_note(since)
    check = partial(verify_file, path=path, key=trusted, earlier=earlier, quick=quick, progress=progress)
    return run_verification(str(path), "ledger", trusted, check)


def verify_package(
    path: Path, key: str | None, since: Path | None, *, progress: ReportProgress = lambda done, total: None
) -> VerifyReport:
    """Verify an export in a folder or a ZIP. Errors: UnusableExport, InvalidQuery."""
    trusted, earlier = parse_key(key), read_note(since)
    check = partial(verify_export, path=path, key=trusted, earlier=earlier, progress=progress)
    return run_verification(str(path), "export", trusted, check)


def verify_server(
    url: str,
    token: str | None,
    key: str | None,
    since: Path | None,
    *,
    progress: ReportProgress = lambda done, total: None,
) -> VerifyReport:
    """Verify the tiles of a server. Errors: LedgerUnavailable, InvalidQuery, and those that the server answers."""
    trusted, earlier = parse_key(key), read_note(since)
    check = partial(verify_served, url=url, token=token, key=trusted, earlier=earlier, progress=progress)
    return run_verification(url, "server", trusted, lambda findings: asyncio.run(check(findings)))


def run_verification(
    what: str, kind: Kind, key: Verifier | None, check: Callable[[Findings], FileFindings]
) -> VerifyReport:
    """Run a verification and return its report."""
    began = time.monotonic()
    findings = Findings()
    verified = check(findings)
    return VerifyReport(
        what=what,
        kind=kind,
        right=findings.right,
        events=verified.events,
        root=verified.root,
        key=str(verified.key) if verified.key else None,
        key_given=key is not None,
        first=findings.first,
        checks=findings.checks,
        notes=findings.notes,
        elapsed_ms=int(1000 * (time.monotonic() - began)),
    )


def parse_key(text: str | None) -> Verifier | None:
    """Parse the key of --key. Errors: InvalidQuery."""
    try:
        return Verifier.parse(text.strip()) if text is not None else None
    except BadNote as error:
        raise InvalidQuery("key", error.detail, error.advice) from error


def read_note(file: Path | None) -> bytes | None:
    """Read the file of --since, an earlier checkpoint. Errors: InvalidQuery."""
    try:
        return file.read_bytes() if file is not None else None
    except OSError as error:
        raise InvalidQuery("since", f"{file} cannot be read: {error.strerror}.", "Name a checkpoint's file.") from error
