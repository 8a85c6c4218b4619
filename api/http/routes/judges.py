"""Routes of judges: the report on them, the answers that need a label, and the labels."""

from starlette.responses import Response

from api.http.request import Call
from api.http.submission import Post, record_post, recording
from api.service.answer_label import LabelToRecord, RecordedLabel
from api.service.store import LABEL


class LabelBody(Post[LabelToRecord], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label to record."""


@recording(
    "/labels", LabelBody, RecordedLabel, "The label is recorded.", "A retry: the label is in the log.",
    scopes=("read", "append"), errors=(400, 404, 409, 413, 422, 507),
)  # fmt: skip
async def post_label(call: Call) -> Response:
    """Label an answer, and review the decisions of the judges that gave a verdict on it.

    The label of a criterion reviews each judge's decision: success if its verdict is the label, otherwise failure.
    """
    return await record_post(call, LabelBody, LABEL)
