"""Use cases of decisions: list, show, count and search them."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType, structs

from api.service.decision_ids import position_of_views, resolve_decision_id
from api.service.decision_params import OneDecisionParams
from api.service.ledger import LedgerService, View
from api.service.model_names import MODEL_NAMES, find_model_names
from api.service.operation import operation
from api.service.retrieval import Ranking
from api.service.unknown_names import UnknownNames, find_unknown_names
from events.envelope import Event
from events.limits import PAGE_EVENTS_MAX, SEARCH_WORDS_MAX
from events.model_names import split_names
from ledger.errors import InvalidQuery
from ledger.log import Query
from projections.decisions.decision_counts import DecisionCounts
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_lists import Order
from projections.decisions.decision_selection import DecisionSelection, SortField
from projections.decisions.decision_state import DecisionState, fold_decision
from projections.decisions.link_graph import LinkGraph
from projections.decisions.tokenizer import split_words
from projections.decisions.word_rows import RowsWithWords
from projections.time_range import TimeRange
from tallystick.shapes.parts import AsOf
from tallystick.shapes.retrieval import Retrieval


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions in the requested order; `next` is the offset of the next page, None on the last."""

    decisions: list[DecisionState]
    total: int
    next: int | None
    as_of: AsOf
    unknown_names: UnknownNames = UNSET
    retrieval: Retrieval | UnsetType = UNSET
    """How the search was ranked; absent without a retrieval mode."""


class DecisionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to list, and how. `search` selects decisions whose texts have all its words, whole.

    `model` selects decisions by a model, by any of its names. `history` adds the events of each decision. With
    `ranking` the search is ranked, and need not match every word (`decision_search.py`).
    """

    selection: DecisionSelection = DecisionSelection()
    sort: SortField = "created_at"
    descending: bool = True
    limit: int = 100
    offset: int = 0
    search: str | None = None
    model: str | None = None
    history: bool = False
    ranking: Ranking | None = None


async def select_decisions(view: View, query: DecisionQuery) -> DecisionPage:
    """List decisions in their current state. Errors: InvalidQuery."""
    projection, position, among = await _index_and_words(view, query)
    selection = await select_models(view, projection, query)
    order = Order(query.sort, query.descending)
    found = projection.page(selection, order, query.offset, query.limit, among)
    total, page = found.total, projection.positions(found.rows)
    unknown = UNSET if total else find_unknown(projection, selection, query.model)
    subjects = await view.engine.names.subjects(page)
    decisions = await decision_states(view, subjects, position, history=query.history)
    decisions = await _with_superseding(view, decisions, position)
    after = query.offset + len(decisions)
    return DecisionPage(
        decisions=decisions,
        total=total,
        next=after if after < total else None,
        as_of=await view.dated(position),
        unknown_names=unknown,
    )


async def _index_and_words(view: View, query: DecisionQuery) -> tuple[DecisionIndex, int, RowsWithWords | None]:
    """Return the index of decisions, its position, and which decisions have the words of the search, if there is one.

    With a search the index is frozen, because finding words takes a while.
    """
    also = () if query.model is None else MODEL_NAMES
    words = frozenset() if query.search is None else frozenset(parse_search_words(query.search, "search"))
    if not words:
        return *(await view.at(DecisionIndex, also=also)), None

    async def frozen() -> tuple[DecisionIndex, int]:
        projection, position = await view.at(DecisionIndex, also=also)
        return projection.frozen(), position

    if view.position is None:
        return await view.indexes.words.find_rows(words, frozen)
    as_it_was = await frozen()

    async def once() -> tuple[DecisionIndex, int]:
        return as_it_was

    return await view.indexes.words.find_rows(words, once)


async def select_models(view: View, projection: DecisionIndex, query: DecisionQuery) -> DecisionSelection:
    """Return the selection of a query, with the model's names: `projection` was requested with MODEL_NAMES."""
    if query.model is None:
        return query.selection
    names = await find_model_names(view)
    means = names.resolve(query.model)
    models = frozenset(joined for joined in projection.models if names.resolve_joined(joined) == means)
    return structs.replace(query.selection, models=models)


