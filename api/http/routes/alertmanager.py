"""The route of Alertmanager's webhook."""

from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response, read_json
from api.service.evaluation.alert_receiver import AlertmanagerWebhook, ReceivedAlerts, receive_alerts


@HttpOperation(
    "POST",
    "/alertmanager",
    scopes=("append",),
    body={JSON: AlertmanagerWebhook},
    answers={200: json_answer("What was captured, and what was not.", ReceivedAlerts)},
    errors=(409, 413, 422, 507),
)
async def post_alertmanager(call: Call) -> Response:
    """Capture the alerts that fire as scenarios, each incident once: the webhook of Alertmanager, version 4.

    An incident is a fingerprint and a start. What Alertmanager repeats writes nothing more. Alertmanager sends again
    at once after 5xx, and after another error when it next notifies the group.
    """
    webhook = await read_json(call.request, AlertmanagerWebhook)
    return json_response(await receive_alerts(call.ledger, call.caller, webhook))
