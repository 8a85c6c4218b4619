"""What an answer states about its use of a language model: tokens, cost, and the id of the reply."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from events.evaluation import COST_USD_MAX
from instruments.stored_text import count_of, label_of

INPUT_NAMES = ("input_tokens", "prompt_tokens")
OUTPUT_NAMES = ("output_tokens", "completion_tokens")
"""The names of tokens in `usage`: ours, and those of replies in the form of OpenAI."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer used. A field is None where the answer states nothing.

    `cost_usd` is in US dollars; `response_id` is the id of the model's reply.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    response_id: str | None = None


def parse_usage(answer: Mapping[str, Any]) -> Usage:
    """Return what an answer states beside its analysis, or inside it, under `usage` and `response_id`.

    A value of another kind, or out of range, states nothing: 0 to 2^53 - 1 tokens as whole numbers, 0 to 1,000,000
    US dollars, an id of 1 to 256 characters.
    """
    inner = answer.get("analysis")
    sources = [source for source in (answer, inner) if isinstance(source, Mapping)]
    stated = [usage for source in sources if isinstance(usage := source.get("usage"), Mapping)]
    return Usage(
        input_tokens=_first(count_of(usage.get(name)) for usage in stated for name in INPUT_NAMES),
        output_tokens=_first(count_of(usage.get(name)) for usage in stated for name in OUTPUT_NAMES),
        cost_usd=_first(_cost(usage.get("cost_usd")) for usage in stated),
        response_id=_first(label_of(source.get("response_id")) for source in sources),
    )


def _first(values: Iterator[Any]) -> Any:  # noqa: ANN401 - the kind of the values
    return next((value for value in values if value is not None), None)


def _cost(value: object) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value <= COST_USD_MAX else None  # type: ignore[operator, arg-type]
