"""What every route may answer, whatever it does, in the OpenAPI document: the refusals of the door before it.

api/http/connection.py bounds what a client sends, how long it takes and how many there are;
api/http/origin_guard.py keeps pages of
elsewhere out. Neither knows routes, so what they refuse is said once, here, and stands at each operation.
"""

from api.http.openapi.schemas import PROBLEM, Json, problems

STATUSES = (400, 408, 414, 421, 431, 503)
"""No HTTP, too slow, an address too long, a name that is not loopback's, a head too large, too many connections."""


def behind_door(paths: Json) -> Json:
    """The paths, each operation with the refusals that any may meet."""
    return {
        path: {method: {**made, "responses": _responses(made["responses"])} for method, made in item.items()}
        for path, item in paths.items()
    }


def _responses(own: Json) -> Json:
    """Those of an operation and the door's; where both answer with one status, either body may come."""
    responses = dict(own)
    for status, refused in problems(*STATUSES).items():
        told = own.get(status) or refused
        responses[status] = {**told, "content": {**told["content"], PROBLEM: refused["content"][PROBLEM]}}
    return dict(sorted(responses.items()))
