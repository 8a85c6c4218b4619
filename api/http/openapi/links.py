"""What one answer of the OpenAPI document leads to: links, by which a program goes on with what it was told."""

from collections.abc import Iterator
from typing import NamedTuple

from api.http.openapi.schemas import Json


class _Link(NamedTuple):
    """From the answers of one operation to a parameter of the path of another; `value` is a runtime expression."""

    source: str
    statuses: tuple[str, ...]
    name: str
    target: str
    parameter: str
    value: str


_WRITTEN = ("200", "201")
_READ = ("200",)
_POSITION = "$response.body#/position"
_RUN = "$response.body#/run_id"

LINKS = (
    _Link("post_events", _WRITTEN, "event", "get_event", "position", _POSITION),
    _Link("post_events", _WRITTEN, "receipt", "get_receipt", "position", _POSITION),
    _Link("post_events", _WRITTEN, "stream", "get_stream", "subject", "$response.body#/subject"),
    _Link("post_events", _WRITTEN, "first", "get_event", "position", "$response.body#/first"),
    _Link("get_events", _READ, "event", "get_event", "position", "$response.body#/events/0/position"),
    _Link("get_events", _READ, "stream", "get_stream", "subject", "$response.body#/events/0/subject"),
    _Link("put_evidence", _WRITTEN, "bytes", "get_evidence", "digest", "$response.body#/digest"),
    _Link("put_evidence", _WRITTEN, "erase", "delete_evidence", "digest", "$response.body#/digest"),
    _Link("put_evidence", _WRITTEN, "event", "get_event", "position", _POSITION),
    _Link("list_evidence", _READ, "bytes", "get_evidence", "digest", "$response.body#/evidence/0/digest"),
    _Link("delete_evidence", _READ, "event", "get_event", "position", _POSITION),
    _Link("delete_evidence", _READ, "bytes", "get_evidence", "digest", "$request.path.digest"),
    _Link("post_discovery", _WRITTEN, "prompt", "get_prompt", "run", _RUN),
    _Link("post_discovery", _WRITTEN, "respond", "post_response", "run", _RUN),
    _Link("post_discovery", _WRITTEN, "signal", "post_signal", "run", _RUN),
    _Link("post_discovery", _WRITTEN, "signals", "get_signals", "run", _RUN),
    _Link("post_discovery", _WRITTEN, "finish", "post_finish", "run", _RUN),
    _Link("post_discovery", _WRITTEN, "report", "get_run", "run_id", _RUN),
    _Link("get_runs", _READ, "run", "get_run", "run_id", "$response.body#/runs/0/run_id"),
    _Link("get_decisions", _READ, "decision", "get_decision", "decision_id", "$response.body#/decisions/0/decision_id"),
    _Link("get_projections", _READ, "projection", "get_projection", "name", "$response.body#/projections/0/name"),
    _Link("get_evaluations", _READ, "evaluation", "get_evaluation", "run", "$response.body#/evaluations/0/run_id"),
)
"""Every link. Of a page the first entry is linked: an expression names one value."""


def linked(paths: Json) -> Json:
    """The paths with their links."""
    return {
        path: {method: {**made, "responses": dict(_responses(made))} for method, made in item.items()}
        for path, item in paths.items()
    }


def _responses(operation: Json) -> Iterator[tuple[str, Json]]:
    for status, told in operation["responses"].items():
        links = {
            link.name: {"operationId": link.target, "parameters": {link.parameter: link.value}}
            for link in LINKS
            if link.source == operation["operationId"] and status in link.statuses
        }
        yield status, {**told, "links": links} if links else told
