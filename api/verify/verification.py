"""Run a verification and make its report."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from api.progress import ReportProgress
from api.service.open_log import needing_extra
from api.verify.export import verify_export
from api.verify.server import verify_served
from ledger.errors import BadNote, InvalidQuery
from ledger.place import Place
from ledger.regular_file import open_regular
from ledger.transparency.receipt import HEADER, Receipt
from ledger.transparency.signed_note import COSIGNATURE, Verifier
from ledger.verify import Check, FileFindings, Finding, Findings, verify_file

Kind = Literal["export", "ledger", "server"]


class Given(NamedTuple):
    """What the caller knows of a log: its key, an earlier checkpoint, the receipt that has it, and its witnesses."""

    key: Verifier | None = None
    earlier: bytes | None = None
    receipt: Receipt | None = None
    witnesses: tuple[Verifier, ...] = ()

    def check_receipt(self, findings: Findings) -> None:
        """Check that the receipt proves its event. Its checkpoint is compared with the lines like any earlier one."""
        if self.receipt is None or self.receipt.line is None:
            return
        check = findings.check("receipt", "receipts")
        check.count += 1
        if not self.receipt.includes(self.receipt.line):
            check.fault("its event is not the one that its checkpoint covers.", self.receipt.position)


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
    ledger: Path | Place,
    key: str | None,
    since: Path | None,
    *,
    witnesses: Sequence[str] = (),
    quick: bool,
    progress: ReportProgress = lambda done, total: None,
) -> VerifyReport:
    """Verify a ledger file, or a ledger in PostgreSQL. Errors: LedgerUnusable, LedgerUnavailable, InvalidQuery."""
    given, place = read_options(key, since, witnesses), Place.of(ledger)
    if place.database is None:
        check = partial(verify_file, path=place.path, quick=quick, progress=progress)
        return _verify(str(place), "ledger", check, given)
    with needing_extra():
        from ledger.verify.database import verify_database  # noqa: PLC0415 - the extra postgres

    database = partial(verify_database, place=place, progress=progress)
    return _verify(str(place), "ledger", lambda *args, **known: asyncio.run(database(*args, **known)), given)


def verify_package(
    path: Path,
    key: str | None,
    since: Path | None,
    *,
    witnesses: Sequence[str] = (),
    progress: ReportProgress = lambda done, total: None,
) -> VerifyReport:
    """Verify an export in a folder or a ZIP. Errors: UnusableExport, InvalidQuery."""
    given = read_options(key, since, witnesses)
    check = partial(verify_export, path=path, progress=progress)
    return _verify(str(path), "export", check, given)


def verify_server(
    url: str,
    token: str | None,
    key: str | None,
    since: Path | None,
    *,
    witnesses: Sequence[str] = (),
    progress: ReportProgress = lambda done, total: None,
) -> VerifyReport:
    """Verify the tiles of a server. Errors: LedgerUnavailable, InvalidQuery, and those that the server answers."""
    given = read_options(key, since, witnesses)
    check = partial(verify_served, url=url, token=token, progress=progress)
    return _verify(url, "server", lambda *args, **known: asyncio.run(check(*args, **known)), given)


def _verify(what: str, kind: Kind, check: Callable[..., FileFindings], given: Given) -> VerifyReport:
    """Compare something with all that is given, and return the report."""
    known = partial(check, key=given.key, earlier=given.earlier, witnesses=given.witnesses)
    return run_verification(what, kind, known, given)


def run_verification(what: str, kind: Kind, check: Callable[[Findings], FileFindings], given: Given) -> VerifyReport:
    """Run a verification and return its report."""
    began = time.monotonic()
    findings = Findings()
    given.check_receipt(findings)
    verified = check(findings)
    return VerifyReport(
        what=what,
        kind=kind,
        right=findings.right,
        events=verified.events,
        root=verified.root,
        key=str(verified.key) if verified.key else None,
        key_given=given.key is not None,
        first=findings.first,
        checks=findings.checks,
        notes=findings.notes,
        elapsed_ms=int(1000 * (time.monotonic() - began)),
    )


def read_options(key: str | None, since: Path | None, witnesses: Sequence[str]) -> Given:
    """Read --key, --since and --witness. Errors: InvalidQuery."""
    note, receipt = _read_earlier(since) if since is not None else (None, None)
    return Given(
        _parse_verifier("key", key) if key is not None else None, note, receipt, tuple(map(_parse_witness, witnesses))
    )


def _parse_verifier(option: str, text: str) -> Verifier:
    try:
        return Verifier.parse(text.strip())
    except BadNote as error:
        raise InvalidQuery(option, error.detail, error.advice) from error


def _parse_witness(text: str) -> Verifier:
    """Parse a witness's key, or the file that has it. Errors: InvalidQuery."""
    with suppress(OSError, ValueError):
        if (file := Path(text)).is_file():
            text = file.read_text(encoding="utf-8")
    witness = _parse_verifier("witness", text)
    if witness.kind != COSIGNATURE:
        detail = f"the key of {witness.name} is not a witness key."
        raise InvalidQuery("witness", detail, "A witness key is of the kind 0x04: ask the operator of the witness.")
    return witness


def _read_earlier(file: Path) -> tuple[bytes, Receipt | None]:
    """Read the file of --since: a checkpoint, or a receipt, which has one. Errors: InvalidQuery."""
    try:
        with open_regular(file) as opened:
            data = opened.read()
    except OSError as error:
        advice = "Name a file with a checkpoint or a receipt."
        raise InvalidQuery("since", f"{file} cannot be read: {error.strerror}.", advice) from error
    if not data.startswith(HEADER.encode()):
        return data, None
    try:
        receipt = Receipt.parse(data)
    except BadNote as error:
        raise InvalidQuery("since", f"{file} is a damaged receipt: {error.detail}", "Copy all of it again.") from error
    return receipt.signed.note.encode(), receipt
