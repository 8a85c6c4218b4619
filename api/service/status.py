"""The status of a ledger: its contents, the process that writes it, and the state of the files beside it."""

import stat
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from api.service.as_of import AsOf
from api.service.ledger import LedgerService
from events.errors import TallystickError
from ledger import Query
from ledger.sqlite.lock import find_writer
from ledger.threads import run_on_thread
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from projections.decisions.decision_index import DecisionIndex, DecisionSelection
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_inventory import build_inventory
from projections.discovery.run_index import RunIndex, RunSelection
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection
from projections.evidence_index import EvidenceIndex
from projections.projection import Projection
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots

VIEW_FILES = ("views.db", "search.db", "vectors.db", "embeddings")
"""Files beside a ledger that can be rebuilt from it."""

SQLITE_FILES = ("", "-wal", "-shm")


class WriterStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The process that writes the ledger; `address` if it is a server."""

    pid: int
    address: str | None


class AgentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How many decisions an agent made, and how many of them are reviewed."""

    agent: str
    decisions: int
    reviewed: int


class CheckpointStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The newest signed checkpoint."""

    size: int
    """Events that it covers."""
    origin: str
    """The name of the log."""
    signed_at: datetime
    """When its file was written, UTC."""
    age_s: int
    valid: bool
    """Whether the log's key signed it and its root is that of the first `size` events."""
    reason: str | None
    """Why it is not valid."""


class DiskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on disk: the log with its write-ahead log, evidence, and files that can be rebuilt."""

    log_bytes: int
    evidence_bytes: int
    views_bytes: int


class TokenStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Access tokens. Without `required`, every local user may do everything."""

    required: bool
    count: int
    expired: int


class ViewStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The position up to which views are folded, in memory or in snapshots, and the number of later events."""

    position: int
    behind: int


class VectorsStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors for searches by meaning."""

    model: str
    vectors: int
    missing: int
    """Texts of decisions that have no vector yet."""
    error: str | None
    """Why the endpoint gives no vectors."""


class LedgerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a ledger."""

    ledger: str
    """The name of its file."""
    writer: WriterStatus | None
    head: AsOf
    """The newest event: its position, which is the number of events, and when it was recorded."""
    types: dict[str, int]
    """Events of each type."""
    decisions: int
    reviewed: int
    retracted: int | UnsetType = UNSET
    """Retracted decisions, which no other count includes; absent if there are none."""
    agents: list[AgentStatus]
    """The agents that made decisions, most decisions first."""
    runs: int
    """Discovery runs."""
    models: int
    """Models that answered."""
    models_registered: int
    evaluations: int
    evidence: int
    """Pieces of evidence, erased ones included."""
    checkpoint: CheckpointStatus | None
    disk: DiskStatus
    tokens: TokenStatus
    views: ViewStatus
    vectors: VectorsStatus | UnsetType = UNSET
    """Vectors of the server's embeddings endpoint; absent without one."""


async def read_status(ledger: LedgerService) -> LedgerStatus:
    """Return the status of a ledger. It folds the events that the views lack. Errors: LedgerUnusable."""
    views = await _view_status(ledger)
    index, position = await ledger.engine.at(DecisionIndex)
    counts = index.count(index.find(DecisionSelection()))
    reviewed = index.count(index.find(DecisionSelection(status="reviewed"))).by_agent
    attempts = _live(ledger, AttemptIndex).attempts()
    runs = len(_live(ledger, RunIndex).find(RunSelection()))
    evaluations = len(_live(ledger, EvaluationIndex).find(EvaluationSelection()))
    evidence = len(_live(ledger, EvidenceIndex))
    models = (await run_on_thread(build_inventory, attempts, None)).models
    agents = sorted(counts.by_agent.items(), key=lambda item: (-item[1], item[0]))
    writer = await run_on_thread(find_writer, ledger.path)
    return LedgerStatus(
        ledger=ledger.path.name,
        writer=WriterStatus(pid=writer.pid, address=writer.address) if writer is not None else None,
        head=await ledger.dated(position),
        types=await ledger.reader.counts(Query(before=position + 1)),
        decisions=counts.total,
        reviewed=counts.by_status.get("reviewed", 0),
        retracted=len(index.find(DecisionSelection(status="retracted"))) or UNSET,
        agents=[AgentStatus(agent=name, decisions=n, reviewed=reviewed.get(name, 0)) for name, n in agents],
        runs=runs,
        models=sum(model.sightings > 0 for model in models),
        models_registered=sum(model.known for model in models),
        evaluations=evaluations,
        evidence=evidence,
        checkpoint=await read_checkpoint_status(ledger),
        disk=await run_on_thread(_disk_status, ledger.path),
        tokens=_token_status(ledger),
        views=views,
        vectors=await _vectors_status(ledger),
    )


