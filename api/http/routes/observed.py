"""The routes to which other systems send what happens: Alertmanager, and forges that sign what they send."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, check_media, json_response, ledger_of, read_body
from api.importers.observe.webhooks import ForgeReceiver, ReceivedWebhook, receive_alerts, receive_forge
from api.principal import Unauthenticated
from api.service.evaluation.alert_receiver import AlertmanagerWebhook
from events.limits import BODY_BYTES_FREE
from ledger.errors import NotFound

FORGE_BYTES_MAX: Final = 4 << 20

_RECORDED = json_answer("What was recorded; the body is stored as evidence.", ReceivedWebhook)


@HttpOperation(
    "POST",
    "/observe/alertmanager",
    scopes=("append", "observe"),
    body={JSON: AlertmanagerWebhook},
    answers={200: _RECORDED},
    errors=(409, 413, 422, 507),
)
async def post_observed_alerts(call: Call) -> Response:
    """Record which alerts begin and end, for tests of decisions: the webhook of Alertmanager, version 4.

    A test `alert.silent:24h:subject=alert:NAME` reads it, also by fingerprint. It needs an alert that always fires,
    its heartbeat, by default `Watchdog`, sent again at least every 10 minutes.
    """
    check_media(call.request)
    body = await read_body(call.request.scope, call.request.receive)
    return json_response(await receive_alerts(call.ledger, call.caller, body))


@HttpOperation(
    "POST",
    "/observe/forge/{name}",
    public=True,
    path_parameters=(stream_id_parameter("name", "The name under which the webhook is registered."),),
    body={JSON: {"type": "object"}},
    answers={200: _RECORDED},
    errors=(401, 404, 409, 413, 422, 503, 507),
).raw
async def post_forge_webhook(request: Request) -> Response:
    """Record what a forge sends of pull requests and their checks: webhooks of GitHub and GitLab.

    They are registered in the file of `serve --observers`. GitHub signs the body (`X-Hub-Signature-256`), GitLab sends
    the secret (`X-Gitlab-Token`). Read are `pull_request` and `check_run` of GitHub, and `merge_request` and `pipeline`
    of GitLab.
    """
    receivers: Mapping[str, ForgeReceiver] = request.app.state.receivers
    name = request.path_params["name"]
    receiver = receivers.get(name)
    if receiver is None:
        raise NotFound(f"No webhook {name!r} is registered.", "Register it in the file of serve --observers.")
    check_media(request)
    refused = Unauthenticated("The body is not signed with the secret of the webhook.", "Give the forge its secret.")
    if not receiver.may_accept(request.headers):
        raise refused
    length = request.headers.get("content-length", "")
    is_small = length.isdigit() and int(length) <= BODY_BYTES_FREE
    async with nullcontext() if is_small else receiver.turns:
        request.scope["caller"] = receiver.caller
        body = await read_body(request.scope, request.receive, FORGE_BYTES_MAX)
    if not receiver.accepts(request.headers, body):
        del request.scope["caller"]  # the refusal counts as that of its address
        raise refused
    return json_response(await receive_forge(ledger_of(request), receiver, request.headers, body))
