"""Two runs compared: what became worse, the paired test in words, and the difference of each scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from api.http.pages.content import Content
from api.http.pages.evaluations.lists import COMPARE, RUNS, SCENARIOS, ListPosition, list_page
from api.http.pages.page import address_of, page
from api.http.request import Call
from api.parameters import choice_parameter, declared
from api.reports.gate import verdict_sentence
from api.reports.gate_text import gate_lines
from api.reports.report import lost_patterns
from api.reports.score_intervals import describe_difference, describe_test
from api.service.evaluation.evaluation_params import ComparisonParams, LimitParams
from api.service.evaluation.gate import judge_comparison, limits_of
from api.service.event_params import AS_OF, OFFSET
from events.evaluation import PatternFinding
from projections.evaluation.view_types import RunComparison, ScenarioChange

GROUPS: Mapping[str, str] = {
    "regressed": "Regressed: fewer attempts pass",
    "missing": "Missing: scored before, but not now",
    "errors": "With errors now",
    "lower": "As many pass, with fewer points",
    "improved": "Improved: more pass, or more points",
    "added": "New: scored now, but not before",
    "not_comparable": "Not comparable",
}
"""The lists of a comparison, in the order of the page, with their headings."""

FIRST = 20
"""How many scenarios of each list the page of all lists has."""

LOST_MAX = 3

PARAMETERS = (
    *(replace(each, required=False) for each in declared(ComparisonParams) if each.name != "prefix"),
    *declared(LimitParams),
)
"""The two runs, which a page without them asks for, and the limits."""

GROUP = choice_parameter("list", "Only one of the lists of scenarios.", tuple(GROUPS))


class ChangeRow(NamedTuple):
    """A scenario of a comparison, with the first patterns that used to match, and the number of the others."""

    change: ScenarioChange
    lost: Sequence[PatternFinding]
    more: int


class ChangeGroup(NamedTuple):
    """A list of scenarios: its heading, its number of scenarios, the shown ones, and the address of all."""

    name: str
    heading: str
    total: int
    rows: Sequence[ChangeRow]
    whole: str | None


@page("evaluations/comparison", query=(*PARAMETERS, GROUP, OFFSET, AS_OF), heavy=True)
async def show_comparison(call: Call) -> Content:
    """Compare two runs; without two, ask for them."""
    parameters = call.parameters
    baseline, candidate = parameters.get("baseline"), parameters.get("candidate")
    only, offset = GROUP.find(parameters), OFFSET.read(parameters)
    if baseline is None or candidate is None:
        return Content("Compare two runs", {"compared": None, "runs_page": RUNS})
    limits = limits_of(call.asked(LimitParams))
    compared = await judge_comparison(
        await call.view(), ComparisonParams(baseline=baseline, candidate=candidate), limits
    )
    groups, position = _groups(compared, parameters), None
    if only is not None:
        groups, position = _one_group(compared, parameters, only, offset)
    named = {name: parameters[name] for name in ("baseline", "candidate", "as_of") if name in parameters}
    limited = {parameter.name: parameters.get(parameter.name) for parameter in declared(LimitParams)}
    variables = {
        "compared": compared,
        "sentence": verdict_sentence(compared.judgement, compared),
        "decided": list(gate_lines(compared.judgement)),
        "difference": describe_difference(compared),
        "test": describe_test(compared),
        "groups": groups,
        "only": only,
        "position_in_list": position,
        "all_lists": address_of(COMPARE, parameters, list=None, offset=None),
        "gate_json": address_of(
            f"/evaluations/{compared.candidate.run_id}/gate",
            {name: text for name, text in limited.items() if text is not None},
            baseline=compared.baseline.run_id,
            as_of=parameters.get("as_of"),
        ),
        "swapped": address_of(COMPARE, named, baseline=compared.candidate.run_id, candidate=compared.baseline.run_id),
        "limits": limits,
    }
    title = f"{compared.candidate.run_id} against {compared.baseline.run_id}"
    return Content(title, variables, address_of("/evaluations/compare", named))


def _groups(compared: RunComparison, parameters: Mapping[str, str]) -> list[ChangeGroup]:
    found = ((name, getattr(compared, name)) for name in GROUPS)
    return [
        ChangeGroup(
            name,
            GROUPS[name],
            len(changes),
            [*map(_row, changes[:FIRST])],
            address_of(COMPARE, parameters, list=name, offset=None) if len(changes) > FIRST else None,
        )
        for name, changes in found
        if changes
    ]


def _one_group(
    compared: RunComparison, parameters: Mapping[str, str], name: str, offset: int
) -> tuple[list[ChangeGroup], ListPosition]:
    changes: Sequence[ScenarioChange] = getattr(compared, name)
    listed = list_page(COMPARE, parameters, changes, offset, SCENARIOS)
    rows = [_row(change) for change in listed.rows if isinstance(change, ScenarioChange)]
    return [ChangeGroup(name, GROUPS[name], len(changes), rows, None)], listed.position


def _row(change: ScenarioChange) -> ChangeRow:
    lost = lost_patterns(change)
    return ChangeRow(change, lost[:LOST_MAX], max(0, len(lost) - LOST_MAX))
