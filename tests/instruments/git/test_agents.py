"""Which agents a commit's marks name."""

from pathlib import Path

import pytest

from instruments.errors import SourceUnreadable
from instruments.git.agents import ROBOT, Mark, OwnRule, agents_of, marks_of, read_rules
from instruments.git.history_log import Commit
from tests.instruments.git.commits import commit

GITHUB = "users.noreply.github.com"


def by(address: str, name: str = "Somebody") -> Commit:
    return commit(author=name, address=address)


def with_trailer(trailer: str) -> Commit:
    return commit(f"Do it\n\nBecause.\n\nCo-authored-by: {trailer}\nSigned-off-by: Ann <ann@example.org>")


CASES = {
    "a web session": (by("noreply@anthropic.com", "Claude"), Mark("claude", "author")),
    "a bot's address": (by(f"158243242+devin-ai-integration[bot]@{GITHUB}"), Mark("devin", "author")),
    "a bot's name": (by(f"1+x@{GITHUB}", "copilot-swe-agent[bot]"), Mark("copilot", "author")),
    "upper case": (by("CursorAgent@Cursor.com"), Mark("cursor", "author")),
    "aider's suffix": (by("ann@example.org", "Ann (aider)"), Mark("aider", "author")),
    "a trailer with a model": (
        with_trailer("Claude Opus 4.6 (1M context) <noreply@anthropic.com>"),
        Mark("claude", "trailer", "Claude Opus 4.6 (1M context)"),
    ),
    "a trailer without a model": (with_trailer("Claude <noreply@anthropic.com>"), Mark("claude", "trailer")),
    "a trailer without an address": (
        with_trailer("Claude Sonnet 4.5"), Mark("claude", "trailer", "Claude Sonnet 4.5"),
    ),
    "aider's trailer": (
        with_trailer("aider (gpt-5.1) <noreply@aider.chat>"), Mark("aider", "trailer", "gpt-5.1"),
    ),
    "Copilot in an editor": (with_trailer(f"Copilot <223556219+Copilot@{GITHUB}>"), Mark("copilot", "trailer")),
    "Codex by choice": (with_trailer("Codex <noreply@openai.com>"), Mark("codex", "trailer")),
    "the kernel's trailer": (
        commit("Do it\n\nAssisted-by: claude:claude-opus-4.6"), Mark("claude", "trailer", "claude-opus-4.6"),
    ),
    "a footer": (
        commit("Do it\n\nGenerated with [Claude Code](https://claude.ai/code)"), Mark("claude", "footer"),
    ),
    "a session's link": (
        commit("Do it\n\nClaude-Session: https://claude.ai/code/session_1"), Mark("claude", "footer"),
    ),
    "a merged branch": (commit("Merge pull request #7 from ann/codex/fix-it"), Mark("codex", "branch")),
    "a robot": (by(f"49699333+dependabot[bot]@{GITHUB}", "dependabot[bot]"), Mark(ROBOT, "author")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_marks(case: str) -> None:
    one, mark = CASES[case]
    assert marks_of(one, {}) == [mark]


PEOPLE = {
    "a person called Claude": by("claude.shannon@example.org", "Claude Shannon"),
    "aider's author": by("paul@aider.chat", "Paul"),
    "staff of a maker": by("ann@anthropic.com", "Ann"),
    "a person's own edit, committed by aider": commit(committer="Ann (aider)"),
    "a reviewer whose suggestion was accepted": with_trailer(
        f"Copilot Autofix powered by AI <62310815+github-advanced-security[bot]@{GITHUB}>"
    ),
    "a person called Claude as a co-author": with_trailer("Claude Monet <claude@example.org>"),
    "a branch of a person": commit("Merge pull request #7 from codex/main"),
}


@pytest.mark.parametrize("case", PEOPLE)
def test_no_marks(case: str) -> None:
    assert marks_of(PEOPLE[case], {}) == []


def test_several_agents_and_robots() -> None:
    one = commit(
        "Do it\n\nCo-authored-by: Claude <noreply@anthropic.com>\nCo-authored-by: Cursor <cursoragent@cursor.com>",
        author="renovate[bot]",
    )
    assert agents_of(marks_of(one, {})) == ["claude", "cursor"]
    assert agents_of(marks_of(commit(author="renovate[bot]"), {})) == [ROBOT]
    assert agents_of([]) == []


def test_rules_of_the_owner(tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text(
        '[agents.house]\naddresses = ["Bot@Example.org"]\nname_endings = [" (house)"]\nbranches = ["house/"]\n'
    )
    rules = read_rules(file)
    assert rules == {"house": OwnRule(("Bot@Example.org",), (" (house)",), ("house/",))}
    for one in (by("bot@example.org"), by("a@b", "Ann (house)"), commit("Merge pull request #1 from ann/house/x")):
        assert marks_of(one, rules) == [Mark("house", "owner")]
    assert marks_of(commit(), rules) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agents.x]\nadresses = []\n", "unknown field `adresses`"),
        ("[agents\n", "line 1"),
        ("agents = 3\n", "Expected `object`"),
    ],
)
def test_rules_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "agents.toml"
    file.write_text(text)
    with pytest.raises(SourceUnreadable) as caught:
        read_rules(file)
    assert said in caught.value.detail
    assert "addresses" in caught.value.advice


def test_rules_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="No such file"):
        read_rules(tmp_path / "none.toml")
