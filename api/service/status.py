"""The status of a ledger: its contents, the process that writes it, and the state of the files beside it."""

import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from api.service.ledger import LedgerService, View
from api.service.operation import operation
from api.service.retrieval import VectorsStatus
from events.errors import TallystickError
from ledger.clock import moment_of
from ledger.errors import NotFound
from ledger.log import Query
from ledger.place import Durability
from ledger.sqlite.lock import find_writer
from ledger.threads import run_on_thread
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.signed_note import SignedCheckpoint
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import STATUSES, Status
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_inventory import count_sighted_models
from projections.discovery.run_index import RunIndex, RunSelection
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection
from projections.event_index import EventIndex
from projections.evidence_index import EvidenceIndex
from projections.shared_params import NoParams
from projections.snapshots import Snapshots
from tallystick.shapes.parts import AsOf

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
    """When its file was written, UTC. For one that another node of a ledger in a database signed: when its last event
    was recorded, at most a few seconds before."""
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


class LedgerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a ledger."""

    ledger: str
    """The name of its file, or of the ledger in a database."""
    durability: Durability | UnsetType = UNSET
    """What the server was promised about a confirmed commit in a database; absent for a file, and without a server."""
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


@operation("/status", "health", heavy=True, of_now=True)
async def get_status(view: View, params: NoParams) -> LedgerStatus:
    """Return the contents and the state of the ledger, and the process that writes it.

    The answer has counts, the newest checkpoint and whether it is valid, bytes on disk, tokens, and the position up to
    which views are folded.
    """
    ledger = view.ledger
    views = await _view_status(ledger)
    also = (AttemptIndex, RunIndex, EvaluationIndex, EvidenceIndex)
    index, position = await ledger.at(DecisionIndex, also=also)
    totals = count_by_agent(index)
    attempts = (await ledger.beside(AttemptIndex)).attempts()
    runs = len((await ledger.beside(RunIndex)).find(RunSelection()))
    evaluations = len((await ledger.beside(EvaluationIndex)).find(EvaluationSelection()))
    evidence = len(await ledger.beside(EvidenceIndex))
    types = await count_types(ledger, position)
    models = await run_on_thread(count_sighted_models, attempts)
    writer = await run_on_thread(find_writer, ledger.path)
    return LedgerStatus(
        ledger=ledger.path.name,
        durability=UNSET if ledger.place.database is None or ledger.log is None else ledger.place.durability,
        writer=WriterStatus(pid=writer.pid, address=writer.address) if writer is not None else None,
        head=await ledger.dated(position),
        types=types,
        decisions=totals.decisions,
        reviewed=totals.reviewed,
        retracted=totals.retracted or UNSET,
        agents=totals.agents,
        runs=runs,
        models=models,
        models_registered=len(attempts.names.models),
        evaluations=evaluations,
        evidence=evidence,
        checkpoint=await read_checkpoint_status(ledger),
        disk=await run_on_thread(_disk_status, ledger.path),
        tokens=_token_status(ledger),
        views=views,
        vectors=await ledger.indexes.vectors_status() or UNSET,
    )


async def count_types(ledger: LedgerService, position: int) -> dict[str, int]:
    """Count the events of each type up to a position: those that the projection has, and the later ones."""
    index, counted = await ledger.engine.newest(EventIndex, position)
    types = Counter(index.types())
    if counted < position:
        types.update(await ledger.reader.counts(Query(after=counted, before=position + 1)))
    return dict(sorted(types.items()))


class DecisionTotals(NamedTuple):
    """How many decisions there are, how many of them are reviewed, and of each agent; `retracted` ones not included."""

    decisions: int
    reviewed: int
    retracted: int
    agents: list[AgentStatus]


def count_by_agent(index: DecisionIndex) -> DecisionTotals:
    """Count all decisions."""
    by_agent = index.count_by_agent()
    by_status = {status: sum(counts[status] for counts in by_agent.values()) for status in STATUSES}
    pending, reviewed, retracted = by_status["pending"], by_status["reviewed"], by_status["retracted"]
    return DecisionTotals(pending + reviewed, reviewed, retracted, _agents(by_agent))


def _agents(by_agent: Mapping[str, Mapping[Status, int]]) -> list[AgentStatus]:
    """Return the agents that made decisions which are not retracted, most decisions first."""
    agents = [
        AgentStatus(agent=name, decisions=counts["pending"] + counts["reviewed"], reviewed=counts["reviewed"])
        for name, counts in by_agent.items()
    ]
    return sorted((one for one in agents if one.decisions), key=lambda one: (-one.decisions, one.agent))


async def _view_status(ledger: LedgerService) -> ViewStatus:
    """Return the position of the views, before this request folds them further."""
    head = (await ledger.reader.head()).position
    position = ledger.engine.position
    if position == 0:
        position = await saved_position(ledger, head)
    return ViewStatus(position=position, behind=head - position)


async def saved_position(ledger: LedgerService, upto: int) -> int:
    """Return the position of the oldest of the views' newest snapshots at or before a position."""
    from projections.registry import PROJECTIONS  # noqa: PLC0415 - all views; a server has folded them

    snapshots = await Snapshots.open(ledger.path.with_name(f"{ledger.path.name}.views.db"), writable=False, secret=None)
    try:
        return min([await snapshots.position(kind.name, kind.version, upto) for kind in PROJECTIONS])
    finally:
        await snapshots.close()


async def read_checkpoint_status(ledger: LedgerService) -> CheckpointStatus | None:
    """Return the newest checkpoint and whether it is valid; None before the first. Errors: BadNote, LedgerUnusable."""
    signed = await ledger.proving.stored()
    return None if signed is None else await checkpoint_status(ledger, signed)


async def checkpoint_status(ledger: LedgerService, signed: SignedCheckpoint) -> CheckpointStatus:
    """Return whether the newest checkpoint is valid, and its age. Errors: LedgerUnusable."""
    signed_at = await _signed_at(ledger, signed)
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


async def _signed_at(ledger: LedgerService, signed: SignedCheckpoint) -> datetime:
    """Return when a checkpoint was signed, as far as this machine knows. Errors: BadNote, LedgerUnusable."""
    path = checkpoint_path(ledger.path)
    with suppress(FileNotFoundError):
        if ledger.place.database is None or await run_on_thread(read_checkpoint, path) == signed:
            return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    with suppress(NotFound):  # of an empty log, or of one that lost events
        return moment_of(await ledger.reader.recorded_at(signed.size))
    return ledger.clock()


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
