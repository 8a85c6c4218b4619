"""Where an analysis says something: its texts, each under the name of its place.

A blank text says nothing and stands nowhere. Several items of one list are also one text, joined by line feeds, under
the name of the list, because what is looked for may go on in the next item.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from instruments.evals.analysis import Analysis, AnalysisVerdict, Decision, Hypothesis, RootCause

CONFIDENT = 80.0
"""From this confidence in percent on, a hypothesis can stand for the root cause."""


UNKNOWN = "unknown"
"""A class of failure that states none."""


class AnswerText(NamedTuple):
    """One text, and where it stands, such as `decision.why[1]`."""

    where: str
    text: str


class TextLocation(NamedTuple):
    """Texts that are judged together."""

    name: str
    items: tuple[AnswerText, ...]
    joined: tuple[AnswerText, ...] = ()
    """Lists of more than one item, each as one text."""


def root_causes(analysis: Analysis) -> list[tuple[float, TextLocation]]:
    """Where a root cause counts, and how many points there, the best first."""
    found: list[tuple[float, TextLocation]] = []
    if analysis.rca is not None:
        found.append((100.0, TextLocation("rca.root_cause", _item("rca.root_cause", analysis.rca.root_cause))))
    if analysis.decision is not None:
        found.append((90.0, _lists("decision.why", analysis.decision.why)))
    for at, hypothesis in enumerate(analysis.hypotheses or ()):
        if (hypothesis.confidence_0_100 or 0.0) >= CONFIDENT:
            found.append((80.0, TextLocation(f"hypotheses[{at}]", *_told(at, hypothesis))))
    return [(points, location) for points, location in found if location.items]


def fixes(analysis: Analysis) -> TextLocation:
    """All that would put it right."""
    remediation = _lists("rca.remediation", (analysis.rca or RootCause()).remediation)
    following = steps(analysis)
    return TextLocation("fix", remediation.items + following.items, remediation.joined + following.joined)


def steps(analysis: Analysis) -> TextLocation:
    """All that is to be done next."""
    decided = _lists("decision.next", (analysis.decision or Decision()).next)
    verdict = _lists("verdict.next_steps", (analysis.verdict or AnalysisVerdict()).next_steps)
    return TextLocation("steps", decided.items + verdict.items, decided.joined + verdict.joined)


def hypotheses(analysis: Analysis) -> list[TextLocation]:
    """Each hypothesis that says anything: its title and reasons, and how it is classed."""
    found = []
    for at, hypothesis in enumerate(analysis.hypotheses or ()):
        items, joined = _told(at, hypothesis)
        items += _item(f"hypotheses[{at}].hypothesis_id", hypothesis.hypothesis_id)
        items += _item(f"hypotheses[{at}].failure_mode", hypothesis.failure_mode)
        if items:
            found.append(TextLocation(f"hypotheses[{at}]", items, joined))
    return found


def label(analysis: Analysis) -> TextLocation:
    """What the decision is called."""
    return TextLocation("decision.label", _item("decision.label", (analysis.decision or Decision()).label))


def stated(analysis: Analysis) -> TextLocation:
    """The classes of failure that the analysis as a whole states."""
    mine = _item("failure_mode", analysis.failure_mode)
    found = mine + _item("rca.failure_mode", (analysis.rca or RootCause()).failure_mode)
    return TextLocation("failure_mode", tuple(item for item in found if item.text.strip().casefold() != UNKNOWN))


def _item(where: str, text: str | None) -> tuple[AnswerText, ...]:
    return (AnswerText(where, text),) if text is not None and text.strip() else ()


def _lists(name: str, texts: Sequence[str] | None) -> TextLocation:
    items = tuple(AnswerText(f"{name}[{at}]", text) for at, text in enumerate(texts or ()) if text.strip())
    return TextLocation(name, items, _joined(name, texts or ()) if len(items) > 1 else ())


def _told(at: int, hypothesis: Hypothesis) -> tuple[tuple[AnswerText, ...], tuple[AnswerText, ...]]:
    """The title and reasons of a hypothesis: its items, and all of them as one text named `hypotheses[at]`."""
    name, reasons = f"hypotheses[{at}]", hypothesis.why or ()
    why = tuple(AnswerText(f"{name}.why[{number}]", text) for number, text in enumerate(reasons) if text.strip())
    items = _item(f"{name}.title", hypothesis.title) + why
    return items, _joined(name, (hypothesis.title or "", *reasons)) if len(items) > 1 else ()


def _joined(name: str, texts: Iterable[str]) -> tuple[AnswerText, ...]:
    return (AnswerText(name, "\n".join(texts)),)
