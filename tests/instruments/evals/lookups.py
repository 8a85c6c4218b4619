"""Look-ups: programs that know every published case, and find its label by a part of the agent's input.

A part is the whole input, its length, a value at a path, a number of items, an order of keys, or a word. A look-up
remembers the labels of all cases with an equal part, and answers with the most frequent one. One that finds more labels
than the most frequent label of all cases has read something that differs with the label.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

Part = tuple[str, Hashable]
"""The name of a part, and its value in one input."""

_word = re.compile(r"[\w.-]+")


def parts(body: bytes) -> Iterator[Part]:
    """Every part of an input."""
    yield "whole", body
    yield "length", len(body)
    text = body.decode()
    yield from ((f"word {word}", True) for word in set(_word.findall(text)))
    yield from _inner(json.loads(text), "$")


def _inner(value: Any, path: str) -> Iterator[Part]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        yield f"keys of {path}", tuple(value)
        for name, inner in value.items():
            yield from _inner(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"items of {path}", len(value)
        for number, inner in enumerate(value):
            yield from _inner(inner, f"{path}[{number}]")
    else:
        yield path, (type(value).__name__, value)


def found_by_best(inputs: Sequence[bytes], labels: Sequence[str]) -> tuple[int, str]:
    """How many labels the best look-up finds, and the part that it uses."""
    known = [dict(parts(body)) for body in inputs]
    names = sorted({name for one in known for name in one})
    return max(((found_by(name, known, labels), name) for name in names), key=lambda one: one[0])


def found_by(part: str, known: Sequence[Mapping[str, Hashable]], labels: Sequence[str]) -> int:
    """How many labels the look-up by one part finds."""
    table: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    for one, label in zip(known, labels, strict=True):
        table[one.get(part)][label] += 1
    return sum(max(counts.values()) for counts in table.values())


def found_of_others(inputs: Sequence[bytes], labels: Sequence[str]) -> int:
    """How many labels the look-up by the whole input finds if it knows all cases but the one that it answers.

    Where several labels are equally frequent, it answers with the first of the alphabet. An input that no other case
    has gets the most frequent label of all others.
    """
    table: defaultdict[bytes, Counter[str]] = defaultdict(Counter)
    for body, label in zip(inputs, labels, strict=True):
        table[body][label] += 1
    everything = Counter(labels)
    right = 0
    for body, label in zip(inputs, labels, strict=True):
        rest = table[body] - Counter([label])
        right += _first(rest or everything - Counter([label])) == label
    return right


def _first(counts: Counter[str]) -> str | None:
    return min(counts, key=lambda label: (-counts[label], label), default=None)


def most_frequent(labels: Sequence[str]) -> int:
    """How many cases have the most frequent label."""
    return max(Counter(labels).values())
