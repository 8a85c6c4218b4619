"""Record pull requests: what was observed of each, and a scan if the list has all of them.

A request is known by its repository and its number. Only what differs from what the ledger has is recorded.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from api.importers.adopt.change_record import repository_id
from api.importers.adopt.git_changes import ReadRepository
from api.importers.adopt.observations import Facts, SubjectObserved, observation, read_observed, scan
from api.importers.adopt.pull_requests import FoundRequests, RecordedRequests, request_facts
from api.importers.batch_append import append_all
from api.service.store import EventStore
from events.envelope import Draft
from instruments.git.pull_requests import CheckResult, PullRequest
from ledger.errors import InvalidQuery
from projections.changes.change_index import REQUEST, RepositoryState
from projections.changes.recorded_requests import (
    CHECKED,
    CLOSED,
    FORGE,
    MERGED,
    OPENED,
    REOPENED,
    REVIEWED,
    RecordedRequest,
    check_digest,
)

READER: Final = 1
"""The version of what reads requests: increase it if the same list gives other observations."""

PAGES: Final = (20, 30, 100)
"""How many requests a forge lists where no other number is asked for: so many may be one page of several."""

NAMES_MAX: Final = 100
_NEW: Final = RecordedRequest(created_s=-1)


def check_repository(found: FoundRequests) -> ReadRepository:
    """Return the repository by which requests are known. Errors: InvalidQuery, unless there is one, with its root."""
    if len(found.repositories) != 1:
        named = f"it names {len(found.repositories)}" if found.repositories else "it is not stated"
        detail = f"{named}, and recorded requests are known by theirs."
        raise InvalidQuery("repository", detail, "Name the one of the requests: --repository .")
    (read,) = found.repositories
    if read.history.is_shallow:
        detail = f"{read.path} is a shallow clone: its first commit, by which it is known, is missing."
        raise InvalidQuery("repository", detail, "Get the commit: git fetch --unshallow.")
    return read


async def record_requests(found: FoundRequests, read: ReadRepository, store: EventStore) -> None:
    """Record what is new of requests, and note it in their preview. Errors: those of `EventStore`."""
    repository = repository_id(read)
    state = (await read_observed(store)).repository(repository)
    numbered = {str(request.number): request for request in found.requests if request.number is not None}
    missing = sum(
        number not in numbered and known.created_s <= found.watermark_s for number, known in state.requests.items()
    )
    result = RecordedRequests(
        listed=len(found.requests),
        without_number=sum(request.number is None for request in found.requests),
        missing=missing,
        is_whole=not missing and bool(numbered) and (found.is_dated or len(numbered) not in PAGES),
    )
    drafts = list(_drafts(read, numbered, state, result, found.watermark_s))
    if result.is_whole and (drafts or state.requests_through_s != found.watermark_s):
        drafts.append(
            scan(
                FORGE,
                repository,
                found.watermark_s,
                _newest(numbered),
                reader=READER,
                subjects=len(numbered),
                gone=0,
                scans=state.request_scans,
            )
        )
    await append_all(drafts, store)
    found.preview.recorded = result


def _newest(numbered: Mapping[str, PullRequest]) -> str:
    return max(numbered, key=lambda number: (numbered[number].seen_s, int(number)))


def _drafts(
    read: ReadRepository,
    numbered: Mapping[str, PullRequest],
    state: RepositoryState,
    result: RecordedRequests,
    watermark_s: int,
) -> Iterator[Draft]:
    """Yield the observations that the ledger lacks, and count them."""
    repository = repository_id(read)
    by_number = {str(change.number): change.sha for change in read.history.changes}
    for number, request in sorted(numbered.items(), key=lambda item: int(item[0])):
        landed = request.merge_sha or by_number.get(number)
        for observed in observe_listed(request, landed, repository, state, watermark_s):
            result.requests += observed.event_type == OPENED and number not in state.requests
            result.outcomes += observed.event_type in {MERGED, CLOSED, REOPENED}
            yield observation(FORGE, observed, state.request_scans)


def observe_listed(
    request: PullRequest, landed: str | None, repository: str, state: RepositoryState, watermark_s: int
) -> Iterator[SubjectObserved]:
    """Yield what is new of a request that has a number."""
    number = str(request.number)
    known = state.requests.get(number, _NEW)
    for event_type, at_s, facts in _observations(request, landed, known, watermark_s):
        yield SubjectObserved(event_type, f"{REQUEST}:{repository}:{number}", at_s, facts)


def _observations(
    request: PullRequest, landed: str | None, known: RecordedRequest, watermark_s: int
) -> Iterator[tuple[str, int, Facts]]:
    """Yield what differs from what was observed of a request before."""
    facts, checks = request_facts(request), request.checks
    by = (facts.agents, facts.marks) if request.is_author_known or known is _NEW else (known.agents, known.marks)
    stated = facts.created_s, *by, request.head_sha or known.head
    if stated != (known.created_s, known.agents, known.marks, known.head):
        names: Facts = {"agents": by[0], "marks": by[1], "head": request.head_sha or known.head or ""}
        yield OPENED, request.created_s, {name: value for name, value in names.items() if value}
    is_open = request.merged_s is None and request.closed_s is None
    if is_open and (known.merged_s is not None or known.closed_s is not None):
        yield REOPENED, watermark_s, {}
    if request.merged_s is not None and (known.merged_s, known.commit) != (request.merged_s, landed):
        yield MERGED, request.merged_s, {} if landed is None else {"commit": landed}
    if request.closed_s is not None and (known.closed_s, known.merged_s) != (request.closed_s, None):
        yield CLOSED, request.closed_s, {}
    if request.review is not None and request.review != known.review:
        yield REVIEWED, request.seen_s, {"result": request.review}
    if checks is not None and request.result is not None:
        by_result = [_digests(checks, result) for result in ("succeeded", "failed", "flaky")]
        if (request.result, *by_result) != (known.checks, known.succeeded, known.failed, known.flaky):
            named = dict(zip(("succeeded", "failed", "flaky"), by_result, strict=True))
            yield (
                CHECKED,
                request.seen_s,
                {"result": request.result, **{key: some for key, some in named.items() if some}},
            )


def _digests(checks: Mapping[str, CheckResult], result: CheckResult) -> tuple[str, ...]:
    """Return the digests of the names of checks with a result."""
    return tuple(sorted(check_digest(name) for name, found in checks.items() if found == result))[:NAMES_MAX]
