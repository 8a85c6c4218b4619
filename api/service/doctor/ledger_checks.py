"""Check the state of a ledger: key, checkpoints, backups, snapshots, evidence, tokens."""

import sqlite3
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from api.service.backup import read_last_backup
from api.service.doctor.diagnosis import Diagnosis, ok, warning, wrong
from api.service.ledger import LedgerService
from api.service.status import CheckpointStatus, read_checkpoint_status
from api.text_format import format_time, pluralize
from api.token_store import TokenStore
from ledger.errors import Damaged
from ledger.evidence_store import EvidenceStore
from ledger.sqlite.backup import stored_evidence
from ledger.sqlite.lock import find_writer
from ledger.sqlite.schema import SCHEMA_VERSION
from ledger.sqlite.schema_check import check_ledger, known_objects, read_schema
from ledger.transparency.checkpoints import read_checkpoint, witnessed_path
from ledger.transparency.keys import key_path, read_key
from ledger.view_key import read_view_key
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots

BACKUP_AGE_MAX = timedelta(days=7)
"""Age of a backup after which newer events deserve another one."""

UNSIGNED_AGE_S_MAX = 3_600
"""Age of the newest checkpoint, in seconds, after which events that it does not cover are a fault of the signer."""

SHOWN_MAX = 3


def check_schema(ledger: Path) -> Iterator[Diagnosis]:
    """Check that the file is a ledger, with the tables and triggers of one. Errors: LedgerUnusable."""
    with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        check_ledger(connection, ledger)
        missing = known_objects() - read_schema(connection, ledger)
    if missing:
        detail = f"{', '.join(sorted(item.name for item in missing))} is missing or differs."
        yield wrong("ledger", detail, "Another program altered the file: tallystick verify says more.")
    else:
        yield ok("ledger", f"{ledger.name} is a ledger, version {SCHEMA_VERSION} of its tables.")


def check_key(ledger: Path) -> Iterator[Diagnosis]:
    """Check that the ledger has its key. Errors: BadNote, LedgerUnusable."""
    signer = read_key(ledger)
    if signer is None:
        advice = "tallystick serve makes one, and signs; or tallystick key make."
        yield warning("key", f"there is no {key_path(ledger).name}: nothing is signed.", advice)
    else:
        yield ok("key", f"of the log {signer.verifier.name}.")


async def check_checkpoint(ledger: LedgerService) -> AsyncIterator[Diagnosis]:
    """Check that the newest checkpoint is that of the key and of the events, and covers them."""
    status, head = await read_checkpoint_status(ledger), (await ledger.reader.head()).position
    sign = "Sign them: tallystick checkpoint. A running server signs every second: see its log."
    if status is None:
        if head:
            yield warning("checkpoint", f"none of {pluralize(head, 'event')} is signed.", sign)
        else:
            yield ok("checkpoint", "there is nothing to sign yet.")
    elif not status.valid:
        yield wrong("checkpoint", status.reason or "it is not valid.", "See all that is wrong: tallystick verify.")
    elif status.size < head and (status.age_s > UNSIGNED_AGE_S_MAX or find_writer(ledger.path) is None):
        newer = pluralize(head - status.size, "newer event")
        yield warning("checkpoint", f"{_describe(status)}; without {newer}.", sign)
    else:
        yield ok("checkpoint", f"{_describe(status)}, signed with the key.")
    cosigned = await to_thread(read_checkpoint, witnessed_path(ledger.path))
    if cosigned is not None:
        yield ok("witness", f"a checkpoint of {pluralize(cosigned.size, 'event')} is cosigned.")


def _describe(status: CheckpointStatus) -> str:
    return f"of {pluralize(status.size, 'event')}, {format_time(status.signed_at)} UTC"


