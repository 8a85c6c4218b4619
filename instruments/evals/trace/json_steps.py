"""A trace in an answer: `trace`, a list of steps in their order.

A step is an object with `kind`, and with `name` if its kind is `tool`. The other fields of `AgentStep` may be absent or
null; unknown fields are ignored here and kept in the stored bytes. A known field of a wrong type refuses the whole
trace: a step that is left out could hide a call.
"""

import math
from typing import Annotated

import msgspec

from events.decode_error_messages import locate_decode_error
from events.limits import LABEL_CHARS_MAX
from events.payload import COUNT_MAX
from instruments.evals.trace.steps import STEPS_MAX, TOOL, AgentStep, BadTrace, parse_arguments

_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_CHARS_MAX)]
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]


class _StatedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step as an answer states it."""

    kind: _Word
    name: _Word | None = None
    arguments: object = None
    output: object = None
    result: object = None
    ok: bool | None = None
    error: str | bool | None = None
    started_at: str | None = None
    elapsed_ms: Annotated[float, msgspec.Meta(ge=0)] | None = None
    model: _Word | None = None
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None


def parse_steps(value: object) -> tuple[AgentStep, ...]:
    """Return the steps of a list. Errors: BadTrace."""
    if not isinstance(value, list):
        raise BadTrace("trace is not a list of steps.")
    if len(value) > STEPS_MAX:
        raise BadTrace(f"trace has {len(value):,} steps; at most {STEPS_MAX:,} are allowed.")
    return tuple(_step(number, item) for number, item in enumerate(value))


def _step(number: int, item: object) -> AgentStep:
    place = f"trace[{number}]"
    try:
        stated = msgspec.convert(item, _StatedStep)
    except msgspec.ValidationError as error:
        path, problem = locate_decode_error(error)
        raise BadTrace(f"{place}{path}: {problem}.") from None
    if stated.kind == TOOL and stated.name is None:
        raise BadTrace(f"{place}.name is missing: a step of the kind {TOOL} names its tool.")
    if stated.elapsed_ms is not None and not math.isfinite(stated.elapsed_ms):
        raise BadTrace(f"{place}.elapsed_ms is not a finite number.")
    failed = stated.error not in (None, False, "")
    fields = {name: getattr(stated, name) for name in AgentStep.__struct_fields__}
    fields["arguments"] = parse_arguments(stated.arguments)
    if stated.output is None:
        fields["output"] = stated.result
    if stated.ok is None and stated.error is not None:
        fields["ok"] = not failed
    fields["error"] = (stated.error if isinstance(stated.error, str) else "error") if failed else None
    return AgentStep(**fields)
