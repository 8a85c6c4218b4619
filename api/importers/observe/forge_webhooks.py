"""Read webhooks of forges: requests as they are by now, and checks that failed. Other webhooks say nothing here.

GitLab's say neither when a request ended nor, but in the first, who opened it: the list of requests corrects that.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from api.importers.adopt.observations import Facts, SubjectObserved
from api.importers.adopt.request_record import observe_listed
from instruments.git.pull_requests import FAILED, PullRequest, read_request
from projections.changes.change_index import REQUEST, RepositoryState
from projections.changes.recorded_requests import CHECK_FAILED, check_digest

_ENDS: Final = {"merge": "merged_at", "close": "closed_at"}
_OPEN: Final = ("open", "reopen", "update")


class FailedCheck(NamedTuple):
    """An attempt of a check that failed on a commit."""

    name: str
    head: str
    at_s: int


class ForgeEvent(NamedTuple):
    """What a webhook says."""

    request: PullRequest | None = None
    failed: Sequence[FailedCheck] = ()


class _GithubRequest(msgspec.Struct):
    pull_request: Any


class _CheckRun(msgspec.Struct):
    name: str
    head_sha: str
    conclusion: str | None = None
    completed_at: datetime | None = None


class _GithubCheck(msgspec.Struct):
    check_run: _CheckRun


class _Commit(msgspec.Struct):
    id: str


class _GitlabRequest(msgspec.Struct):
    iid: int
    created_at: str
    updated_at: str
    state: str
    source_branch: str
    action: str = ""
    merge_commit_sha: str | None = None
    last_commit: _Commit | None = None


class _User(msgspec.Struct):
    username: str


class _Pipeline(msgspec.Struct):
    sha: str | None = None


class _Build(msgspec.Struct):
    name: str
    status: str
    finished_at: str | None = None
    allow_failure: bool = False


class _Gitlab(msgspec.Struct):
    object_kind: str
    object_attributes: Any = None
    user: _User | None = None
    builds: list[_Build] = []


def read_github(event: str, body: bytes) -> ForgeEvent:
    """Read a webhook of GitHub, whose kind is in its header. Errors: msgspec.DecodeError."""
    if event == "pull_request":
        return ForgeEvent(read_request(msgspec.json.decode(body, type=_GithubRequest).pull_request, {}))
    if event != "check_run":
        return ForgeEvent()
    run = msgspec.json.decode(body, type=_GithubCheck).check_run
    if run.conclusion not in FAILED or run.completed_at is None:
        return ForgeEvent()
    return ForgeEvent(failed=[FailedCheck(run.name, run.head_sha, int(run.completed_at.timestamp()))])


def read_gitlab(body: bytes) -> ForgeEvent:
    """Read a webhook of GitLab. Errors: msgspec.DecodeError."""
    sent = msgspec.json.decode(body, type=_Gitlab)
    if sent.object_kind == "pipeline":
        head = msgspec.convert(sent.object_attributes, _Pipeline).sha
        builds = [one for one in sent.builds if one.status == "failed" and one.finished_at and not one.allow_failure]
        failed = [FailedCheck(one.name, head, int(_time(one.finished_at).timestamp())) for one in builds if head]
        return ForgeEvent(failed=failed)
    if sent.object_kind != "merge_request":
        return ForgeEvent()
    found = msgspec.convert(sent.object_attributes, _GitlabRequest)
    if found.action not in (*_ENDS, *_OPEN) or (found.action in _OPEN and found.state != "opened"):
        return ForgeEvent()  # such as a comment on a request that ended before
    listed = {
        "iid": found.iid, "created_at": _time(found.created_at), "updated_at": _time(found.updated_at),
        "source_branch": found.source_branch, "sha": found.last_commit and found.last_commit.id,
        "merge_commit_sha": found.merge_commit_sha,
    }  # fmt: skip
    if found.action in _ENDS:
        listed[_ENDS[found.action]] = listed["updated_at"]
    if found.action == "open" and sent.user is not None:
        listed["author"] = {"username": sent.user.username}
    return ForgeEvent(read_request(listed, {}))


def _time(text: str | None) -> datetime:
    """Return a time in either form that GitLab writes. Errors: msgspec.ValidationError."""
    try:
        time = datetime.fromisoformat((text or "").removesuffix(" UTC"))
    except ValueError:
        raise msgspec.ValidationError(f"{text!r} is not a time") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def observe_forge(event: ForgeEvent, repository: str, state: RepositoryState) -> Iterator[SubjectObserved]:
    """Yield what an event says that is not known yet of a repository's requests."""
    request = event.request
    if request is not None:
        yield from observe_listed(request, request.merge_sha, repository, state, request.seen_s)
    for check in event.failed:
        facts: Facts = {"check": check_digest(check.name), "head": check.head}
        for number, known in state.requests.items():
            if known.head == check.head:
                yield SubjectObserved(CHECK_FAILED, f"{REQUEST}:{repository}:{number}", check.at_s, facts)
