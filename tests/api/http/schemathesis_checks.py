"""A check that Schemathesis loads: no request that the description allows is refused for its shape."""

import re
from typing import Any

import schemathesis
from schemathesis.core.failures import Failure

ACCEPTED_STATUSES = frozenset({401, 403, 404, 409, 410, 429})
"""Statuses below 500 of refusals that depend on the state of the ledger or on the token."""

UNSTATABLE = tuple(
    re.compile(pattern)
    for pattern in (
        "is beyond the (head|tree)",
        "^drawn_at: [0-9]+ is beyond [0-9]+, the position of the answer",
        "begins after until ends",
        "^gzip: a Parquet file is compressed already",
        "^the body's digest is|^digest: the body's digest is",
        "^subject .* is not the stream of this payload",
        "^probe_id .* is not the first of probes",
        "^data: (?!expected)",
        "^id .* contains characters that are not printable",
        "does not apply to a ranked search",
        "is of no use without",
        "^retrieval_mode: there is nothing to search for",
        "^embedding_model: must name the model",
        r"^data\.vector ",
        "^embedding: must (have (a number other than 0|1 to)|be an array of numbers, or|be a JSON array of numbers)",
        r"^data\.(conditions|requirements|any_of)\[.*: the operator ",
        "^The rule file |^Rule [0-9]+",
    )
)
"""Refusals that JSON Schema cannot state: relations between values, or between a value and the ledger."""


class WronglyRefused(Failure):
    """A request that the description allows was refused."""


@schemathesis.check
def described_requests_are_accepted(
    _context: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> bool | None:
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return None
    if response.status_code < 400 or response.status_code >= 500 or response.status_code in ACCEPTED_STATUSES:
        return None
    problem = response.json()
    is_misspelt = problem.get("advice", "").startswith("Did you mean")  # an extension named almost as an attribute
    if is_misspelt or any(pattern.search(problem["detail"]) for pattern in UNSTATABLE):
        return None
    label = f"{problem['status']} {problem.get('field')}"
    raise WronglyRefused(operation=case.operation.label, title=f"Refused: {label}", message=problem["detail"])
