"""Routes of the reports of discovery runs."""

from msgspec.structs import replace
from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response
from api.parameters import choice_list_parameter
from api.service.discovery.queries import show_run
from api.service.event_params import AS_OF, PREFIX
from projections.discovery.run_report import RunDetail

RUN_ID = stream_id_parameter("run_id", "The run's id.")
INCLUDE = choice_list_parameter(
    "include",
    "Further parts of the report. `attempts`: all attempts and signals. `summary`: the run as the list of runs has it.",
    ("attempts", "summary"),
)


@HttpOperation(
    method="GET",
    path="/runs/{run_id}",
    path_parameters=(RUN_ID,),
    query=(INCLUDE, PREFIX, AS_OF),
    answers={200: json_answer("The report.", RunDetail)},
    errors=(404,),
)
async def get_run(call: Call) -> Response:
    """Return the report of one discovery run, in the format of run reports."""
    included, prefix = INCLUDE.read(call.parameters), PREFIX.read(call.parameters)
    run_id, view = call.path(RUN_ID), await call.view()
    run = await show_run(view, run_id, attempts="attempts" in included, prefix=prefix)
    return json_response(replace(run.detail, summary=run.entry) if "summary" in included else run.detail)
