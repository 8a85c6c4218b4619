"""The changes projection: what was observed of repositories' changes and pull requests, and through when."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final

import msgspec

from events.envelope import EventFacts
from events.observation import ObservationRecorded, ObservationScanned
from events.payload import Payload
from projections.changes.outcomes import SURVIVAL_DAYS, ChangeFacts, Fix, join_agents
from projections.changes.recorded_requests import (
    CHECK_FAILED,
    FORGE,
    Facts,
    RecordedRequest,
    names_of,
    observe_request,
    text_of,
)
from projections.projection import Projection
from projections.saved_state import Part, keyed

GIT: Final = "git"
"""The source of observations of changes."""

LANDED, REVERTED, FIXED, LINES = "git.landed", "git.reverted", "git.fixed", "git.lines_alive"
GONE, WITHDRAWN = "git.gone", "git.outcomes_withdrawn"

REQUEST: Final = "pr"
"""What the subjects of observations of pull requests begin with."""

CHECKS: Final = "check"
"""What the subjects of observations of checks of a commit begin with."""

_KINDS: Final = {GIT: GIT, FORGE: REQUEST}


class RecordedChange(msgspec.Struct, kw_only=True):
    """A change as it was observed."""

    landed_s: int
    agents: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    born: int = 0
    reverted_s: int | None = None
    fixed_s: int | None = None
    fixed_by: str | None = None
    alive: tuple[int, ...] = ()
    is_gone: bool = False
    """Whether the main line no longer has it."""
    commits: tuple[str, ...] = ()
    """Ids of the commits that it brought, if it is a merge."""
    decisions: tuple[str, ...] = ()
    """Ids of the decisions that it carries out, as its messages name them."""
    position: int = 0
    """Where it was observed first."""
    ids: dict[str, str] = {}
    """The last observation of each type."""


class RepositoryState(msgspec.Struct, kw_only=True):
    """The main line of a repository: the newest commit, how often it was read, and through when outcomes are known."""

    repository: str
    head: str = ""
    scans: int = 0
    through_s: int = 0
    changes: dict[str, RecordedChange] = {}
    """By commit, in the order in which they landed."""
    requests: dict[str, RecordedRequest] = {}
    """Pull requests by number, in the order in which they were observed first."""
    failed_checks: dict[str, dict[str, int]] = {}
    """By commit, and digest of a check's name: when an attempt of it failed first."""
    request_scans: int = 0
    requests_through_s: int = 0
    """Through when it is known how requests ended; 0: no list of all was read."""

    def facts(self) -> list[ChangeFacts]:
        """Return what is known of each change that the main line has. A request that landed it is a mark on it."""
        requests = {request.commit: request for request in self.requests.values() if request.commit is not None}
        numbers: dict[str, int] = {}
        return [
            _facts(change, requests.get(commit), numbers)
            for commit, change in self.changes.items()
            if not change.is_gone
        ]


class FoundChange(msgspec.Struct, frozen=True):
    """A recorded change, its commit, and the repository that has it."""

    repository: RepositoryState
    commit: str
    change: RecordedChange


def _facts(change: RecordedChange, request: RecordedRequest | None, numbers: dict[str, int]) -> ChangeFacts:
    requested = () if request is None else request.agents
    fix = None
    if change.fixed_s is not None and change.fixed_by is not None:
        fix = Fix(change.fixed_s, numbers.setdefault(change.fixed_by, len(numbers)))
    return ChangeFacts(
        agents=join_agents(change.agents, requested),
        marks=tuple(dict.fromkeys([*change.marks, "request"])) if requested else change.marks,
        models=change.models,
        landed_s=change.landed_s,
        born=change.born,
        reverted_s=change.reverted_s,
        fix=fix,
        alive=change.alive,
    )


