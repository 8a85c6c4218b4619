"""A projection for tests with a table: a row for each decision, and the number of its reviews."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from events.decision import DecisionRecorded, DecisionReviewed
from events.payload import Payload
from projections.column_table import ColumnTable
from projections.event_slice import EventSlice
from projections.projection import Projection


class ReviewRows(Projection):
    """The position of each decision, and how often it was reviewed."""

    name: ClassVar[str] = "review_rows"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (DecisionRecorded, DecisionReviewed)

    def __init__(self) -> None:
        self.rows = ColumnTable(position=np.int64, reviews=np.uint8)

    def fold(self, events: EventSlice) -> None:
        for event, first in zip(events, events.firsts, strict=True):
            if type(event.data) is DecisionRecorded:
                self.rows.append(1, {"position": np.array([event.position])})
            elif type(event.data) is DecisionReviewed:
                row = np.searchsorted(self.rows.column("position"), [first])
                self.rows.put("reviews", row, self.rows.take("reviews", row) + np.uint8(1))

    def tables(self) -> Mapping[str, ColumnTable]:
        return {"rows": self.rows}

    def encode(self) -> bytes:
        return str(len(self.rows)).encode()

    @classmethod
    def decode(cls, state: bytes) -> Self:
        int(state)
        return cls()

    def summary(self) -> Mapping[str, object]:
        return {"decisions": len(self.rows), "reviews": int(self.rows.column("reviews").sum())}


class OtherReviewRows(ReviewRows):
    """The same under another name."""

    name: ClassVar[str] = "other_review_rows"
