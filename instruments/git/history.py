"""The outcomes of the changes of a repository's main line: a change is what a commit of the first-parent chain lands.

A squash or a direct push lands itself, a merge all that it brings. A change landed at its committer's time, made
monotone, since clocks run back. Nothing later than the newest landing is known: it is the watermark of every figure.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from instruments.errors import SourceUnreadable
from instruments.git.agents import Mark, OwnRule, agents_of, marks_of
from instruments.git.code_lines import FIX_FILES_MAX, counts, is_code, says_fix
from instruments.git.history_log import Commit, CommitDiff, FileEdit, read_changes, read_commits
from instruments.git.line_origins import LineOrigins
from instruments.git.repository import Repository
from instruments.git.reverts import INVERSE_S_MAX, RevertForm, content_key, find_reverts, number_of

DECISION_TRAILER: Final = "Tallystick-Decision"
"""The trailer of a commit that names the decision that it carries out."""

_decision = re.compile(
    rf"^[ \t]*{DECISION_TRAILER}:[ \t]*([A-Za-z0-9._-]{{1,64}})[ \t]*$", re.IGNORECASE | re.MULTILINE
)

ShowProgress = Callable[[int, int], None]


class LinesEnded(msgspec.Struct, frozen=True, gc=False):
    """Counted lines of a change that a later one changed or deleted."""

    by: int
    """The index of the later change."""
    lines: int


class ChangeReverted(msgspec.Struct, frozen=True, gc=False):
    """A later change took a change back, or a commit that it brought."""

    by: int
    form: RevertForm


class LandedChange(msgspec.Struct, frozen=True):
    """A change of the main line."""

    sha: str
    landed_s: int
    """Seconds since 1970."""
    marks: tuple[Mark, ...]
    number: int | None
    """The pull request that it landed."""
    commits: int
    """How many it landed: itself, and those that a merge brought."""
    files: int
    code_files: int
    is_fix: bool
    born: int
    """Counted lines that it gave birth to."""
    ended: tuple[LinesEnded, ...] = ()
    """Those of them that have ended, oldest first."""
    reverted: tuple[ChangeReverted, ...] = ()
    """The changes that took it back, oldest first."""
    brought: tuple[str, ...] = ()
    """Ids of the commits that a merge brought, oldest first."""
    decisions: tuple[str, ...] = ()
    """Ids of the decisions that its messages name, in trailers."""

    @property
    def agents(self) -> Sequence[str]:
        """The agents that marks name, by name; none: it is unmarked, not a person's."""
        return agents_of(self.marks)


class History(msgspec.Struct, frozen=True):
    """The changes of a main line, oldest first, and what limits what they show."""

    root: str
    """The id of the first commit, by which a repository is known."""
    head: str
    changes: Sequence[LandedChange]
    unresolved_reverts: int
    """Commits that say that they take back a change which is not here."""
    resolved_reverts: Mapping[RevertForm, int]
    """Commits that say what they take back, by how it was found."""
    main_merged: int
    """Changes that merge the main line into itself, as when people push such merges: units are then coarse."""
    is_shallow: bool
    """Whether older changes are missing: their lines are not counted."""
    seen_s: int = 0
    """When the repository was brought up to date, seconds since 1970, if that is known."""

    @property
    def watermark_s(self) -> int:
        """Through when outcomes are known, seconds since 1970: without more, the newest landing."""
        return max(self.seen_s, self.changes[-1].landed_s if self.changes else 0)


def read_history(
    repository: Repository, rules: Mapping[str, OwnRule], show_progress: ShowProgress = lambda done, total: None
) -> History:
    """Read the history that HEAD has. Errors: SourceUnreadable."""
    head = repository.text("rev-parse", "HEAD")
    commits = list(read_commits(repository, head))[::-1]
    landed_by = _landings(commits, head)
    chain = [commit for commit in commits if landed_by.get(commit.sha) == commit.sha]
    place = {commit.sha: index for index, commit in enumerate(chain)}
    brought: dict[int, list[Commit]] = {index: [] for index in range(len(chain))}
    for commit in commits:
        brought[place[landed_by[commit.sha]]].append(commit)
    ignored = _ignored(repository, head)
    if is_shallow := repository.text("rev-parse", "--is-shallow-repository") == "true":
        ignored |= {chain[0].sha}  # its lines are from changes that are not here
    changes = _Changes(brought, rules, ignored)
    for done, change in enumerate(read_changes(repository, head), 1):
        changes.add(change)
        show_progress(done, len(chain))
    found, unresolved = find_reverts(commits)
    for revert in found:
        by, of = (place[landed_by[commits[index].sha]] for index in (revert.by, revert.of))
        changes.note_revert(by, of, revert.form)
    return History(
        root=commits[0].sha,
        head=head,
        changes=changes.landed(),
        unresolved_reverts=unresolved,
        resolved_reverts=Counter(revert.form for revert in found),
        main_merged=sum(
            commit.subject.startswith(("Merge branch 'main'", "Merge branch 'master'")) for commit in chain
        ),
        is_shallow=is_shallow,
    )


