"""Read lists of pull requests as forges give them: `gh pr list --json`, GitHub's and GitLab's REST lists, and CSV.

What a list does not have stays unknown. A check counts if it ended before the request did: a list shows the checks of
the branch as it is now. Skipped, neutral, cancelled and missing checks are no evidence, though a forge lets them pass.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from instruments.errors import SourceUnreadable
from instruments.git.agents import Mark, OwnRule, marks_of_account

Checks = Literal["green", "red", "flaky", "none"]
"""green: every check succeeded, and there is one; red: one failed; flaky: one failed, and succeeded when repeated."""

CheckResult = Literal["succeeded", "failed", "flaky", "other"]
"""The result of one check: flaky failed, and succeeded when repeated; other is no evidence."""

Review = Literal["approved", "changes_requested", "none"]

FIELDS: Final = (
    "number,state,author,headRefName,headRefOid,createdAt,closedAt,mergedAt,updatedAt,mergeCommit,reviewDecision,"
    "statusCheckRollup"
)
"""What `gh pr list --json` must be asked for."""

_ADVICE = f"Make it with: gh pr list --state all --limit 100000 --json {FIELDS}."
_CSV_COLUMNS = ("agent", "created_at", "closed_at", "merged_at")
FAILED: Final = frozenset(("failure", "timed_out", "startup_failure", "error"))
"""The conclusions of a check that failed."""

_WORSE: Sequence[CheckResult] = ("succeeded", "flaky", "other", "failed")
_COMBINED: Mapping[CheckResult, Checks] = {"succeeded": "green", "flaky": "flaky", "other": "none", "failed": "red"}
_REVIEWS: Mapping[str, Review] = {"APPROVED": "approved", "CHANGES_REQUESTED": "changes_requested"}
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request, or a merge request. Times are seconds since 1970."""

    number: int | None
    marks: tuple[Mark, ...]
    is_author_known: bool
    created_s: int
    closed_s: int | None
    """When it was closed without a merge."""
    merged_s: int | None
    seen_s: int
    """The newest time that is known of it."""
    head_sha: str | None
    """The last commit of its branch."""
    merge_sha: str | None
    """The change that it landed as."""
    review: Review | None
    checks: Mapping[str, CheckResult] | None
    """The result of each check, by its name; None if the list has none of any request."""

    @property
    def result(self) -> Checks | None:
        """The result of its checks together; None if the list does not have it."""
        return None if self.checks is None else combine_checks(self.checks.values())


class ForgeCheck(msgspec.Struct, frozen=True):
    """A check run, or a status of a commit."""

    name: str | None = None
    context: str | None = None
    workflow_name: str | None = msgspec.field(default=None, name="workflowName")
    conclusion: str | None = None
    state: str | None = None
    started: _Time | None = msgspec.field(default=None, name="startedAt")
    completed: _Time | None = msgspec.field(default=None, name="completedAt")


class _Account(msgspec.Struct, frozen=True):
    login: str | None = None
    username: str | None = None


class _Commit(msgspec.Struct, frozen=True):
    oid: str


class _Branch(msgspec.Struct, frozen=True):
    ref: str | None = None
    sha: str | None = None


class _GhRequest(msgspec.Struct, frozen=True, rename="camel"):
    created_at: _Time
    closed_at: _Time | None = None
    merged_at: _Time | None = None
    updated_at: _Time | None = None
    number: int | None = None
    author: _Account | None = None
    head_ref_name: str = ""
    head_ref_oid: str | None = None
    merge_commit: _Commit | None = None
    review_decision: str | None = None
    status_check_rollup: list[ForgeCheck] | None = None


class _RestRequest(msgspec.Struct, frozen=True):
    """A request of either REST interface."""

    created_at: _Time
    closed_at: _Time | None = None
    merged_at: _Time | None = None
    updated_at: _Time | None = None
    number: int | None = None
    iid: int | None = None
    user: _Account | None = None
    author: _Account | None = None
    head: _Branch | None = None
    source_branch: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    sha: str | None = None