async def _vectors_status(ledger: LedgerService) -> VectorsStatus | UnsetType:
    status = await ledger.embeddings.status()
    if status is None:
        return UNSET
    vectors, missing = status.counts
    return VectorsStatus(model=status.model, vectors=vectors, missing=missing, error=status.error)


_Kind = TypeVar("_Kind", bound=Projection)


def _live(ledger: LedgerService, kind: type[_Kind]) -> _Kind:
    """Return the live state of a projection. It does not change before the next `await`."""
    projection = ledger.engine.live[kind.name]
    assert isinstance(projection, kind)
    return projection


async def _view_status(ledger: LedgerService) -> ViewStatus:
    """Return the position of the views, before this request folds them further."""
    head = (await ledger.reader.head()).position
    position = ledger.engine.position
    if position == 0:
        snapshots = await Snapshots.open(
            ledger.path.with_name(f"{ledger.path.name}.views.db"), writable=False, secret=None
        )
        try:
            position = min([await snapshots.position(kind.name, kind.version, head) for kind in PROJECTIONS])
        finally:
            await snapshots.close()
    return ViewStatus(position=position, behind=head - position)


async def read_checkpoint_status(ledger: LedgerService) -> CheckpointStatus | None:
    """Return the newest checkpoint and whether it is valid; None before the first. Errors: BadNote, LedgerUnusable."""
    path = checkpoint_path(ledger.path)
    signed = await run_on_thread(read_checkpoint, path)
    if signed is None:
        return None
    signed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    reason = None
    try:
        if not (await ledger.proving.verifier()).verifies(signed.note):
            reason = "The log's key has not signed it."
        elif signed.size > (head := (await ledger.reader.head()).position):
            reason = f"It covers {signed.size} events, and the log has {head}."
        elif await ledger.proving.tree.root(signed.size) != signed.checkpoint.root:
            reason = "Its root is not that of the events."
    except TallystickError as error:
        reason = error.detail
    return CheckpointStatus(
        size=signed.size,
        origin=signed.checkpoint.origin,
        signed_at=signed_at,
        age_s=max(0, round((ledger.clock() - signed_at).total_seconds())),
        valid=reason is None,
        reason=reason,
    )


def _disk_status(ledger: Path) -> DiskStatus:
    views = [Path(f"{ledger}.{name}{ending}") for name in VIEW_FILES for ending in SQLITE_FILES]
    return DiskStatus(
        log_bytes=_size_bytes(Path(f"{ledger}{ending}") for ending in SQLITE_FILES),
        evidence_bytes=_size_bytes(Path(f"{ledger}.evidence").rglob("*")),
        views_bytes=_size_bytes(views),
    )


def _size_bytes(paths: Iterable[Path]) -> int:
    """Return the total size of the regular files among some paths."""
    total = 0
    for path in paths:
        with suppress(FileNotFoundError):
            status = path.stat()
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def _token_status(ledger: LedgerService) -> TokenStatus:
    tokens, now = ledger.tokens.list(), ledger.clock()
    expired = sum(token.expires is not None and token.expires <= now for token in tokens)
    return TokenStatus(required=ledger.tokens.required(), count=len(tokens), expired=expired)
