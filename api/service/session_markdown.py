"""Format the context of a session as Markdown, for an agent's prompt."""

from collections.abc import Iterator, Sequence

from api.service.action_items import ActionItem
from api.service.agent_context import AgentProfile, SessionContext
from api.service.compaction import Wisdom
from api.service.shared_patterns import SharedPattern
from events.guardrail import GuardrailSet
from projections.decisions.decision_state import DecisionState
from tallystick.shapes.calibration import CalibrationGroup

TITLE_CHARS_MAX = 50


def markdown(context: SessionContext, agent: str | None) -> str:
    """Return a section for each part of the context that is not empty."""
    sections = {
        "Profile": _profile(context.profile),
        "Calibration by category": _calibration(context.categories),
        "Waiting for an outcome": _queue(context.ready),
        "Guardrails": _guardrails(context.guardrails),
        "Shared patterns": _patterns(context.patterns.patterns if context.patterns is not None else ()),
        "Wisdom": _wisdom(context.wisdom or ()),
        "Earlier decisions": _decisions(context.relevant.decisions if context.relevant is not None else ()),
    }
    filled = [(title, list(lines)) for title, lines in sections.items()]
    blocks = ["\n".join([f"### {title}", "", *lines]) for title, lines in filled if lines]
    return "\n\n".join([f"## Decisions of {agent or 'everybody'}", *blocks]) + "\n"


def _profile(profile: AgentProfile) -> Iterator[str]:
    yield f"- {profile.total_decisions} decisions, {profile.reviewed} reviewed"
    if profile.overall_accuracy is not None and profile.brier_score is not None:
        yield f"- {_percent(profile.overall_accuracy)} went well; Brier score {_score(profile.brier_score)}"
    if profile.tendency is not None:
        evidence = "" if profile.tendency_supported else " (too few reviews to be sure)"
        yield f"- Tendency: {profile.tendency.replace('_', ' ')}{evidence}"
    if profile.strongest_category is not None and profile.weakest_category is not None:
        yield f"- Strongest in {_line(profile.strongest_category)}, weakest in {_line(profile.weakest_category)}"


def _calibration(categories: Sequence[CalibrationGroup]) -> Iterator[str]:
    if categories:
        yield "|category|went well|Brier score|reviewed|"
        yield "|-|-|-|-|"
    for it in categories:
        label = _line(it.group or "").replace("|", "\\|")
        yield f"|{label}|{_percent(it.accuracy or 0.0)}|{_score(it.brier_score or 0.0)}|{it.reviewed}|"


def _queue(items: Sequence[ActionItem]) -> Iterator[str]:
    for item in items:
        yield f"- {item.decision_id}: {_line(item.title or '')} ({item.detail})"


def _guardrails(rules: Sequence[GuardrailSet]) -> Iterator[str]:
    for rule in rules:
        yield f"- {rule.guardrail_id} ({rule.action}){': ' if rule.description else ''}{_line(rule.description or '')}"


def _patterns(patterns: Sequence[SharedPattern]) -> Iterator[str]:
    for pattern in patterns:
        yield f"- {_line(pattern.pattern)} ({pattern.count} decisions)"


def _wisdom(rows: Sequence[Wisdom]) -> Iterator[str]:
    for row in rows:
        yield f"- {_line(row.category)} ({row.decisions} decisions, {_percent(row.success_rate)} success)"
        for principle in row.principles:
            yield f"  - {_line(principle.text)} ({principle.confirmations} decisions)"
        if row.common_failure is not None:
            yield f"  - Most failures: {_line(row.common_failure)}"


def _decisions(states: Sequence[DecisionState]) -> Iterator[str]:
    for state in states:
        confidence, outcome = state.decision.confidence, state.review.outcome if state.review is not None else "pending"
        stated = "" if confidence is None else f", stated {confidence + 0.0}"
        yield f"- {state.decision_id}: {_line(state.decision.decision[:TITLE_CHARS_MAX])} ({outcome}{stated})"


def _score(value: float) -> float:
    return round(value, 3) + 0.0


def _percent(share: float) -> str:
    return f"{_score(share):.0%}"


def _line(text: str) -> str:
    """Put a text on one line, so that it cannot end its list or section."""
    return " ".join(text.split())
