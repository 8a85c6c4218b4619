"""The arguments on which a refactored function must do what the original does.

They follow from the answer's bytes: the same answer gets the same arguments each time and everywhere, and an answer
that lists the right results for its own arguments is another answer, with other arguments.
"""

import random
from hashlib import sha256

Arguments = tuple[list[int], str, bool]

RANDOM_CALLS = 120

_EDGES: tuple[Arguments, ...] = tuple(
    (values, label, verbose)
    for values in ([], [0], [0, 0, 0], [1], [-1], [5, -5], [0, 7, 0, -7], [3, 3, 3], [-2, -4], [2**40, -(2**40)])
    for label, verbose in (("", True), ("", False), ("of two", True), ("x", False))
)

_LABELS = ("", "", "x", "totals", "a: b", "100%", "%s and %d", "line\nline", "(1),", "Übung", "値", " ", "None", "0")
_SPANS = (1, 9, 9, 1_000, 2**40)


def hidden_arguments(probe_id: str, answer: str) -> list[Arguments]:
    """Return fixed edge cases and `RANDOM_CALLS` random arguments for an answer: always the same for the same bytes."""
    seed = sha256(f"{probe_id}\0".encode() + answer.encode("utf-8", "replace")).digest()
    chance = random.Random(seed)
    return [*_EDGES, *(_random_arguments(chance) for _ in range(RANDOM_CALLS))]


def _random_arguments(chance: random.Random) -> Arguments:
    span = chance.choice(_SPANS)
    length = 200 if chance.random() < 0.02 else chance.randrange(13)
    values = [chance.randint(-span, span) if chance.random() < 0.8 else 0 for _ in range(length)]
    return values, chance.choice(_LABELS), chance.random() < 0.7
