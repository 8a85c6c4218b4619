"""Convert the links of an installation to events: only those that the ledger does not have.

The ids of events are digests of their content, as for decisions (`to_events.py`). If the ledger has another link of the
same type between the same two decisions, the later one counts; an older one of the installation is reported.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from api.importers.cstp.report import CstpImportResult
from api.importers.cstp.source_decision import SourceDecision
from api.importers.cstp.source_links import SYSTEM, SourceLink
from api.importers.cstp.to_events import DATA_BYTES_MAX, LEDGER, identified_draft
from events.agent_name import is_valid_agent
from events.envelope import ANONYMOUS, Draft, Event
from events.link import DecisionLinked, LinkType
from events.registry import VOCABULARY

_WEIGHT_DIFFERENCE = 0.001
"""CSTP rounds the weights in its graph files to three digits, but not the distances in its decision files."""

_MACHINES = (SYSTEM, "auto-link")
"""Names in `created_by` that are not those of agents."""

_encode = msgspec.json.Encoder().encode

LinkKey = tuple[str, str, LinkType]
LedgerLinks = Mapping[LinkKey, Sequence[Event]]


def merge_links(
    decisions: Iterable[SourceDecision], graphs: Iterable[SourceLink], report: CstpImportResult
) -> list[SourceLink]:
    """Return each link of an installation once. Of the lines of graph files, the last one counts.

    A link of a decision file that a graph file has, too, adds its summary to that one.
    """
    links = {link.key: link for link in graphs}
    stated = {decision.id: decision for decision in decisions}
    for decision in stated.values():
        for related in decision.related:
            related.created_at = decision.time
            first = links.setdefault(related.key, related)
            if first is not related:
                _merge(first, related, stated, report)
    for link in links.values():
        if link.context is not None and len(_encode(link.context)) > DATA_BYTES_MAX:
            allowed = f"at most {DATA_BYTES_MAX:,} bytes with the rest of its event"
            report.add_loss(link.file, f"{link.field}.context", f"{len(link.context):,} characters", allowed)
            link.context = None
    return list(links.values())


def _merge(
    link: SourceLink, related: SourceLink, decisions: Mapping[str, SourceDecision], report: CstpImportResult
) -> None:
    if link.weight is None:
        link.weight = related.weight
    elif not _same_weight(link.weight, related.weight):
        pair = (link.weight, link.file), (related.weight, related.file)
        report.add_conflict(link.source_id, f"the weight of the link to {link.target_id}", *pair)
    summary, target = related.context, decisions.get(link.target_id)
    if summary is None or link.context == summary:
        return
    if link.context is None:
        link.context = summary
    elif target is None or not target.values["decision"].startswith(summary.removesuffix("...")):
        allowed = "the beginning of the decision's text, as the link has another context"
        report.add_loss(related.file, f"{related.field}.summary", summary, allowed, decision_id=related.source_id)


async def ledger_links(pages: AsyncIterator[bytes]) -> LedgerLinks:
    """Return the links in some pages of events, each with every statement of it, the oldest first."""
    links: dict[LinkKey, list[Event]] = {}
    async for page in pages:
        for event in VOCABULARY.events(page):
            data = event.data
            assert isinstance(data, DecisionLinked), "only links are read"
            links.setdefault((data.source_id, data.target_id, data.edge_type), []).append(event)
    return links


def link_events(
    links: Iterable[SourceLink], known: LedgerLinks, agents: Mapping[str, str | None], report: CstpImportResult
) -> list[Draft]:
    """Return the events of links that the ledger does not have. `agents` are those of the decisions by id."""
    drafts = []
    for link in links:
        statements = known.get(link.key, ())
        if any(_is_same(link, event) for event in statements):
            continue
        if statements and (link.created_at is None or link.created_at <= statements[-1].moment):
            weights = (_weight_of(statements[-1]), LEDGER), (link.weight, link.file)
            report.add_conflict(link.source_id, f"the link to {link.target_id} ({link.edge_type})", *weights)
            continue
        drafts.append(_draft(link, agents.get(link.source_id) or ANONYMOUS))
    return drafts


def _is_same(link: SourceLink, event: Event) -> bool:
    """Return whether an event states a link. A link of a decision file is known by its two decisions and its weight."""
    data = event.data
    assert isinstance(data, DecisionLinked), "only links are compared"
    if not _same_weight(data.weight, link.weight):
        return False
    if link.related:
        return True
    same_context = link.context is None or data.context == link.context
    same_author = link.created_by is None or (data.created_by or event.agent) == link.created_by
    return same_context and same_author and (link.created_at is None or link.created_at == event.moment)


def _same_weight(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= _WEIGHT_DIFFERENCE


def _weight_of(event: Event) -> float | None:
    assert isinstance(event.data, DecisionLinked), "only links are read"
    return event.data.weight


def _draft(link: SourceLink, agent: str) -> Draft:
    """Return the event of a link. Its agent is who made the link, or else the agent of the decision that it is from."""
    created_by = link.created_by
    if created_by is not None and created_by not in _MACHINES and is_valid_agent(created_by):
        agent, created_by = created_by, None
    data = DecisionLinked(
        source_id=link.source_id,
        target_id=link.target_id,
        edge_type=link.edge_type,
        weight=link.weight,
        context=link.context,
        created_by=created_by,
    )
    return identified_draft(data, agent, link.created_at)
