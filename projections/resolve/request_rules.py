"""Rules about pull requests: merged in time, kept after that, and its checks green."""

from typing import Final

from projections.changes.change_index import FoundChange
from projections.changes.outcomes import DAY_S
from projections.changes.recorded_requests import CHECKED, CLOSED, MERGED, OPENED, check_digest
from projections.resolve.change_rules import kept_since
from projections.resolve.evidence import Evidence, FoundRequest
from projections.resolve.states import RuleFinding, StatedTest
from projections.resolve.window import cover, unresolvable, waiting

KEPT_DAYS: Final = 14


def merged(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether a request was merged within the window after it was opened."""
    found = _request(test, evidence)
    return found if isinstance(found, RuleFinding) else _merged_by(test, evidence, found)


def _merged_by(test: StatedTest, evidence: Evidence, found: FoundRequest) -> RuleFinding:
    request = found.request
    start_s = request.created_s if test.start_s is None else test.start_s
    due_s = start_s + test.window_s
    is_merged = request.merged_s is not None and request.merged_s <= due_s
    is_closed = request.closed_s is not None and request.closed_s <= due_s
    word, kind = ("merged", MERGED) if is_merged else ("closed", CLOSED) if is_closed else ("not merged", OPENED)
    failed_s = None if is_merged else request.closed_s if is_closed else _missed(found, due_s)
    return cover(
        test,
        evidence.now_s,
        start_s=start_s,
        due_s=due_s,
        through_s=found.repository.requests_through_s,
        failed_s=failed_s,
        value=f"{word}, as request {found.number}",
        evidence=(request.ids.get(kind, ""),),
        first_position=request.position,
    )


def _missed(found: FoundRequest, due_s: int) -> int | None:
    """Return when it is too late for a request: at the end of the window, once that is known."""
    return due_s if found.repository.requests_through_s >= due_s else None


def merged_and_kept(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether a request was merged within the window, and its change then kept."""
    found = _request(test, evidence)
    if isinstance(found, RuleFinding):
        return found
    verdict, request = _merged_by(test, evidence, found), found.request
    if request.merged_s is None or verdict.due_s is None or request.merged_s > verdict.due_s:
        return verdict
    change = None if request.commit is None else found.repository.changes.get(request.commit)
    if request.commit is None or change is None:
        return waiting("the request is merged, and the change that it landed as is not known")
    if change.is_gone:
        return unresolvable("the history was rewritten, and has the change no more", request.position)
    window_s = test.number("kept_days", KEPT_DAYS) * DAY_S
    return kept_since(test, evidence, FoundChange(found.repository, request.commit, change), window_s)


def checks_green(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether the checks of a request had succeeded when it ended, or at the end of the window."""
    found = _request(test, evidence)
    if isinstance(found, RuleFinding):
        return found
    request = found.request
    start_s = request.created_s if test.start_s is None else test.start_s
    ended_s = next((at_s for at_s in (request.merged_s, request.closed_s) if at_s is not None), start_s + test.window_s)
    due_s = min(ended_s, start_s + test.window_s)
    result = _result(found, test.names("names"), due_s)
    if found.repository.requests_through_s >= due_s and result not in ("green", "red"):
        return unresolvable(_MEANING[result], request.position)
    return cover(
        test,
        evidence.now_s,
        start_s=start_s,
        due_s=due_s,
        through_s=found.repository.requests_through_s,
        failed_s=due_s if result == "red" else None,
        value=f"checks {result}, of request {found.number}",
        evidence=(request.ids.get(CHECKED, ""),),
        first_position=request.position,
    )


_MEANING: Final = {
    "flaky": "a check failed, and succeeded when it was repeated on the same commit",
    "none": "a check was skipped, cancelled, or has no result",
}


def _result(found: FoundRequest, names: tuple[str, ...], due_s: int) -> str:
    """Return the result of the named checks together, or of all."""
    request = found.request
    attempts = found.repository.failed_checks.get(request.head or "", {})
    repeated = {digest for digest, at_s in attempts.items() if at_s <= due_s}
    if not names:
        return "flaky" if request.checks == "green" and repeated else request.checks or "none"
    digests = {check_digest(name) for name in names}
    if digests & set(request.failed):
        return "red"
    if digests - {*request.succeeded, *request.flaky}:
        return "none"
    return "flaky" if digests & {*request.flaky, *repeated} else "green"


def _request(test: StatedTest, evidence: Evidence) -> FoundRequest | RuleFinding:
    """Return the request of a test, or the verdict where there is not one."""
    found = evidence.requests(test.subject or "")
    if not found:
        return waiting("no list of requests that was read has it")
    if len(found) > 1:
        return unresolvable("several requests are named so: name the repository, as pr:REPOSITORY:NUMBER")
    return found[0]
