"""Routes of judges: the report on them, the answers that need a label, and the labels."""

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response, read_json
from api.service.answer_label import LabelToRecord, RecordedLabel
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
