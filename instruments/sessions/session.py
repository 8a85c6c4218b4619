"""What a session of a coding agent shows, whichever program wrote it. Free texts are not kept.

A file repeats: an answer has several lines, forks and resumed sessions copy lines of others. So answers and calls are
counted by the ids that the model's provider gave them, once over all files.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from events.call import CallVerdict, DeniedBy, ModelSwitch, VerdictBasis
from instruments.sessions.json_lines import FileLines

COMMIT: Final = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,40})\]", re.MULTILINE)
"""What `git commit` prints."""

PULL_REQUEST: Final = re.compile(r"https://[^\s\"'\\]+/(?:pull|merge_requests)/\d+")
"""The address of a request, as the commands that open one print it."""

OTHER_TOOL = "other"
"""Stands for the names of tools that users or servers define."""


class Tokens(msgspec.Struct):
    """Tokens: of the input those that were not cached, read from the cache, and written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def add(self, other: "Tokens") -> None:
        """Add other tokens."""
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write


class SessionAnswer(msgspec.Struct):
    """An answer of a model."""

    id: str
    model: str | None
    """The model that answered, as the provider's answer names it; None if the file does not say it."""
    requested: str | None
    """The model that was asked for, if the file says it."""
    time: str
    tokens: Tokens
    version: str | None = None
    """The version of the program, if the line has it."""
    switch: ModelSwitch | None = None
    """Whether another model answered than before, and what the file says about it."""


class SessionCall(msgspec.Struct):
    """A call of a tool."""

    id: str
    tool: str
    time: str
    verdict: CallVerdict | None = None
    """None: the file has no result."""
    by: DeniedBy | None = None
    basis: VerdictBasis | None = None
    model: str | None = None
    """The model that made it, if the file says it."""
    requested: str | None = None
    """The model that was asked for, if the file says it."""


class MadeDecision(msgspec.Struct, frozen=True):
    """Something that others can call right or wrong later: a commit, or a pull request."""

    request: int | None
    """The number of the request; None: it is a commit."""
    commit: str | None
    """The commit, perhaps shortened, or the last one before the request."""
    time: str
    model: str | None
    """The model that answered, if the file says it."""
    requested: str | None
    """The model that was asked for, if the file says it."""


CallEnd = tuple[CallVerdict, DeniedBy | None, VerdictBasis | None]
"""How a call ended, who denied it, and on what that rests."""


class ReadFile(NamedTuple):
    """A file that was read, and what of it."""

    path: Path
    counts: FileLines


class AgentSession(msgspec.Struct, kw_only=True):
    """A session: what its files show, but for what other sessions had before."""

    program: str
    """claude-code, codex, gemini-cli, opencode."""
    id: str
    versions: list[str] = []
    first_time: str = ""
    last_time: str = ""
    is_headless: bool = False
    """Whether a program asked, and no person."""
    answers: dict[str, SessionAnswer] = {}
    calls: dict[str, SessionCall] = {}
    prompts: int = 0
    """Prompts that people or programs wrote, not what the agent's program adds."""
    interruptions: int = 0
    """How often a person stopped a turn."""
    compactions: int = 0
    api_errors: int = 0
    model_changes: int = 0
    """How often another model was chosen in the session."""
    pull_requests: list[str] = []
    """Addresses of pull requests."""
    commits: list[str] = []
    """Ids of commits, perhaps shortened."""
    made: list[MadeDecision] = []
    """Its commits and pull requests, in their order."""
    subagents: int = 0
    """Files of sub-agents."""
    named_subagents: dict[str, bool] = {}
    """Sub-agents that a call's result names, and whether their file was read."""
    unknown: dict[str, int] = {}
    """Kinds of lines that are not known here, and how many there are."""
    files: list[ReadFile] = []
    """Its files."""

    @property
    def tokens(self) -> Tokens:
        """The tokens of all answers."""
        total = Tokens()
        for answer in self.answers.values():
            total.add(answer.tokens)
        return total

    def note_commits(self, call: SessionCall, commits: Iterable[str]) -> None:
        """Note the commits that the result of a call shows."""
        for commit in commits:
            if commit not in self.commits:
                self.commits.append(commit)
                self.made.append(MadeDecision(None, commit, call.time, call.model, call.requested))

    def note_requests(self, addresses: Iterable[str], time: str) -> None:
        """Note pull requests, by their addresses. They are of the model that answered last."""
        for address in addresses:
            if address not in self.pull_requests:
                self.pull_requests.append(address)
                last = next(reversed(self.answers.values()), None)
                model, requested = (None, None) if last is None else (last.model, last.requested)
                commit = self.commits[-1] if self.commits else None
                self.made.append(MadeDecision(int(address.rpartition("/")[2]), commit, time, model, requested))

    @property
    def missing_subagents(self) -> int:
        """How many sub-agents are named whose file is not there."""
        return sum(not is_read for is_read in self.named_subagents.values())


def words(text: str) -> frozenset[str]:
    """Return the words of a text, such as the names of tools."""
    return frozenset(text.split())
