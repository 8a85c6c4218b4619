"""What a scorer says of one output."""

import msgspec


class ProbeScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The score of one output: a function of its text, and the same in every process and on every machine."""

    valid: bool
    """Whether the output is what the probe asked for at all; where it is not, there are no figures. Source: scorer."""
    total: float | None = None
    """All of it as one figure, 0..1. Source: scorer."""
    counts: dict[str, int] | None = None
    """What was counted, by label: 0 or more each. Source: scorer."""
    dimensions: dict[str, float] | None = None
    """Behaviours by label, 0..1 each. Source: scorer."""
    apart: dict[str, int] | None = None
    """What was counted and takes no part in the total, by label: 0 or more each. Source: scorer."""