class ChangeIndex(Projection):
    """Every repository whose changes were observed."""

    name: ClassVar[str] = "changes"
    version: ClassVar[int] = 6
    reads: ClassVar[tuple[type[Payload], ...]] = (ObservationRecorded, ObservationScanned)

    parts: ClassVar[Mapping[str, Part]] = {"repositories": keyed("_repositories", RepositoryState, "repository")}

    def __init__(self) -> None:
        self._repositories: dict[str, RepositoryState] = {}
        self._naming: dict[str, list[FoundChange]] = {}

    def complete(self) -> None:
        for state in self._repositories.values():
            for commit in state.changes:
                self._note_names(state, commit, ())

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            self.add(event.data, event.position)

    def add(self, data: Payload, position: int) -> None:
        """Add what an event at a position says."""
        if isinstance(data, ObservationScanned) and data.source in _KINDS:
            state = self._state(data.scope)
            if data.source == GIT:
                state.head, state.scans, state.through_s = data.head, state.scans + 1, seconds_of(data.through)
            else:
                state.request_scans += 1
                state.requests_through_s = max(state.requests_through_s, seconds_of(data.through))
        elif isinstance(data, ObservationRecorded) and data.source in _KINDS and data.subject is not None:
            kind, _, rest = data.subject.partition(":")
            repository, _, name = rest.partition(":")
            if kind == CHECKS and data.event_type == CHECK_FAILED and name and data.occurred is not None:
                _observe_failed(self._state(repository), name, data.facts or {}, seconds_of(data.occurred))
            if kind != _KINDS[data.source] or not name or data.occurred is None:
                return
            state, at_s = self._state(repository), seconds_of(data.occurred)
            known: RecordedChange | RecordedRequest | None
            if kind == GIT:
                before = state.changes[name].decisions if name in state.changes else ()
                known = _observe(state.changes, name, data, at_s)
                self._note_names(state, name, before)
            else:
                known = observe_request(state.requests, name, data, at_s)
            if known is not None:
                known.position = known.position or position
                known.ids[data.event_type] = data.observation_id or ""

    def _note_names(self, state: RepositoryState, commit: str, before: Sequence[str]) -> None:
        """Note which decisions a change names, given those that it named before."""
        change = state.changes.get(commit)
        if change is None or change.decisions == before:
            return
        for decision in {*before} - {*change.decisions}:
            self._naming[decision] = [one for one in self._naming[decision] if one.change is not change]
        for decision in {*change.decisions} - {*before}:
            self._naming.setdefault(decision, []).append(FoundChange(state, commit, change))

    def naming(self, decision: str) -> Sequence[FoundChange]:
        """Return the changes that name a decision."""
        return self._naming.get(decision, ())

    def _state(self, repository: str) -> RepositoryState:
        return self._repositories.setdefault(repository, RepositoryState(repository=repository))

    def copy(self) -> "ChangeIndex":
        """Return a copy, which later folding does not change."""
        return ChangeIndex.decode(self.encode())

    def repositories(self) -> list[RepositoryState]:
        """Return every repository, in the order in which they were observed first."""
        return list(self._repositories.values())

    def repository(self, repository: str) -> RepositoryState:
        """Return what was observed of a repository, perhaps nothing."""
        return self._repositories.get(repository, RepositoryState(repository=repository))

    def summary(self) -> Mapping[str, object]:
        return {
            "repositories": len(self._repositories),
            "changes": sum(len(one.changes) for one in self.repositories()),
            "requests": sum(len(one.requests) for one in self.repositories()),
        }


def _observe_failed(state: RepositoryState, commit: str, facts: Facts, at_s: int) -> None:
    """Note that an attempt of a check failed."""
    if (check := text_of(facts, "check")) is not None:
        failed = state.failed_checks.setdefault(commit, {})
        failed[check] = min(at_s, failed.get(check, at_s))


def _observe(
    changes: dict[str, RecordedChange], commit: str, data: ObservationRecorded, at_s: int
) -> RecordedChange | None:
    """Note an observation of a change, if it is known. Other facts than those expected leave it as it is."""
    facts, change = data.facts or {}, changes.get(commit)
    if data.event_type == LANDED:
        change = changes.setdefault(commit, RecordedChange(landed_s=at_s))
        change.landed_s, change.is_gone = at_s, False
        change.agents, change.marks, change.models = (names_of(facts, name) for name in ("agents", "marks", "models"))
        change.born, change.commits = _count(facts, "born") or 0, names_of(facts, "commits")
        change.decisions = names_of(facts, "decisions")
    elif change is None:
        return None
    elif data.event_type == REVERTED:
        change.reverted_s = at_s
    elif data.event_type == FIXED:
        by = facts.get("by")
        change.fixed_s, change.fixed_by = at_s, by if isinstance(by, str) else commit
    elif data.event_type == LINES:
        counts = [_count(facts, day_name(days)) for days in SURVIVAL_DAYS]
        known = [count for count in counts if count is not None]
        change.alive = tuple(known) if counts[: len(known)] == known else change.alive
    elif data.event_type == WITHDRAWN:
        change.reverted_s = change.fixed_s = change.fixed_by = None
        change.alive = ()
    elif data.event_type == GONE:
        change.is_gone = True
    return change


def _count(facts: Mapping[str, str | int | tuple[str, ...]], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) else None


def day_name(days: int) -> str:
    """Return the name of the fact "lines that exist after so many days"."""
    return f"day_{days}"


def seconds_of(text: str) -> int:
    """Return a time in RFC 3339 as seconds since 1970; 0 if it is none."""
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return 0