def check_backup(ledger: Path, now: datetime, head: int) -> Iterator[Diagnosis]:
    """Check the last backup, where one is known. Errors: LedgerUnusable."""
    last = read_last_backup(ledger)
    advice = "Make one on another disk: tallystick backup FILE."
    if last is None:
        if head:
            yield warning("backup", "none is known.", advice)
        else:
            yield ok("backup", "there is nothing to copy yet.")
        return
    made = f"of {pluralize(last.events, 'event')}, {format_time(last.time)} UTC, in {last.file}"
    if last.events < head and now - last.time.astimezone(UTC) > BACKUP_AGE_MAX:
        yield warning("backup", f"{made}; without {pluralize(head - last.events, 'newer event')}.", advice)
    else:
        yield ok("backup", f"{made}. Whether it is still there was not checked.")


async def check_snapshots(ledger: LedgerService) -> AsyncIterator[Diagnosis]:
    """Check the newest snapshot of each projection against its seal, the digests of its parts, and the log."""
    head = (await ledger.reader.head()).position
    secret = await to_thread(read_view_key, ledger.path, make=False)
    path = ledger.path.with_name(f"{ledger.path.name}.views.db")
    snapshots = await Snapshots.open(path, writable=False, secret=secret)
    damaged: list[str] = []
    positions: list[int] = []
    try:
        for kind in PROJECTIONS:
            newest = await snapshots.position(kind.name, kind.version, head)
            usable = await snapshots.latest(kind.name, kind.version, head)
            found = usable is not None and usable.root == await ledger.engine.root(usable.position)
            whole = usable is not None and found and not await to_thread(snapshots.count_damaged, usable)
            positions.append(usable.position if usable is not None and whole else 0)
            if newest != positions[-1]:
                damaged.append(kind.name)
    finally:
        await snapshots.close()
    if damaged:
        detail = f"the newest of {', '.join(damaged)} is damaged or of another ledger; the events are folded again."
        advice = f"Remove {ledger.path.name}.views.db while no server runs: it is made again."
        yield warning("snapshots", detail, advice)
    else:
        until = f"undamaged, up to position {min(positions):,} of {head:,}" if min(positions) else "there are none yet"
        yield ok("snapshots", f"{until}.")


def check_evidence(ledger: Path) -> Iterator[Diagnosis]:
    """Check that the bytes of each piece of evidence are there and right. Errors: LedgerUnusable, LedgerUnavailable."""
    recorded, store = stored_evidence(ledger), EvidenceStore(ledger)
    faults: list[str] = []
    for digest, stored in recorded.items():
        try:
            store.read(digest, stored.size_bytes)
        except Damaged as error:
            faults.append(error.detail)
    restore = "Store the same bytes again, or restore the files from a backup."
    if faults:
        more = f" And {len(faults) - 1:,} more." if len(faults) > 1 else ""
        yield wrong("evidence", f"{faults[0]}{more}", restore)
    else:
        yield ok("evidence", f"{pluralize(len(recorded), 'piece')}, all bytes are there and right.")
    pending = store.pending()
    if pending and find_writer(ledger) is None:
        detail = f"{pluralize(len(pending), 'piece')} was being stored or erased when the last writer ended."
        yield warning("evidence", detail, "The next writer finishes it: tallystick serve.")


def check_tokens(ledger: Path, now: datetime) -> Iterator[Diagnosis]:
    """Check the tokens. Errors: LedgerUnusable."""
    store = TokenStore(ledger)
    tokens = store.list()
    expired = [token.id for token in tokens if token.expires is not None and token.expires <= now]
    admins = sum("admin" in token.scopes for token in tokens)
    if not tokens and store.had_tokens():
        state = "has no token" if store.path.exists() else "is missing"
        detail = f"{store.path.name} {state}, and the ledger had tokens: a server refuses every caller."
        yield wrong("tokens", detail, "Restore it, or make a token: tallystick token add AGENT.")
    elif not tokens:
        yield ok("tokens", "none: every local user may do everything, and a server listens on loopback only.")
    elif expired:
        shown = ", ".join(expired[:SHOWN_MAX]) + (", ..." if len(expired) > SHOWN_MAX else "")
        advice = f"Remove them: tallystick token revoke {expired[0]}."
        yield warning("tokens", f"{len(expired):,} of {len(tokens):,} have expired: {shown}.", advice)
    else:
        yield ok("tokens", f"{pluralize(len(tokens), 'token')}, {admins:,} of them with the scope admin.")