def read_pull_requests(file: Path, rules: Mapping[str, OwnRule]) -> Sequence[PullRequest]:
    """Read a list of requests. Errors: SourceUnreadable, which names the request and its field."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceUnreadable(f"{file} cannot be read: {error.strerror}.", "Name a file that exists.") from None
    if data.lstrip()[:1] in {b"[", b"{"}:
        return list(_read_json(file, data, rules))
    return list(_read_csv(file, data))


def _read_json(file: Path, data: bytes, rules: Mapping[str, OwnRule]) -> Iterable[PullRequest]:
    place = 0
    for value in _values(file, data):
        for item in value if isinstance(value, list) else [value]:
            try:
                yield read_request(item, rules)
            except msgspec.ValidationError as error:
                raise SourceUnreadable(f"{file}: request {place + 1}: {error}", _ADVICE) from None
            place += 1


def _values(file: Path, data: bytes) -> Iterable[Any]:
    """Yield the values of a file: one, one a line, or pages one after another, as `gh api --paginate` prints them."""
    decoder, at, text = json.JSONDecoder(), 0, data.decode(errors="replace").strip()
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise SourceUnreadable(f"{file} is not a list of requests: {error}", _ADVICE) from None
        yield value
        at = end
        while at < len(text) and text[at].isspace():
            at += 1


def read_request(item: Any, rules: Mapping[str, OwnRule]) -> PullRequest:  # noqa: ANN401 - any JSON
    """Read one request of a list. Errors: msgspec.ValidationError."""
    if isinstance(item, dict) and "created_at" in item:
        return _from_rest(msgspec.convert(item, _RestRequest), rules)
    return _from_gh(msgspec.convert(item, _GhRequest), rules)


def _from_gh(found: _GhRequest, rules: Mapping[str, OwnRule]) -> PullRequest:
    ended = found.merged_at or found.closed_at
    review = None if found.review_decision is None else _REVIEWS.get(found.review_decision, "none")
    checks = found.status_check_rollup
    return PullRequest(
        number=found.number,
        marks=_marks(found.author, found.head_ref_name, rules),
        is_author_known=True,
        **_times(found),
        head_sha=found.head_ref_oid,
        merge_sha=None if found.merge_commit is None else found.merge_commit.oid,
        review=review,
        checks=None if checks is None else check_results(checks, ended),
    )


def _from_rest(found: _RestRequest, rules: Mapping[str, OwnRule]) -> PullRequest:
    is_gitlab = found.iid is not None
    branch = found.source_branch if is_gitlab else found.head and found.head.ref
    author = found.author if is_gitlab else found.user
    # the merge commit of an open request is a trial
    merged = found.squash_commit_sha or found.merge_commit_sha or (found.sha if is_gitlab else None)
    return PullRequest(
        number=found.iid if is_gitlab else found.number,
        marks=_marks(author, branch or "", rules),
        is_author_known=author is not None,
        **_times(found),
        head_sha=found.sha if is_gitlab or found.head is None else found.head.sha,
        merge_sha=None if found.merged_at is None else merged,
        review=None,
        checks=None,
    )


def _times(found: _GhRequest | _RestRequest) -> dict[str, Any]:
    times = [found.created_at, found.closed_at, found.merged_at, found.updated_at]
    return {
        "created_s": _seconds(found.created_at),
        "merged_s": _seconds(found.merged_at),
        "closed_s": _seconds(found.closed_at) if found.merged_at is None else None,
        "seen_s": max(int(time.timestamp()) for time in times if time is not None),
    }


def _seconds(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp())


def check_results(checks: Sequence[ForgeCheck], ended: datetime | None) -> Mapping[str, CheckResult]:
    """Return the result of each check by its name: all attempts, as far as they ended before the request did.

    Checks of the same name in several workflows are one, with the worst of their results.
    """
    by_name: dict[tuple[str, str], list[str]] = {}
    for check in sorted(checks, key=lambda check: check.completed or check.started or datetime.max.replace(tzinfo=UTC)):
        if ended is None or (check.completed or check.started or ended) <= ended:
            name = check.name or check.context or ""
            by_name.setdefault((name, check.workflow_name or ""), []).append(
                (check.conclusion or check.state or "").lower()
            )
    found: dict[str, CheckResult] = {}
    for (name, _), results in by_name.items():
        worst: Sequence[CheckResult] = [found.get(name, "succeeded"), _of_attempts(results)]
        found[name] = max(worst, key=_WORSE.index)
    return found


def _of_attempts(results: Sequence[str]) -> CheckResult:
    if results[-1] in FAILED:
        return "failed"
    if results[-1] != "success":
        return "other"
    return "flaky" if any(result in FAILED for result in results) else "succeeded"


def combine_checks(results: Collection[CheckResult]) -> Checks:
    """Return the result of some checks together."""
    return _COMBINED[max(results, key=_WORSE.index)] if results else "none"


def _marks(account: _Account | None, branch: str, rules: Mapping[str, OwnRule]) -> tuple[Mark, ...]:
    login = "" if account is None else account.login or account.username or ""
    return tuple(marks_of_account(login, branch, rules))


def _read_csv(file: Path, data: bytes) -> Iterable[PullRequest]:
    rows = csv.DictReader(io.StringIO(data.decode(errors="replace"), newline=""))
    if missing := [name for name in _CSV_COLUMNS if name not in (rows.fieldnames or ())]:
        detail = f"{file} is neither JSON nor a table with the columns {', '.join(_CSV_COLUMNS)}"
        raise SourceUnreadable(f"{detail}: it lacks {', '.join(missing)}.", _ADVICE)
    for place, row in enumerate(rows, 2):
        created, closed, merged = (_csv_time(file, place, name, row[name]) for name in _CSV_COLUMNS[1:])
        if created is None:
            raise SourceUnreadable(f"{file}: line {place}: created_at is empty.", "Write 2026-02-05T14:30:00Z.")
        agent = (row["agent"] or "").strip()
        yield PullRequest(
            number=None,
            marks=(Mark(agent, "stated"),) if agent else (),
            is_author_known=True,
            created_s=created,
            closed_s=closed if merged is None else None,
            merged_s=merged,
            seen_s=max(time for time in (created, closed, merged) if time is not None),
            head_sha=None,
            merge_sha=None,
            review=None,
            checks=None,
        )


def _csv_time(file: Path, place: int, name: str, text: str | None) -> int | None:
    if not text:
        return None
    try:
        return _seconds(msgspec.convert(text, _Time))
    except msgspec.ValidationError:
        detail = f"{file}: line {place}: {name} {text!r} is not a time."
        raise SourceUnreadable(detail, "Write 2026-02-05T14:30:00Z.") from None
