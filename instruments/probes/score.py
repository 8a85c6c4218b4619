"""The score of one output, or why there is none."""

from collections.abc import Mapping
from typing import Self

import msgspec


class ProbeScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The score of one output. It depends on the text only: it is the same in every process and on every machine."""

    valid: bool
    """Whether the output is an answer to the probe; if it is not, the other fields are None. Source: scorer."""
    total: float | None = None
    """The total score, 0..1. Source: scorer."""
    counts: dict[str, int] | None = None
    """Counts by label, each 0 or more. Source: scorer."""
    dimensions: dict[str, float] | None = None
    """Scores of dimensions by label, each 0..1. Source: scorer."""
    apart: dict[str, int] | None = None
    """Counts by label that do not affect the total, each 0 or more. Source: scorer."""

    @classmethod
    def of_dimensions(cls, total: float, dimensions: Mapping[str, float], **apart: int) -> Self:
        """Return the score of a valid output, rounded to six decimals."""
        rounded = {name: round(value, 6) for name, value in dimensions.items()}
        return cls(valid=True, total=round(total, 6), dimensions=rounded, apart=apart)


class Unscored(msgspec.Struct, frozen=True):
    """The scorer could not score the output here. No score is stored, so that it can be scored later or elsewhere."""

    reason: str
    """Why, as the end of a sentence: `no sandbox is available on this machine`. Source: scorer."""
