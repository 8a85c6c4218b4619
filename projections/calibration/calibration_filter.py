"""Which decisions a view of calibration is about."""

import msgspec

from events.envelope import source_of
from projections.time_range import TimeRange

KeyFilter = tuple[str | None, str | None, str | None, str | None, str | None]
"""Required values of the fields of a `GroupKey`; None matches any value, and every model matches."""


class CalibrationFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of decisions. `range` bounds the times at which they were made."""

    agent: str | None = None
    category: str | None = None
    stakes: str | None = None
    project: str | None = None
    feature: str | None = None
    range: TimeRange = TimeRange()

    def key_filter(self) -> KeyFilter:
        """Return the required values of the fields of a `GroupKey`."""
        source = None if self.agent is None else source_of(self.agent)
        return source, self.category, self.stakes, self.project, self.feature
