"""Format the context of a session as Markdown, for an agent's prompt."""

from collections.abc import Iterator, Mapping
from typing import Any


def markdown(context: Mapping[str, Any], agent: str | None) -> str:
    """Return a section for each part of the context that is not empty."""
    sections = {
        "Profile": _profile(context["agentProfile"]),
        "Calibration by category": _calibration(context["calibrationByCategory"]),
        "Waiting for an outcome": _queue(context["readyQueue"]),
        "Guardrails": _guardrails(context["activeGuardrails"]),
        "Shared patterns": _patterns(context["confirmedPatterns"]),
        "Wisdom": _wisdom(context.get("wisdom", [])),
        "Earlier decisions": _decisions(context["relevantDecisions"]),
    }
    filled = [(title, list(lines)) for title, lines in sections.items()]
    blocks = ["\n".join([f"### {title}", "", *lines]) for title, lines in filled if lines]
    return "\n\n".join([f"## Decisions of {agent or 'everybody'}", *blocks]) + "\n"


def _profile(profile: Mapping[str, Any]) -> Iterator[str]:
    yield f"- {profile['totalDecisions']} decisions, {profile['reviewed']} reviewed"
    if "overallAccuracy" in profile:
        yield f"- {profile['overallAccuracy']:.0%} went well; Brier score {profile['brierScore']}"
    if "tendency" in profile:
        evidence = "" if profile["tendencySupported"] else " (too few reviews to be sure)"
        yield f"- Tendency: {_words(profile['tendency'])}{evidence}"
    if "strongestCategory" in profile:
        yield f"- Strongest in {_line(profile['strongestCategory'])}, weakest in {_line(profile['weakestCategory'])}"


def _calibration(categories: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if categories:
        yield "|category|went well|Brier score|reviewed|"
        yield "|-|-|-|-|"
    for name, scores in categories.items():
        label = _line(name).replace("|", "\\|")
        yield f"|{label}|{scores['accuracy']:.0%}|{scores['brierScore']}|{scores['reviewedDecisions']}|"


def _queue(queue: list[Mapping[str, str]]) -> Iterator[str]:
    for item in queue:
        yield f"- {item['id']}: {_line(item['title'])} ({item['detail']})"


def _guardrails(rules: list[Mapping[str, Any]]) -> Iterator[str]:
    for rule in rules:
        yield f"- {rule['id']} ({rule['action']}){': ' if rule['description'] else ''}{_line(rule['description'])}"


def _patterns(patterns: list[Mapping[str, Any]]) -> Iterator[str]:
    for pattern in patterns:
        yield f"- {_line(pattern['pattern'])} ({pattern['count']} decisions)"


def _wisdom(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"- {_line(row['category'])} ({row['decisions']} decisions, {row['successRate']:.0%} success)"
        for principle in row.get("keyPrinciples", ()):
            yield f"  - {_line(principle['text'])} ({principle['confirmations']} decisions)"
        if "commonFailureMode" in row:
            yield f"  - Most failures: {_line(row['commonFailureMode'])}"


def _decisions(decisions: list[Mapping[str, Any]]) -> Iterator[str]:
    for row in decisions:
        stated = f", stated {row['confidence']}" if "confidence" in row else ""
        yield f"- {row['id']}: {_line(row['title'])} ({row.get('outcome', 'pending')}{stated})"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _line(text: str) -> str:
    """Put a text on one line, so that it cannot end its list or section."""
    return " ".join(text.split())
