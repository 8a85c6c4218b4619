"""Use cases of compaction: the levels of decisions, what old ones come to together, and which are to be preserved.

Nothing in the log is shortened. A level only says how much of a decision a view for agents shows.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import structs

from api.principal import Principal
from api.service.decisions import DecisionQuery, decision_states, select_decisions
from api.service.ledger import LedgerService, View
from events.decision import DecisionPreserved
from events.registry import VOCABULARY
from ledger.errors import NotFound, StreamConflict
from projections.calibration.calibration import Calibration
from projections.calibration.wisdom import CategoryWisdom, collect_wisdom
from projections.decisions.compaction import LEVELS, Level, LevelFilter, level_of
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.decision_state import DecisionState

CATEGORIES_MAX = 100
"""Categories in one answer: those with most decisions."""

EXAMPLES_MAX = 3

WISDOM_DECISIONS_MIN = 5
"""The fewest decisions of a category with a wisdom, by default."""

SHOWN_LEVELS: tuple[Level, ...] = ("full", "summary", "digest")
"""The levels of decisions that are listed one by one; the older ones only count in the wisdom of their category."""


class LevelCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of decisions, of those that are to be preserved, and of those at each level."""

    total: int
    preserved: int
    levels: dict[Level, int]


class CompactedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to list. Without a `level`, those of SHOWN_LEVELS. Without `preserved`, none to be preserved."""

    category: str | None = None
    level: Level | None = None
    limit: int = 50
    preserved: bool = True


class LeveledDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, and the level at which a view shows it."""

    state: DecisionState
    level: Level


class CompactedDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions, the newest first, and the counts of all decisions that match, listed or not."""

    decisions: list[LeveledDecision]
    levels: dict[Level, int]


class Principle(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern, the number of decisions that have it, and the ids of the oldest of them."""

    text: str
    confirmations: int
    examples: list[str]


class Wisdom(msgspec.Struct, frozen=True, kw_only=True):
    """What the oldest reviewed decisions of a category come to together. See `CategoryWisdom`."""

    category: str
    decisions: int
    success_rate: float
    principles: list[Principle]
    common_failure: str | None
    mean_confidence: float | None
    brier_score: float | None


async def count_by_level(ledger: LedgerService, category: str | None) -> LevelCounts:
    """Count decisions by their level now."""
    index, _ = await ledger.at(DecisionIndex)
    selection = DecisionSelection(category=category)
    return LevelCounts(
        total=index.total(selection),
        preserved=index.total(structs.replace(selection, preserved=True)),
        levels=index.count_levels(selection, ledger.clock()),
    )


async def list_compacted(ledger: LedgerService, query: CompactedQuery) -> CompactedDecisions:
    """List decisions with their levels now."""
    now = ledger.clock()
    counted = DecisionSelection(
        category=query.category,
        preserved=None if query.preserved else False,
        compaction=LevelFilter(levels=LEVELS if query.level is None else (query.level,), now=now),
    )
    index, _ = await ledger.at(DecisionIndex)
    levels = index.count_levels(counted, now)
    listed = LevelFilter(levels=SHOWN_LEVELS if query.level is None else (query.level,), now=now)
    selection = structs.replace(counted, compaction=listed)
    page = await select_decisions(ledger, DecisionQuery(selection=selection, limit=query.limit, history=True))
    decisions = [LeveledDecision(state=state, level=level_of(state, now)) for state in page.decisions]
    return CompactedDecisions(decisions=decisions, levels=levels)


async def find_level(ledger: LedgerService, decision_id: str) -> Level:
    """Return the level of a recorded decision now."""
    state = await _find_state(ledger, decision_id)
    assert state is not None, "the decision is in the log"
    return level_of(state, ledger.clock())


async def list_wisdom(view: View, category: str | None, decisions_min: int) -> list[Wisdom]:
    """Return the wisdom of each category with enough decisions of the last level, by its name."""
    index, _ = await view.at(DecisionIndex)
    calibration, position = await view.at(Calibration)
    found = collect_wisdom(index, calibration, category, decisions_min, view.clock())
    largest = sorted(found, key=lambda row: -row.decisions)[:CATEGORIES_MAX]
    groups = [group for row in largest for group in (*row.principles, row.failures) if group is not None]
    examples = await view.engine.names.grouped([index.positions(group[:EXAMPLES_MAX]) for group in groups])
    names = {int(group[0]): subjects for group, subjects in zip(groups, examples, strict=True)}
    states = await decision_states(view, [subjects[0] for subjects in names.values()], position)
    patterns = {row: state.decision.pattern or "" for row, state in zip(names, states, strict=True)}
    return sorted((_wisdom(row, names, patterns) for row in largest), key=lambda row: row.category)


def _wisdom(row: CategoryWisdom, names: Mapping[int, Sequence[str]], patterns: Mapping[int, str]) -> Wisdom:
    """Return the wisdom of a category, given names and pattern of each group of decisions, by its first row."""
    principles = [
        Principle(
            text=patterns[int(group[0])],
            confirmations=len(group),
            examples=[subject.removeprefix("decision/") for subject in names[int(group[0])]],
        )
        for group in row.principles
    ]
    return Wisdom(
        category=row.category,
        decisions=row.decisions,
        success_rate=row.success_rate,
        principles=principles,
        common_failure=patterns[int(row.failures[0])] if row.failures is not None else None,
        mean_confidence=row.mean_confidence,
        brier_score=row.brier_score,
    )


async def set_preserve(
    ledger: LedgerService, caller: Principal, decision_id: str, *, preserve: bool, event_id: str | None = None
) -> None:
    """State whether a decision is to be preserved. Nothing is written if the last statement says the same.

    Errors: NotFound, and those of `LedgerService.record`; nothing was written.
    """
    caller.require("append")
    data = DecisionPreserved(decision_id=decision_id, preserve=preserve)
    while True:
        state = await _find_state(ledger, decision_id)
        if state is None:
            raise NotFound(f"Decision not found: {decision_id}", "Check the id.", written=False)
        if state.preserve is preserve:
            return
        version = state.streamversion
        draft = VOCABULARY.draft_of(data, id=event_id, time=ledger.clock(), expectedversion=version)
        try:
            await ledger.record([draft], caller)
        except StreamConflict:
            continue
        return


async def _find_state(ledger: LedgerService, decision_id: str) -> DecisionState | None:
    """Return the newest state of a decision, read from its stream alone; None if it is not in the log."""
    states = await decision_states(ledger, [f"decision/{decision_id}"], await ledger.head_position())
    return states[0] if states else None
