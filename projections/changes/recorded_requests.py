"""Pull requests as they were observed: opened, merged or closed, reviewed and checked."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from events.observation import ObservationRecorded
from projections.changes.requests import RequestFacts

FORGE: Final = "forge"
"""The source of observations of pull requests."""

OPENED, MERGED, CLOSED = "forge.opened", "forge.merged", "forge.closed"
REOPENED, REVIEWED, CHECKED = "forge.reopened", "forge.reviewed", "forge.checked"
CHECK_FAILED: Final = "forge.check_failed"
"""One attempt of a check failed on a commit, whatever a later one did."""

Facts = Mapping[str, str | int | tuple[str, ...]]


class RecordedRequest(msgspec.Struct, kw_only=True):
    """A request as it was observed. Times are seconds since 1970."""

    created_s: int
    agents: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    head: str | None = None
    merged_s: int | None = None
    commit: str | None = None
    """The change that it landed as."""
    closed_s: int | None = None
    review: str | None = None
    checks: str | None = None
    succeeded: tuple[str, ...] = ()
    """Digests of the names of checks with this result, as are the next two."""
    failed: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    sent_s: int = 0
    """The newest time of which something was sent of it, or it was seen to be open again."""
    position: int = 0
    """Where it was observed first."""
    ids: dict[str, str] = {}
    """The last observation of each type."""

    def facts(self) -> RequestFacts:
        """Return what figures are made of."""
        return RequestFacts(
            agents=self.agents,
            marks=self.marks,
            created_s=self.created_s,
            closed_s=self.closed_s,
            merged_s=self.merged_s,
            review=self.review,
            checks=self.checks,
        )


def observe_request(
    requests: dict[str, RecordedRequest], number: str, data: ObservationRecorded, at_s: int
) -> RecordedRequest | None:
    """Note an observation of a request, if it is known. Other facts than those expected leave it as it is."""
    facts, request = data.facts or {}, requests.get(number)
    if data.event_type == OPENED:
        request = requests.setdefault(number, RecordedRequest(created_s=at_s))
        request.created_s, request.head = at_s, text_of(facts, "head")
        request.agents, request.marks = names_of(facts, "agents"), names_of(facts, "marks")
    elif request is None:
        return None
    elif data.event_type == MERGED:
        request.merged_s, request.closed_s, request.commit = at_s, None, text_of(facts, "commit")
    elif data.event_type == CLOSED:
        request.merged_s, request.closed_s, request.commit = None, at_s, None
    elif data.event_type == REOPENED:
        request.merged_s = request.closed_s = request.commit = None
        request.sent_s = max(request.sent_s, at_s)
    elif data.event_type == REVIEWED:
        request.review = text_of(facts, "result")
    elif data.event_type == CHECKED:
        request.checks = text_of(facts, "result")
        request.succeeded, request.failed, request.flaky = (
            names_of(facts, name) for name in ("succeeded", "failed", "flaky")
        )
    if isinstance(sent_s := facts.get("sent"), int):
        request.sent_s = max(request.sent_s, sent_s)
    return request


def check_digest(name: str) -> str:
    """Return what the log has in the place of a check's name, which is a text of the owner's."""
    return sha256(name.encode()).hexdigest()[:16]


def text_of(facts: Facts, name: str) -> str | None:
    """Return a fact that is a text; None if it is absent or none."""
    value = facts.get(name)
    return value if isinstance(value, str) else None


def names_of(facts: Facts, name: str) -> tuple[str, ...]:
    """Return a fact that is some names; none if it is absent or something else."""
    value = facts.get(name, ())
    return value if isinstance(value, tuple) else ()
