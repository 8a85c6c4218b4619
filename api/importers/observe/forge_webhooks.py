"""Read webhooks of forges: requests as they are by now, and checks that failed. Other webhooks say nothing here.

GitLab's say neither when a request ended nor, but in the first, who opened it: the list of requests corrects that.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from api.importers.adopt.observations import Facts, SubjectObserved
from api.importers.adopt.request_record import observe_listed
from events.payload import COUNT_MAX
from instruments.git.pull_requests import FAILED, PullRequest, read_request
from projections.changes.change_index import CHECKS, RepositoryState
from projections.changes.recorded_requests import CHECK_FAILED, check_digest

_ENDS: Final = {"merge": "merged_at", "close": "closed_at"}
_OPEN: Final = ("open", "reopen", "update")


_Sha = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{7,64}$")]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class FailedCheck(NamedTuple):
    """An attempt of a check that failed on a commit."""

    name: str
    head: str
    at_s: int


class ForgeEvent(NamedTuple):
    """What a webhook says."""

    project: str = ""
    """The name of the repository: `OWNER/NAME`."""
    request: PullRequest | None = None
    failed: Sequence[FailedCheck] = ()


class _GithubProject(msgspec.Struct):
    full_name: str


class _GithubRequest(msgspec.Struct):
    pull_request: Any
    repository: _GithubProject


class _CheckRun(msgspec.Struct):
    name: str
    head_sha: _Sha
    conclusion: str | None = None
    completed_at: _Time | None = None


class _GithubCheck(msgspec.Struct):
    check_run: _CheckRun
    repository: _GithubProject


class _Commit(msgspec.Struct):
    id: _Sha


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
    sha: _Sha | None = None


class _Build(msgspec.Struct):
    name: str
    status: str
    finished_at: str | None = None
    allow_failure: bool = False


class _GitlabProject(msgspec.Struct):
    path_with_namespace: str


class _Gitlab(msgspec.Struct):
    object_kind: str
    project: _GitlabProject
    object_attributes: Any = None
    user: _User | None = None
    builds: list[_Build] = []


def read_github(event: str, body: bytes) -> ForgeEvent:
    """Read a webhook of GitHub, whose kind is in its header. Errors: msgspec.DecodeError."""
    if event == "pull_request":
        sent = msgspec.json.decode(body, type=_GithubRequest)
        return ForgeEvent(sent.repository.full_name, _read_request(sent.pull_request))
    if event != "check_run":
        return ForgeEvent()
    checked = msgspec.json.decode(body, type=_GithubCheck)
    run = checked.check_run
    if run.conclusion not in FAILED or run.completed_at is None:
        return ForgeEvent()
    failed = FailedCheck(run.name, run.head_sha, int(run.completed_at.timestamp()))
    return ForgeEvent(checked.repository.full_name, failed=[failed])


def read_gitlab(body: bytes) -> ForgeEvent:
    """Read a webhook of GitLab. Errors: msgspec.DecodeError."""
    sent = msgspec.json.decode(body, type=_Gitlab)
    if sent.object_kind == "pipeline":
        head = msgspec.convert(sent.object_attributes, _Pipeline).sha
        builds = [one for one in sent.builds if one.status == "failed" and one.finished_at and not one.allow_failure]
        failed = [FailedCheck(one.name, head, int(_time(one.finished_at).timestamp())) for one in builds if head]
        return ForgeEvent(sent.project.path_with_namespace, failed=failed)
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
    return ForgeEvent(sent.project.path_with_namespace, _read_request(listed))


def _read_request(item: Any) -> PullRequest:  # noqa: ANN401 - any JSON
    """Read a request of which something is recorded. Errors: msgspec.ValidationError."""
    request = read_request(item, {})
    msgspec.convert(request.number, Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)])
    msgspec.convert([sha for sha in (request.head_sha, request.merge_sha) if sha is not None], list[_Sha])
    return request


def _time(text: str | None) -> datetime:
    """Return a time in either form that GitLab writes. Errors: msgspec.ValidationError."""
    try:
        time = datetime.fromisoformat((text or "").removesuffix(" UTC"))
    except ValueError:
        raise msgspec.ValidationError(f"{text!r} is not a time") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def observe_forge(event: ForgeEvent, repository: str, state: RepositoryState) -> Iterator[SubjectObserved]:
    """Yield what an event says that is not known yet of a repository's requests and of checks of its commits."""
    request = event.request
    if request is not None:
        known = state.requests.get(str(request.number))
        newest_s = 0 if known is None else max(known.sent_s, known.merged_s or known.closed_s or 0)
        if request.seen_s >= newest_s:  # otherwise it was sent before, and comes late
            for one in observe_listed(request, request.merge_sha, repository, state, request.seen_s):
                yield one._replace(facts=one.facts | {"sent": request.seen_s})
    for check in event.failed:
        facts: Facts = {"check": check_digest(check.name)}
        yield SubjectObserved(CHECK_FAILED, f"{CHECKS}:{repository}:{check.head}", check.at_s, facts)
