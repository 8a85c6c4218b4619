"""Routes of judges: the report on them, the answers that need a label, and the labels."""

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response, read_json
from api.service.answer_label import LabelToRecord, RecordedLabel
from api.service.evaluation.judge_queries import JudgingReportAnswer, UnlabelledPage, list_unlabelled, report_on_judges
from api.service.judge_params import JUDGES_PARAMETERS, QUEUE_PARAMETERS, parse_judge_query, parse_queue_query
from api.service.label_recorder import label_answer
from events.envelope import EventId, Source


class LabelBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label to record."""

    data: LabelToRecord
    """The answer, and what the person says of it."""
    id: EventId | None = None
    """The id of the event. The same label with the same id is a retry."""
    source: Source | None = None
    """The person, as /agents/NAME; by default the agent of the token."""
    prefix: bool = False
    """Whether data.run_id may be an unambiguous prefix of the id."""


@HttpOperation(
    method="GET",
    path="/judges",
    heavy=True,
    query=JUDGES_PARAMETERS,
    answers={200: json_answer("The report on each judge.", JudgingReportAnswer)},
)
async def get_judges(call: Call) -> Response:
    """Report how well judges agree with the labels of people, and correct pass rates for their errors."""
    query = parse_judge_query(call.parameters)
    return json_response(await report_on_judges(await call.view(), query))


@HttpOperation(
    method="GET",
    path="/labels/queue",
    heavy=True,
    query=QUEUE_PARAMETERS,
    answers={200: json_answer("A page of answers to label.", UnlabelledPage)},
)
async def get_label_queue(call: Call) -> Response:
    """List the judged answers that lack a label of a criterion, in an order that does not depend on verdicts."""
    query = parse_queue_query(call.parameters)
    return json_response(await list_unlabelled(await call.view(), query))


@HttpOperation(
    method="POST",
    path="/labels",
    scopes=("read", "append"),
    body={JSON: LabelBody},
    body_required=True,
    answers={
        200: json_answer("A retry: the label is in the log.", RecordedLabel),
        201: json_answer("The label is recorded.", RecordedLabel),
    },
    errors=(400, 404, 409, 413, 422, 507),
)
async def post_label(call: Call) -> Response:
    """Label an answer, and review the decisions of the judges that gave a verdict on it.

    The label of a criterion reviews each judge's decision: success if its verdict is the label, otherwise failure.
    """
    body = await read_json(call.request, LabelBody)
    recorded = await label_answer(
        call.ledger, call.caller, body.data, event_id=body.id, source=body.source, prefix=body.prefix
    )
    return json_response(recorded, 200 if recorded.duplicate else 201)
