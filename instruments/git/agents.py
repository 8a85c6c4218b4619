"""Recognise the agents that made a commit, by what they leave in it: addresses, trailers, footers, branches.

Marks are a floor: most agents can leave none, squashes drop trailers, and a commit without a mark may be an agent's,
too. A mark proves help, not authorship by the agent alone. Whole addresses are compared: people have agents' names, and
share their makers' domains. `docs/explanation/adopt.md` has the sources.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from instruments.errors import SourceUnreadable
from instruments.git.history_log import Commit

RuleKind = Literal["author", "trailer", "footer", "branch", "owner", "request", "stated"]
"""Where the mark is.

`owner`: a rule of the repository's owner. `request`: the pull request that landed it. `stated`: a table says it.
"""

ROBOT: Final = "robot"
"""Programs that are no agents, such as those that renew dependencies."""

_AUTHORS: Mapping[str, tuple[str, ...]] = {
    "claude": ("noreply@anthropic.com", "209825114+claude[bot]@users.noreply.github.com"),
    "copilot": ("198982749+copilot@users.noreply.github.com",),
    "codex": ("199175422+chatgpt-codex-connector[bot]@users.noreply.github.com", "codex@example.com"),
    "cursor": (
        "cursoragent@cursor.com", "agent@cursor.com", "206951365+cursor[bot]@users.noreply.github.com",
    ),
    "devin": ("158243242+devin-ai-integration[bot]@users.noreply.github.com", "apk@cognition.ai"),
    "jules": ("161369871+google-labs-jules[bot]@users.noreply.github.com",),
    "opencode": ("noreply@opencode.ai",),
    "factory": ("138933559+factory-droid[bot]@users.noreply.github.com",),
    "openhands": ("openhands@all-hands.dev",),
    "amazon-q": ("208079219+amazon-q-developer[bot]@users.noreply.github.com",),
}  # fmt: skip
_TRAILERS: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude@anthropic.com", "242468646+claude@users.noreply.github.com"),
    "copilot": (
        "175728472+copilot@users.noreply.github.com", "223556219+copilot@users.noreply.github.com",
        "copilot@github.com",
    ),
    "codex": ("noreply@openai.com", "codex@openai.com"),
    "amp": ("amp@ampcode.com",),
}  # fmt: skip
"""Addresses that are in trailers only. Those of _AUTHORS are in trailers, too."""

_BOT_NAMES = {
    "claude[bot]": "claude", "copilot-swe-agent[bot]": "copilot", "chatgpt-codex-connector[bot]": "codex",
    "cursor[bot]": "cursor", "devin-ai-integration[bot]": "devin", "google-labs-jules[bot]": "jules",
    "opencode-agent[bot]": "opencode", "factory-droid[bot]": "factory", "amazon-q-developer[bot]": "amazon-q",
}  # fmt: skip
"""Names that nobody but the forge's application has."""

