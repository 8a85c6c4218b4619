"""One scenario of a run: each attempt with its score, what matched where, and what was answered."""

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.evaluations.run_list import RUNS
from api.http.pages.evaluations.shortened import shorten_rows
from api.http.pages.page import page
from api.http.path_parameters import RUN, SCENARIO
from api.http.request import Call
from api.service.evaluation.scenario_queries import show_scenario_of_run
from api.service.evaluation.trace_queries import describe_step, find_traces
from api.service.event_params import AS_OF, OFFSET

ATTEMPTS = 10
"""Attempts on a page."""

STEPS = 50
"""Steps of one attempt on a page."""


@page("evaluations/run_scenario", query=(OFFSET, AS_OF), heavy=True)
async def show_run_scenario(call: Call) -> Content:
    """Show the attempts of one run at one scenario."""
    run_id, scenario_id = call.path(RUN), call.path(SCENARIO)
    found = await show_scenario_of_run(await call.view(), run_id, scenario_id)
    address = f"{RUNS}/{run_id}/scenarios/{scenario_id}"
    offset, total = OFFSET.read(call.parameters), len(found.result.rows)
    rows = found.result.rows[offset : offset + ATTEMPTS]
    attempts = [row.attempt for row in rows]
    traces = await find_traces(await call.view(), found.run.run_id, scenario_id, attempts)
    variables = {
        "run": found.run,
        "result": found.result,
        "short": shorten_rows(rows),
        "steps": {
            attempt: [(number, step, describe_step(step)) for number, step in enumerate(steps[:STEPS], 1)]
            for attempt, steps in traces.items()
        },
        "steps_left_out": {attempt: max(0, len(steps) - STEPS) for attempt, steps in traces.items()},
        "rows_shown": list_links(address, call.parameters, offset, ATTEMPTS, len(rows), total),
        "address": f"{RUNS}/{run_id}",
    }
    as_of = call.parameters.get("as_of")
    json = address_of(f"/evaluations/{run_id}", {"include": "analyses"}, as_of=as_of)
    return Content(f"{scenario_id} in {run_id}", variables, json)
