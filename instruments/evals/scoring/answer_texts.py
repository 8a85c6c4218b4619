"""The texts of an analysis that are searched, each with the path of its field.

Blank texts are left out. The items of a list are also joined by line feeds into one text with the name of the list,
because a match may extend over several items.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from instruments.evals.analysis import Analysis, AnalysisVerdict, Decision, Hypothesis, RootCause
from instruments.evals.scoring.mention_credit import ReadingRules

UNKNOWN = "unknown"
"""The failure class of an analysis that states none."""

CLAIM_RULES = ReadingRules(hedges=True, alternatives_min=2, keywords=True)
FIX_RULES = ReadingRules(hedges=True, alternatives_min=3, keywords=True)
HYPOTHESIS_RULES = ReadingRules(alternatives_min=2, keywords=True)


class AnswerText(NamedTuple):
    """One text, and its path, such as `decision.why[1]`."""

    where: str
    text: str


class TextLocation(NamedTuple):
    """Texts that are searched together."""

    name: str
    items: tuple[AnswerText, ...]
    joined: tuple[AnswerText, ...] = ()
    """Lists of several items, each joined into one text."""
    rules: ReadingRules = ReadingRules()
    """How its texts are read."""


def root_cause_location(analysis: Analysis) -> TextLocation:
    """Return the root cause that the analysis names."""
    items = _item("rca.root_cause", (analysis.rca or RootCause()).root_cause)
    return TextLocation("rca.root_cause", items, rules=CLAIM_RULES)


def reasons_location(analysis: Analysis) -> TextLocation:
    """Return the reasons of the decision."""
    return _list_location("decision.why", (analysis.decision or Decision()).why)._replace(rules=CLAIM_RULES)


def hypothesis_location(at: int, hypothesis: Hypothesis) -> TextLocation:
    """Return title and reasons of the hypothesis at a 0-based place."""
    return TextLocation(f"hypotheses[{at}]", *_hypothesis_texts(at, hypothesis), HYPOTHESIS_RULES)


def fix_location(analysis: Analysis) -> TextLocation:
    """Return the texts about a fix."""
    remediation = _list_location("rca.remediation", (analysis.rca or RootCause()).remediation)
    following = step_location(analysis)
    return TextLocation("fix", remediation.items + following.items, remediation.joined + following.joined, FIX_RULES)


def step_location(analysis: Analysis) -> TextLocation:
    """Return the texts about next steps."""
    decision = _list_location("decision.next", (analysis.decision or Decision()).next)
    verdict = _list_location("verdict.next_steps", (analysis.verdict or AnalysisVerdict()).next_steps)
    return TextLocation("steps", decision.items + verdict.items, decision.joined + verdict.joined)


def hypothesis_locations(analysis: Analysis) -> list[tuple[Hypothesis, TextLocation]]:
    """Return each hypothesis that has any text, with its title, reasons, id and failure class."""
    locations = []
    for at, hypothesis in enumerate(analysis.hypotheses or ()):
        items, joined = _hypothesis_texts(at, hypothesis)
        items += _item(f"hypotheses[{at}].hypothesis_id", hypothesis.hypothesis_id)
        items += _item(f"hypotheses[{at}].failure_mode", hypothesis.failure_mode)
        if items:
            locations.append((hypothesis, TextLocation(f"hypotheses[{at}]", items, joined, HYPOTHESIS_RULES)))
    return locations


def label_location(analysis: Analysis) -> TextLocation:
    """Return the decision's label."""
    return TextLocation("decision.label", _item("decision.label", (analysis.decision or Decision()).label))


def stated_class_location(analysis: Analysis) -> TextLocation:
    """Return the failure classes that the analysis itself states."""
    items = _item("failure_mode", analysis.failure_mode)
    items += _item("rca.failure_mode", (analysis.rca or RootCause()).failure_mode)
    return TextLocation("failure_mode", tuple(item for item in items if item.text.strip().casefold() != UNKNOWN))


def _item(where: str, text: str | None) -> tuple[AnswerText, ...]:
    return (AnswerText(where, text),) if text is not None and text.strip() else ()


def _list_location(name: str, texts: Sequence[str] | None) -> TextLocation:
    items = tuple(AnswerText(f"{name}[{at}]", text) for at, text in enumerate(texts or ()) if text.strip())
    return TextLocation(name, items, _joined(name, texts or ()) if len(items) > 1 else ())


def _hypothesis_texts(at: int, hypothesis: Hypothesis) -> tuple[tuple[AnswerText, ...], tuple[AnswerText, ...]]:
    """Return title and reasons of a hypothesis, as items and as one text named `hypotheses[at]`."""
    name, reasons = f"hypotheses[{at}]", hypothesis.why or ()
    why_items = tuple(AnswerText(f"{name}.why[{number}]", text) for number, text in enumerate(reasons) if text.strip())
    items = _item(f"{name}.title", hypothesis.title) + why_items
    return items, _joined(name, (hypothesis.title or "", *reasons)) if len(items) > 1 else ()


def _joined(name: str, texts: Iterable[str]) -> tuple[AnswerText, ...]:
    return (AnswerText(name, "\n".join(texts)),)
