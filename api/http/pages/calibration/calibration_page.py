"""The calibration pages: each part at an address of its own, for the same parameters as `GET /calibration`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from api.http.pages.calibration.figure_files import draw_part
from api.http.pages.calibration.parts import (
    COMPARED,
    PAGE,
    PART,
    PARTS,
    QUERY,
    PartAnswer,
    address_of_part,
    read_answer,
)
from api.http.pages.content import Content, address_of, list_links
from api.http.pages.page import page
from api.http.request import Call
from api.reports import calibration_text, history_text, use_text
from api.service.calibration_figures import describe_selection
from api.service.decision_names import list_decision_names
from projections.calibration.words import GROUPINGS
from projections.decisions.decision_selection import STAKES
from tallystick.shapes.calibration import CalibrationAnswer, CalibrationScores
from tallystick.shapes.comparison import AgentComparison

LIVE_DECISIONS_MAX = 100_000
"""With more decisions a page is not computed again for each new event."""

LIVE = "type=" + ",".join(
    f"decision.{kind}" for kind in ("recorded.v1", "recorded.v2", "amended.v1", "reviewed.v1", "retracted.v1")
)

PAIRS_MAX = 30
"""Pairs that are described in words; the table has all."""

MORE_FILTERS = ("model", "project", "feature", "since", "until", "min_decisions", "trend_days")
"""Filters that are folded away until one is used."""

FILTERED = ("agent", "category", "stakes", "project", "feature", "model")
"""The groupings whose groups can be selected by a filter."""


class PartLink(NamedTuple):
    """A link to a part of the pages."""

    address: str
    label: str
    current: bool


@page("calibration/calibration", query=(*QUERY, PART), heavy=True)
async def show_calibration(call: Call) -> Content:
    """Show a part: the verdict with its evidence, groups, figures over time, thresholds, missing reviews."""
    return await _show(call, PART.read(call.parameters))


@page("calibration/calibration", query=QUERY, heavy=True)
async def show_comparison(call: Call) -> Content:
    """Compare agents, or models, on the questions that both answered."""
    COMPARED.find(call.parameters)
    return await _show(call, "compare")


async def _show(call: Call, name: str) -> Content:
    shown = await read_answer(call, name)
    answer, given = shown.answer, call.parameters
    head = (await call.ledger.reader.head()).position
    variables = {
        "answer": answer,
        "overall": answer.overall,
        "part": name,
        "more": not given.keys().isdisjoint(MORE_FILTERS),
        "subject": describe_selection(given),
        "parts": _parts(name, given),
        "figures": draw_part(name, shown, given),
        "head": max(head, answer.as_of.position),
        "row_verdict": calibration_text.row_verdict,
        "stakes": STAKES,
        "names": (await list_decision_names(call.ledger)).by_parameter,
        "position": answer.as_of.position,
        **_WORDS.get(name, _no_words)(shown, given),
    }
    live = "as_of" not in given and answer.coverage.total <= LIVE_DECISIONS_MAX
    title = "Compare" if name == "compare" else "Calibration"
    return Content(title, variables, json=shown.json, live=LIVE if live else None)


def _parts(name: str, given: Mapping[str, str]) -> Sequence[PartLink]:
    return [
        PartLink(address_of(*address_of_part(each, given)), part.label, each == name) for each, part in PARTS.items()
    ]


def _no_words(shown: PartAnswer, given: Mapping[str, str]) -> dict[str, object]:
    return {}


def _summary(shown: PartAnswer, given: Mapping[str, str]) -> dict[str, object]:
    answer = shown.answer
    if answer.overall is None:
        return {"verdict": None, "evidence": [], "judged": "", "missing": None}
    return {
        "verdict": calibration_text.describe_verdict(answer, answer.overall),
        "evidence": _evidence(answer, answer.overall, given),
        "judged": _judged(answer, answer.overall),
        "missing": address_of(*address_of_part("missing", given)),
    }


def _judged(answer: CalibrationAnswer, overall: CalibrationScores) -> str:
    """Return the class of a verdict: only a supported one has a colour, and a gap that is small has none."""
    if not overall.supported or any(one.type == "small_gap" for one in answer.recommendations):
        return ""
    return "passed" if overall.interpretation == "well_calibrated" else "worse"


def _evidence(answer: CalibrationAnswer, overall: CalibrationScores, given: Mapping[str, str]) -> Sequence[str]:
    """Return what the verdict rests on, in sentences."""
    dependence = overall.dependence
    sentences = [
        calibration_text.describe_gap(overall, given.get("agent")),
        calibration_text.describe_looks(overall, window=given.get("window", "all") != "all"),
        calibration_text.describe_clusters(overall.reviewed, overall.clusters) if overall.clusters else None,
        calibration_text.describe_dependence(dependence) if dependence is not None and dependence.material else None,
        calibration_text.describe_skill(overall),
        *calibration_text.describe_tests(overall),
        calibration_text.describe_coverage(answer.coverage),
    ]
    return [sentence for sentence in sentences if sentence]


def _groups(shown: PartAnswer, given: Mapping[str, str]) -> dict[str, object]:
    answer, by = shown.answer, shown.parameters["group_by"]
    offset = int(shown.parameters.get("offset", "0"))
    total = len(answer.groups) if answer.groups_total is None else answer.groups_total
    return {
        "group_by": by,
        "groupings": GROUPINGS,
        "group_addresses": [_group_address(given, by, group.group) for group in answer.groups],
        "rows_shown": list_links(PAGE, given, offset, int(shown.parameters["limit"]), len(answer.groups), total),
    }


def _group_address(given: Mapping[str, str], by: str, group: str | None) -> str | None:
    """Return the page of one group alone; None for groups that no filter selects."""
    if by not in FILTERED or group is None:
        return None
    path, kept = address_of_part("summary", given)
    return address_of(path, kept, **{by: group})


def _drift(shown: PartAnswer, given: Mapping[str, str]) -> dict[str, object]:
    drift = shown.answer.drift
    if drift is None:
        return {"sentences": [], "further": [], "alarm": False}
    return {
        "sentences": list(history_text.describe_drift(drift)),
        "further": list(history_text.describe_drift_further(drift)),
        "alarm": drift.alarm,
    }


def _threshold(shown: PartAnswer, given: Mapping[str, str]) -> dict[str, object]:
    answer = shown.answer
    return {
        "ranking": use_text.describe_auc(answer.auc) if answer.auc else None,
        "chosen_sentences": list(use_text.describe_threshold(answer.threshold)) if answer.threshold else [],
    }


def _comparison(shown: PartAnswer, given: Mapping[str, str]) -> dict[str, object]:
    answer, comparison = shown.answer, shown.answer.comparison
    by = shown.parameters["group_by"]
    comparison = AgentComparison(pairs=(), left_out=0) if comparison is None else comparison
    paired = [pair for pair in comparison.pairs if pair.paired] or comparison.pairs
    return {
        "group_by": by,
        "groupings": COMPARED.schema["enum"],
        "group_addresses": [_group_address(given, by, group.group) for group in answer.groups],
        "pairs": [list(history_text.describe_pair(pair, comparison)) for pair in paired[:PAIRS_MAX]],
        "pairs_total": len(comparison.pairs),
        "ranks": list(history_text.describe_ranks(comparison)),
        "left_out": comparison.left_out,
    }


_WORDS = {
    "summary": _summary,
    "groups": _groups,
    "drift": _drift,
    "threshold": _threshold,
    "compare": _comparison,
}
"""What each part says in words, beside its figures."""
