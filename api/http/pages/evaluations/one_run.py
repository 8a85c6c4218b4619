"""One run whole: the evaluation report, with its scenarios a page at a time."""

from collections.abc import Sequence
from urllib.parse import urlencode

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.evaluations.run_list import RUNS, SCENARIOS
from api.http.pages.evaluations.shortened import TEXT_MAX, describe_missed
from api.http.pages.page import page
from api.http.path_parameters import RUN
from api.http.request import Call
from api.parameters import choice_parameter
from api.reports.html.report_page import banner, group_errors
from api.reports.html.trend_chart import draw_versions
from api.reports.report import VERDICTS, EvaluationReport, by_urgency, versions_of
from api.service.evaluation.report_data import build_evaluation_report
from api.service.event_params import AS_OF, OFFSET
from projections.evaluation.view_types import ScenarioResult

VERDICT = choice_parameter("verdict", "Only scenarios with this verdict.", VERDICTS)
ORDERS = ("urgency", "scenario", "points")
SORT = choice_parameter("sort", "The order of the scenarios.", ORDERS, default="urgency")


@page("evaluations/run", query=(VERDICT, SORT, OFFSET, AS_OF), heavy=True)
async def show_run(call: Call) -> Content:
    """Show an evaluation: its figures, its errors, its versions, and each scenario."""
    run_id, view = call.path(RUN), await call.view()
    report = await build_evaluation_report(view, run_id, analyses=False)
    run, trend = report.evaluation, versions_of(report)
    verdict, offset = VERDICT.find(call.parameters), OFFSET.read(call.parameters)
    address = f"{RUNS}/{run.run_id}"
    results = [each for each in _sorted(report, SORT.read(call.parameters)) if verdict in (None, each.verdict)]
    shown = results[offset : offset + SCENARIOS]
    variables = {
        "run": run,
        "banner": banner(report),
        "trend": trend,
        "chart": draw_versions(trend, run.agent_version) if trend else None,
        "errors": sorted(group_errors(run), key=lambda group: -len(group[1])),
        "text_max": TEXT_MAX,
        "rows": [(result, describe_missed(result)) for result in shown],
        "used": run.usage is not None,
        "rows_shown": list_links(address, call.parameters, offset, SCENARIOS, len(shown), len(results)),
        "verdict": verdict,
        "verdicts": VERDICTS,
        "sort": SORT.read(call.parameters),
        "orders": ORDERS,
        "address": address,
    }
    live = None if run.ended or view.position is not None else urlencode({"subject": f"evaluation/{run.run_id}"})
    json = address_of(f"/evaluations/{run.run_id}", {}, as_of=call.parameters.get("as_of"))
    return Content(f"{run.suite}: {run.run_id}", variables, json, live)


def _sorted(report: EvaluationReport, order: str) -> Sequence[ScenarioResult]:
    if order == "urgency":
        return by_urgency(report)
    if order == "scenario":
        return report.evaluation.results
    return sorted(report.evaluation.results, key=lambda result: (result.mean is None, result.mean or 0.0))
