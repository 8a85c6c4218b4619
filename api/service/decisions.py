"""Use cases of decisions: list, show, count and search them."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import structs

from api.service.as_of import AsOf
from api.service.ledger import LedgerService
from events.limits import PAGE_EVENTS_MAX, SEARCH_WORDS_MAX
from events.registry import VOCABULARY
from ledger import (
    Query,
)
from ledger.errors import InvalidQuery, NotFound
from projections.decisions.decision_index import DecisionCounts, DecisionIndex, DecisionSelection, SortField
from projections.decisions.decision_state import DecisionState, fold_decision
from projections.decisions.tokenizer import split_words


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions in the requested order; `next` is the offset of the next page, None on the last."""

    decisions: list[DecisionState]
    total: int
    next: int | None
    as_of: AsOf


class DecisionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to list, and how. `search` selects decisions whose texts contain every word of it, whole.

    `history` adds the events of each decision.
    """

    selection: DecisionSelection = DecisionSelection()
    sort: SortField = "created_at"
    descending: bool = True
    limit: int = 100
    offset: int = 0
    search: str | None = None
    history: bool = False


async def select_decisions(ledger: LedgerService, query: DecisionQuery, as_of: int | None = None) -> DecisionPage:
    """List decisions in their current state. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(DecisionIndex, as_of)
    ordered = projection.sort_places(projection.find(query.selection), query.sort, descending=query.descending)
    if query.search is not None and (words := parse_search_words(query.search, "search")):
        hits = await ledger.search.find(words, position, projection.index)
        ordered = hits.filter_places(ordered, len(words))
    chosen = projection.subjects(ordered[query.offset : query.offset + query.limit])
    shown = await decision_states(ledger, chosen, position, history=query.history)
    after = query.offset + len(shown)
    total, dated = len(ordered), await ledger.dated(position)
    return DecisionPage(decisions=shown, total=total, next=after if after < total else None, as_of=dated)


async def find_decision(
    ledger: LedgerService, decision_id: str, as_of: int | None = None, *, prefix: bool = False
) -> DecisionState:
    """Return one decision with its history; with `prefix` by an unambiguous beginning of its id. Errors: NotFound."""
    projection, position = await ledger.engine.at(DecisionIndex, as_of)
    found = _match(projection, decision_id, prefix=prefix)
    events = await _events_of(ledger, [f"decision/{found}"], position)
    state = fold_decision(VOCABULARY.events(events))
    assert state is not None, "the index names a stream that the log does not hold"
    return state


async def find_decision_id(ledger: LedgerService, beginning: str) -> str:
    """Return the id of the decision that has this id, or whose id alone begins so. Errors: NotFound."""
    projection, _ = await ledger.engine.at(DecisionIndex)
    return _match(projection, beginning, prefix=True)


def _match(projection: DecisionIndex, decision_id: str, *, prefix: bool) -> str:
    found = [decision_id] if projection.has(decision_id) else []
    if not found and prefix and decision_id:
        found = projection.ids_starting_with(decision_id)
    if len(found) != 1:
        advice = f"{decision_id} begins more than one id." if found else ""
        raise NotFound(
            f"Decision not found: {decision_id}", advice or "Check the id, or list the decisions to find it."
        )
    return found[0]


async def count_decisions(
    ledger: LedgerService, selection: DecisionSelection, as_of: int | None = None
) -> DecisionCounts:
    """Count some decisions by agent, category and the other groups."""
    projection, _ = await ledger.engine.at(DecisionIndex, as_of)
    return projection.count(projection.find(selection))


async def count_decisions_since(
    ledger: LedgerService, selection: DecisionSelection, moments: Sequence[datetime]
) -> list[int]:
    """Count some decisions made at or after each of some times."""
    projection, _ = await ledger.engine.at(DecisionIndex)
    places = projection.find(selection)
    return [projection.recorded_within(places, moment) for moment in moments]


async def decision_states(
    ledger: LedgerService, subjects: Sequence[str], upto: int, *, history: bool = False
) -> list[DecisionState]:
    """Return the decisions of some streams, in their order, as of a position."""
    if not subjects:
        return []
    streams: dict[str, list[object]] = {subject: [] for subject in subjects}
    for event in VOCABULARY.events(await _events_of(ledger, subjects, upto)):
        streams[event.subject].append(event)
    states = (fold_decision(streams[subject]) for subject in subjects)  # type: ignore[arg-type]
    found = [state for state in states if state is not None]
    return found if history else [structs.replace(state, history=()) for state in found]


async def _events_of(ledger: LedgerService, subjects: Sequence[str], upto: int) -> bytes:
    query = Query(subjects=tuple(subjects), before=upto + 1, limit=PAGE_EVENTS_MAX)
    return b"\n".join([page.ndjson async for page in ledger.scan(query)])


def parse_search_words(text: str, field: str) -> set[str]:
    """Return the words of a search. Errors: InvalidQuery, naming the field, for too many words."""
    words = split_words(text)
    if len(words) > SEARCH_WORDS_MAX:
        detail = f"{len(words)} different words are more than {SEARCH_WORDS_MAX}."
        raise InvalidQuery(field, detail, "Search by those that matter most.")
    return words
