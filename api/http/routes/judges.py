"""Routes of judges: the report on them, the answers that need a label, and the labels."""

from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import Operation, json_answer
from api.http.request import Call, json_response
from api.http.submission import Post, record_post
from api.service.answer_label import LabelToRecord, RecordedLabel
from api.service.evaluation.judge_queries import JudgingReportAnswer, UnlabelledPage, list_unlabelled, report_on_judges
from api.service.judge_params import JUDGES_PARAMETERS, QUEUE_PARAMETERS, parse_judge_query, parse_queue_query
from api.service.store import LABEL


class LabelBody(Post[LabelToRecord], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label to record."""


@Operation(
    method="GET",
    path="/judges",
    heavy=True,
    query=JUDGES_PARAMETERS,
    answers={200: json_answer("The report on each judge.", JudgingReportAnswer)},
)
async def get_judges(call: Call) -> Response:
    """Report how well judges agree with the labels of people, and correct pass rates for their errors."""
    query = parse_judge_query(call.parameters)
    return json_response(await report_on_judges(call.ledger, query, await call.as_of()))


@Operation(
    method="GET",
    path="/labels/queue",
    heavy=True,
    query=QUEUE_PARAMETERS,
    answers={200: json_answer("A page of answers to label.", UnlabelledPage)},
)
async def get_label_queue(call: Call) -> Response:
    """List the judged answers that lack a label of a criterion, in an order that does not depend on verdicts."""
    query = parse_queue_query(call.parameters)
    return json_response(await list_unlabelled(call.ledger, query, await call.as_of()))


@Operation(
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
    return await record_post(call, LabelBody, LABEL)
