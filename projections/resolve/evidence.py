"""What rules look at: changes, requests and other subjects as they were observed, and through when they are known."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from projections.changes.change_index import ChangeIndex, FoundChange, RepositoryState
from projections.changes.recorded_requests import RecordedRequest
from projections.resolve.states import Facts


class SubjectObservation(msgspec.Struct, frozen=True):
    """Something that was observed of a subject."""

    id: str
    position: int
    event_type: str
    at_s: int
    facts: Facts


def at_of(observed: SubjectObservation) -> int:
    """Return when something was observed."""
    return observed.at_s


class FoundRequest(msgspec.Struct, frozen=True):
    """A recorded request, its number, and its repository."""

    repository: RepositoryState
    number: str
    request: RecordedRequest


_Found = TypeVar("_Found", FoundChange, FoundRequest)


class Evidence:
    """Everything that was observed by now. `now_s` is the time as of which it is asked."""

    def __init__(
        self,
        changes: ChangeIndex,
        observed: Mapping[str, Sequence[SubjectObservation]],
        scans: Mapping[str, int],
        now_s: int,
    ) -> None:
        self._repositories = changes.repositories()
        self.naming = changes.naming
        """Returns the changes that name a decision."""
        self._observed = observed
        self._scans = scans
        self.now_s = now_s

    def of(self, subject: str, from_s: int = 0, to_s: int | None = None) -> Sequence[SubjectObservation]:
        """Return what was observed of a subject that is neither a change nor a request, between two times inclusive.

        It is in the order of time, then of the log.
        """
        found = self._observed.get(subject, ())
        end = len(found) if to_s is None else bisect_right(found, to_s, key=at_of)
        return found[bisect_left(found, from_s, key=at_of) : end]

    def through(self, subject: str) -> int:
        """Return through when a subject's source was read as a whole; 0 if it was not."""
        return self._scans.get(subject, 0)

    def changes(self, subject: str) -> Sequence[FoundChange]:
        """Return the changes of `commit:ID`, a beginning of the id of a commit they landed, or of `decision:ID`."""
        kind, _, commit = subject.partition(":")
        if kind == "decision":
            return self.naming(commit)
        found = {(id(one.repository), one.commit): one for one in self._begin_with(self._commits, commit)}
        for request in self._begin_with(self._heads, commit):
            landed = request.request.commit
            change = None if landed is None else request.repository.changes.get(landed)
            if landed is not None and change is not None:
                found.setdefault((id(request.repository), landed), FoundChange(request.repository, landed, change))
        return list(found.values())

    def requests(self, subject: str) -> Sequence[FoundRequest]:
        """Return the requests that `pr:NUMBER`, `pr:REPOSITORY:NUMBER` or `commit:ID` names."""
        kind, _, rest = subject.partition(":")
        if kind == "commit":
            found = {(id(one.repository), one.number): one for one in self._begin_with(self._heads, rest)}
            return list(found.values())
        name, _, number = rest.rpartition(":")
        return [
            FoundRequest(repository, number, repository.requests[number])
            for repository in self._repositories
            if number in repository.requests and name in ("", repository.repository)
        ]

    @cached_property
    def _commits(self) -> tuple[list[str], list[FoundChange]]:
        return _sorted(
            (sha, FoundChange(repository, commit, change))
            for repository in self._repositories
            for commit, change in repository.changes.items()
            for sha in (commit, *change.commits)
        )

    @cached_property
    def _heads(self) -> tuple[list[str], list[FoundRequest]]:
        return _sorted(
            (sha, FoundRequest(repository, number, request))
            for repository in self._repositories
            for number, request in repository.requests.items()
            for sha in (request.head, request.commit)
            if sha is not None
        )

    @staticmethod
    def _begin_with(index: tuple[list[str], list[_Found]], beginning: str) -> Iterator[_Found]:
        names, found = index
        place = bisect_left(names, beginning)
        while place < len(names) and names[place].startswith(beginning):
            yield found[place]
            place += 1


def _sorted(named: Iterable[tuple[str, _Found]]) -> tuple[list[str], list[_Found]]:
    """Return names in their order, and what each stands for."""
    pairs = sorted(named, key=lambda pair: pair[0])
    return [name for name, _ in pairs], [found for _, found in pairs]