_ROBOTS = re.compile(
    r"^(dependabot|renovate|github-actions|pre-commit-ci|release-please|semantic-release|mergify|allcontributors)\b"
    r"|-bot$|\[bot\]$",
    re.IGNORECASE,
)
_FOOTERS = {
    "claude": re.compile(
        r"Generated with \[Claude Code\]\(https://claude\.(com/claude-code|ai/code)"
        r"|^Claude-Session: https://claude\.ai/code/",
        re.MULTILINE,
    ),
    "amp": re.compile(r"^Amp-Thread-ID: https://ampcode\.com/threads/", re.MULTILINE),
    "cursor": re.compile(r"Made with \[Cursor\]\(https://cursor\.com"),
}
_BRANCHES = ("claude", "codex", "copilot", "cursor", "devin")
_AIDER = re.compile(r" \(aider\)$")
_trailer = re.compile(r"^\s*co-authored-by:[ \t]*([^<\n]*?)[ \t]*(?:<([^>\n]*)>)?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_assisted = re.compile(r"^(?:Assisted|Generated)-by:[ \t]*([\w.-]+)(?::(\S+))?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_merged = re.compile(r"^Merge pull request #\d+ from [^/\s]+/(\S+)")

_by_author = {address: agent for agent, addresses in _AUTHORS.items() for address in addresses}
_by_trailer = _by_author | {address: agent for agent, addresses in _TRAILERS.items() for address in addresses}


class Mark(msgspec.Struct, frozen=True):
    """What shows that an agent made a commit."""

    agent: str
    rule: RuleKind
    model: str | None = None
    """The model that it names, as it is written there."""


class OwnRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Marks of an agent that the owner of a repository names: addresses, ends of names, beginnings of branches."""

    addresses: tuple[str, ...] = ()
    name_endings: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()


def read_rules(file: Path) -> Mapping[str, OwnRule]:
    """Read a TOML file with one table [agents.NAME] for each agent. Errors: SourceUnreadable."""
    advice = 'Write for each agent: [agents.NAME], and addresses = ["bot@example.com"], name_endings or branches.'
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Rules).agents
    except OSError as error:
        raise SourceUnreadable(f"{file} cannot be read: {error.strerror}.", "Name a file that exists.") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise SourceUnreadable(f"{file}: {error}.", advice) from None


class _Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agents: dict[str, OwnRule]


def marks_of(commit: Commit, rules: Mapping[str, OwnRule]) -> Sequence[Mark]:
    """Return the marks of a commit: at most one of each kind for an agent."""
    return list(dict.fromkeys([*_own_marks(commit, rules), *_author_marks(commit), *_message_marks(commit.message)]))


_LOGINS = {"copilot": "copilot", "claude": "claude", "cursoragent": "cursor"}
"""Accounts of forges beside those of applications."""


def marks_of_account(login: str, branch: str, rules: Mapping[str, OwnRule]) -> Iterable[Mark]:
    """Yield the marks of a pull request: its author's account at the forge, and its branch."""
    name = login.removeprefix("app/").removesuffix("[bot]")
    for agent, rule in rules.items():
        if login in rule.addresses or login.endswith(rule.name_endings) or branch.startswith(rule.branches):
            yield Mark(agent, "owner")
    known = _BOT_NAMES.get(f"{name}[bot]") or _LOGINS.get(login.lower())
    if known is not None:
        yield Mark(known, "author")
    elif _ROBOTS.search(login.removeprefix("app/")) is not None:
        yield Mark(ROBOT, "author")
    yield from _branch_marks(branch)


def agents_of(marks: Iterable[Mark]) -> Sequence[str]:
    """Return the agents of some marks by name; a robot counts only if there is no agent."""
    agents = sorted({mark.agent for mark in marks})
    return [agent for agent in agents if agent != ROBOT] or agents


def _own_marks(commit: Commit, rules: Mapping[str, OwnRule]) -> Iterable[Mark]:
    branch = _merged_branch(commit)
    for agent, rule in rules.items():
        if (
            commit.author_address.lower() in map(str.lower, rule.addresses)
            or commit.author_name.endswith(rule.name_endings)
            or branch.startswith(rule.branches)
        ):
            yield Mark(agent, "owner")


def _author_marks(commit: Commit) -> Iterable[Mark]:
    if _AIDER.search(commit.author_name) is not None:
        yield Mark("aider", "author")
    for name, address in (
        (commit.author_name, commit.author_address),
        (commit.committer_name, commit.committer_address),
    ):
        agent = _by_author.get(address.lower()) or _BOT_NAMES.get(name)
        if agent is not None:
            yield Mark(agent, "author")
            return
    if _ROBOTS.search(commit.author_name) is not None:
        yield Mark(ROBOT, "author")


def _message_marks(message: str) -> Iterable[Mark]:
    for name, address in _trailer.findall(message):
        agent = _by_trailer.get(address.lower()) or _BOT_NAMES.get(name)
        if agent is None and address.lower().endswith((".aider.chat", "@aider.chat", "@aider.dev")):
            agent = "aider" if name.lower().startswith("aider") else None
        if agent is None and name.startswith("Claude") and (not address or address.endswith("anthropic.com")):
            agent = "claude"
        if agent is not None:
            yield Mark(agent, "trailer", _model_of(agent, name))
    for agent, model in _assisted.findall(message):
        yield Mark(agent.lower(), "trailer", model or None)
    for agent, footer in _FOOTERS.items():
        if footer.search(message) is not None:
            yield Mark(agent, "footer")
    yield from _branch_marks(_branch(message))


def _branch_marks(branch: str) -> Iterable[Mark]:
    return (Mark(agent, "branch") for agent in _BRANCHES if branch.startswith(f"{agent}/"))


def _model_of(agent: str, name: str) -> str | None:
    """Return the model that the name in a trailer has: of `Claude Opus 4.6` all, of `aider (MODEL)` the model."""
    if agent == "aider":
        return name.partition("(")[2].rpartition(")")[0] or None
    return name if agent == "claude" and name not in {"Claude", "Claude Code", "claude[bot]"} else None


def _merged_branch(commit: Commit) -> str:
    return _branch(commit.message)


def _branch(message: str) -> str:
    found = _merged.match(message)
    return "" if found is None else found[1]
