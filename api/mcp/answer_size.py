"""Shorten answers: a model that did not choose a length gets at most ANSWER_BYTES."""

from collections.abc import Callable, Iterator
from typing import Any

from api.text_format import to_json

ANSWER_BYTES = 2_000

_STEPS = ((400, 10), (200, 5), (100, 3), (80, 2), (80, 1), (40, 1))
"""Characters of a text and items of a list, tried in this order until the answer fits."""


def fit(answer: dict[str, Any], size: int) -> dict[str, Any]:
    """Return an answer of at most a size: long texts and lists are cut, and `cut` names the fields."""
    if len(to_json(answer)) <= size:
        return answer
    shortened = answer
    for chars, items in _STEPS:
        shortened = {name: _cut(value, chars, items) for name, value in answer.items()}
        shortened["cut"] = list(_differences(answer, shortened))
        if len(to_json(shortened)) <= size:
            break
    return shortened


def fit_rows(
    answer: dict[str, Any], rows: str, size: int, beside: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return an answer whose list has as many of its first rows as fit into a size, and at least one.

    `beside` adapts the rest of an answer to the rows that it keeps.
    """
    shortened = answer
    while len(shortened[rows]) > 1 and len(to_json(shortened)) > size:
        shortened = {**shortened, rows: shortened[rows][:-1]}
        shortened = shortened if beside is None else beside(shortened)
    return fit(shortened, size)


def _differences(whole: dict[str, Any], shortened: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the fields that were cut; those inside an object with its name before them."""
    for name, value in whole.items():
        if shortened[name] != value:
            inner = [f"{name}.{it}" for it in _differences(value, shortened[name])] if isinstance(value, dict) else []
            yield from inner or [name]


def _cut(value: Any, chars: int, items: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[: chars - 1]}…"
    if isinstance(value, list):
        return [_cut(item, chars, items) for item in value[:items]]
    if isinstance(value, dict):
        return {name: _cut(inner, chars, items) for name, inner in value.items()}
    return value
