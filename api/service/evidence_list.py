"""List evidence, stored and erased: a page of it, or all."""

import msgspec
from msgspec import structs

from api.service.ledger import View
from api.service.operation import Answers, Link, operation
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from projections.evidence_index import EvidenceEntry, EvidenceIndex
from projections.shared_params import Limit, Offset
from tallystick.shapes.parts import AsOf


class EvidenceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of the evidence to list."""

    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0


class EvidencePage(msgspec.Struct, frozen=True):
    """Evidence in the order of the log; `next` is the offset of the next page, null on the last."""

    evidence: list[EvidenceEntry]
    total: int
    next: int | None
    as_of: AsOf


@operation(
    "/evidence", "evidence", links={"bytes": Link("get_evidence", "digest", "$response.body#/evidence/0/digest")}
)
async def list_evidence(view: View, params: EvidenceQuery) -> EvidencePage:
    """List stored and erased evidence, in the order of the log."""
    projection, position = await view.at(EvidenceIndex)
    total, entries = len(projection), projection.page(params.offset, params.limit)
    after = params.offset + len(entries)
    return EvidencePage(entries, total, after if after < total else None, await view.dated(position))


async def list_all_evidence(answers: Answers) -> EvidencePage:
    """Return all evidence as one page."""
    first = page = await answers.answer(list_evidence, EvidenceQuery(limit=PAGE_EVENTS_MAX))
    then, entries = await answers.past(first.as_of.position), list(first.evidence)
    while page.next is not None and page.evidence:
        page = await then.answer(list_evidence, EvidenceQuery(limit=PAGE_EVENTS_MAX, offset=len(entries)))
        entries += page.evidence
    return structs.replace(first, evidence=entries, next=None)