def find_unknown(projection: DecisionIndex, selection: DecisionSelection, model: str | None) -> UnknownNames:
    """Return the names of a filter that no decision has. A model that some decision means is known by any name."""
    asked = {name: getattr(selection, name) for name in ("agent", "category", "project", "feature", "cluster")}
    models = {name for joined in projection.models for name in split_names(joined) if name}
    known = {**projection.names(), "model": models | ({model} if model is not None and selection.models else set())}
    return find_unknown_names({**asked, "tag": selection.tags, "model": model}, known)


@operation("/decisions/{decision_id}", "decisions", errors=(404,))
async def get_decision(view: View, params: OneDecisionParams) -> DecisionState:
    """Return one decision with its history."""
    return await find_decision(view, params.decision_id, prefix=params.prefix)


async def find_decision(view: View, decision_id: str, *, prefix: bool = False) -> DecisionState:
    """Return one decision with its history; with `prefix`, by a unique beginning of its id. Errors: NotFound."""
    position = await position_of_views(view)
    full_id = await resolve_decision_id(view, decision_id, position, prefix=prefix)
    state = fold_decision(await _read_streams(view, [f"decision/{full_id}"], position))
    assert state is not None, "the index names a stream that the log does not hold"
    (state,) = await _with_superseding(view, [state], position)
    return state


async def find_decision_id(view: View, beginning: str) -> str:
    """Return a decision's id, given it or a unique beginning of it. Errors: NotFound."""
    _, position = await view.at(DecisionIndex)
    return await resolve_decision_id(view, beginning, position, prefix=True)


async def count_decisions(view: View, selection: DecisionSelection) -> DecisionCounts:
    """Count some decisions by agent, category and the other groups."""
    projection, _ = await view.at(DecisionIndex)
    return projection.count(selection)


async def count_decisions_since(
    ledger: LedgerService, selection: DecisionSelection, moments: Sequence[datetime]
) -> list[int]:
    """Return for each of some times the number of decisions made at or after it."""
    projection, _ = await ledger.at(DecisionIndex)
    since, until = selection.range.since, selection.range.until
    ranges = [TimeRange(moment if since is None else max(moment, since), until) for moment in moments]
    return [projection.total(structs.replace(selection, range=when)) for when in ranges]


async def decision_states(
    view: View, subjects: Sequence[str], upto: int, *, history: bool = False
) -> list[DecisionState]:
    """Return the decisions of some streams as of a position, in the order of `subjects`."""
    if not subjects:
        return []
    streams: dict[str, list[object]] = {subject: [] for subject in subjects}
    for event in await _read_streams(view, subjects, upto):
        streams[event.subject].append(event)
    states = (fold_decision(streams[subject]) for subject in subjects)  # type: ignore[arg-type]
    decisions = [state for state in states if state is not None]
    return decisions if history else [structs.replace(state, history=()) for state in decisions]


async def _with_superseding(view: View, decisions: list[DecisionState], position: int) -> list[DecisionState]:
    """Return decisions with the ids of those that supersede them, as of a position.

    The graph of an earlier position is folded only if a decision is superseded now.
    """
    graph, _ = await view.ledger.at(LinkGraph)
    if not any(graph.may_be_superseded(state.decision_id) for state in decisions):
        return decisions
    if view.position is not None:
        graph, _ = await view.at(LinkGraph)
    found = {state.decision_id: graph.superseded_by(state.decision_id, position) for state in decisions}
    return [
        structs.replace(state, superseded_by=ids) if (ids := found[state.decision_id]) else state for state in decisions
    ]


async def _read_streams(view: View, subjects: Sequence[str], upto: int) -> list[Event]:
    query = Query(subjects=tuple(subjects), before=upto + 1, limit=PAGE_EVENTS_MAX)
    return [event async for page in view.scan(query) for event in view.usable_events(page)]


def parse_search_words(text: str, field: str) -> set[str]:
    """Return the words of a search. Errors: InvalidQuery, naming the field, for too many words."""
    words = split_words(text)
    if len(words) > SEARCH_WORDS_MAX:
        detail = f"{len(words)} different words are more than {SEARCH_WORDS_MAX}."
        raise InvalidQuery(field, detail, "Search by those that matter most.")
    return words