def _landings(commits: Iterable[Commit], head: str) -> Mapping[str, str]:
    """Return by commit the one of the first-parent chain that landed it; commits are listed parents first."""
    by_sha = {commit.sha: commit for commit in commits}
    chain: list[str] = []
    sha: str | None = head
    while sha is not None and sha in by_sha:
        chain.append(sha)
        sha = by_sha[sha].parents[0] if by_sha[sha].parents else None
    landed: dict[str, str] = {}
    for sha in reversed(chain):
        waiting = [sha]
        while waiting:
            commit = waiting.pop()
            if commit in by_sha and commit not in landed:
                landed[commit] = sha
                waiting += by_sha[commit].parents
    return landed


def _ignored(repository: Repository, head: str) -> frozenset[str]:
    """Return the ids of the changes that `git blame` would ignore, such as those that only format."""
    try:
        text = repository.text("show", f"{head}:.git-blame-ignore-revs")
    except SourceUnreadable:  # most have no such file
        return frozenset()
    return frozenset(line.partition("#")[0].strip().lower() for line in text.splitlines())


def _of_code(edits: Iterable[FileEdit]) -> Iterable[FileEdit]:
    """Return what a change does to code. A line that moves to a file of another kind ends, as one that is deleted."""
    for edit in edits:
        old, new = (path if path is not None and is_code(path) else None for path in (edit.old, edit.new))
        if old is not None or new is not None:
            yield FileEdit(old, new, edit.hunks)


class _Changes:
    """The changes of a chain, as they are read."""

    def __init__(
        self, brought: Mapping[int, Sequence[Commit]], rules: Mapping[str, OwnRule], ignored: frozenset[str]
    ) -> None:
        self._brought = brought
        self._rules = rules
        self._ignored = ignored
        self._origins = LineOrigins(counts)
        self._landed: list[LandedChange] = []
        self._ended: list[list[LinesEnded]] = []
        self._reverted: list[list[ChangeReverted]] = []
        self._by_content: dict[bytes, int] = {}

    def add(self, change: CommitDiff) -> None:
        """Add the next change."""
        index, commit = len(self._landed), change.commit
        brought = self._brought[index]
        is_ignored = commit.sha in self._ignored
        lines = self._origins.apply(index, _of_code(change.edits), is_ignored=is_ignored)
        files = {edit.new or edit.old for edit in change.edits}
        self._landed.append(
            LandedChange(
                sha=commit.sha,
                landed_s=max(commit.committed_s, self._landed[-1].landed_s if self._landed else 0),
                marks=tuple(dict.fromkeys(mark for one in brought for mark in marks_of(one, self._rules))),
                number=number_of(commit),
                commits=len(brought),
                files=len(files),
                code_files=sum(path is not None and is_code(path) for path in files),
                is_fix=says_fix(commit.subject) and len(files) <= FIX_FILES_MAX and not is_ignored,
                born=lines.born,
                brought=tuple(one.sha for one in brought if one.sha != commit.sha),
                decisions=tuple(dict.fromkeys(name for one in brought for name in _decision.findall(one.message))),
            )
        )
        self._ended.append([])
        self._reverted.append([])
        for origin, count in sorted(lines.ended.items()):
            if origin >= 0:
                self._ended[origin].append(LinesEnded(index, count))
        self._note_inverse(index, change.edits)

    def _note_inverse(self, index: int, edits: Sequence[FileEdit]) -> None:
        inverse = content_key(edits, inverse=True)
        of = None if inverse is None else self._by_content.get(inverse)
        if of is not None and self._landed[index].landed_s - self._landed[of].landed_s <= INVERSE_S_MAX:
            self.note_revert(index, of, "content")
        if (key := content_key(edits)) is not None:
            self._by_content[key] = index

    def note_revert(self, by: int, of: int, form: RevertForm) -> None:
        """Note that a change takes another one back. Its message counts before its content.

        A commit that is taken back before it lands with its revert condemns nothing.
        """
        if by == of:
            return
        known = [one for one in self._reverted[of] if one.by != by]
        self._reverted[of] = sorted([*known, ChangeReverted(by, form)], key=lambda one: one.by)

    def landed(self) -> Sequence[LandedChange]:
        """Return the changes with their outcomes."""
        return [
            msgspec.structs.replace(change, ended=tuple(ended), reverted=tuple(reverted))
            for change, ended, reverted in zip(self._landed, self._ended, self._reverted, strict=True)
        ]
