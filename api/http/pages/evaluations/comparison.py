"""Two runs compared: what became worse, the paired test in words, and the difference of each scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.evaluations.run_list import RUNS, SCENARIOS
from api.http.pages.page import page
from api.http.request import Call
from api.parameters import choice_parameter, declared
from api.reports.gate import verdict_sentence
from api.reports.gate_text import gate_lines
from api.reports.score_intervals import describe_difference, describe_test
from api.service.evaluation.evaluation_params import ComparisonParams, LimitParams
from api.service.evaluation.gate import judge_comparison, limits_of
from api.service.event_params import AS_OF, OFFSET
from projections.evaluation.view_types import ScenarioChange

COMPARE = f"{RUNS}/compare"

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

PARAMETERS = (
    *(replace(each, required=False) for each in declared(ComparisonParams) if each.name != "prefix"),
    *declared(LimitParams),
)
"""The two runs, which a page without them asks for, and the limits."""

GROUP = choice_parameter("list", "Only one of the lists of scenarios.", tuple(GROUPS))


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
    groups = {name: getattr(compared, name)[:FIRST] for name in GROUPS if getattr(compared, name)}
    rows_shown = None
    if only is not None:
        changes: Sequence[ScenarioChange] = getattr(compared, only)
        groups = {only: changes[offset : offset + SCENARIOS]}
        rows_shown = list_links(COMPARE, parameters, offset, SCENARIOS, len(groups[only]), len(changes))
    named = {name: parameters[name] for name in ("baseline", "candidate", "as_of") if name in parameters}
    limited = {parameter.name: parameters.get(parameter.name) for parameter in declared(LimitParams)}
    variables = {
        "compared": compared,
        "sentence": verdict_sentence(compared.judgement, compared),
        "decided": list(gate_lines(compared.judgement)),
        "difference": describe_difference(compared),
        "test": describe_test(compared),
        "groups": groups,
        "headings": GROUPS,
        "only": only,
        "rows_shown": rows_shown,
        "gate_json": address_of(
            f"/evaluations/{compared.candidate.run_id}/gate",
            {name: text for name, text in limited.items() if text is not None},
            baseline=compared.baseline.run_id,
            as_of=parameters.get("as_of"),
        ),
        "named": named,
        "limits": limits,
    }
    title = f"{compared.candidate.run_id} against {compared.baseline.run_id}"
    return Content(title, variables, address_of("/evaluations/compare", named))
