"""What the routes that only read share: who asks, what is asked, and the answer as JSON."""

from collections.abc import Collection, Mapping

from starlette.requests import Request
from starlette.responses import Response

from api.operations import House
from api.parameters import known, single
from api.problems import to_json


def asked(request: Request, allowed: Collection[str]) -> tuple[House, Mapping[str, str]]:
    """The house, for who may read, and the parameters. Errors: AccessRefused, InvalidQuery."""
    house: House = request.app.state.house
    house.tokens.identify(request.headers.get("authorization")).require("read")
    parameters = single(request.query_params.multi_items())
    known(parameters.keys(), allowed)
    return house, parameters


def answer(value: object) -> Response:
    """A view as JSON."""
    return Response(to_json(value), media_type="application/json")
