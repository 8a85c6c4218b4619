"""What operations are asked and what they answer: the shapes every door encodes."""

from datetime import datetime
from typing import Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, UnsetType

from projections import (
    MIN_DECISIONS,
    TREND_DAYS,
    CalibrationView,
    Category,
    Compared,
    Drift,
    Filter,
    GroupBy,
    Inclusion,
    Precedent,
    Selection,
    Sort,
    Standing,
    Trend,
)

Detail = Literal["figures", "curves"]
DETAILS: tuple[Detail, ...] = get_args(Detail)


class AsOf(msgspec.Struct, frozen=True):
    """What a view is as of: a position, and when that was recorded (None before the first event)."""

    position: int
    time: datetime | None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question of calibration. `detail` says how much to compute: figures, or curves with them.

    `include` says what of the course over time to add, `trend_days` how long the windows of the trend are.
    """

    filter: Filter = Filter()
    group_by: GroupBy = "confidence_bucket"
    min_decisions: int = MIN_DECISIONS
    detail: Detail = "figures"
    include: tuple[Inclusion, ...] = ()
    trend_days: int = TREND_DAYS


class CalibrationAnswer(CalibrationView, frozen=True, kw_only=True):
    """The figures, and what they are as of; what `include` did not name is absent."""

    as_of: AsOf
    trend: Trend | UnsetType = UNSET
    drift: Drift | UnsetType = UNSET
    comparison: Compared | UnsetType = UNSET


class Advice(Precedent, frozen=True, kw_only=True):
    """What decisions like the one planned came to, and what that is as of."""

    as_of: AsOf


class Categorised(NamedTuple):
    """The figures, and the two scores of every category as of the same position."""

    answer: CalibrationAnswer
    categories: list[Category]


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions in the order asked for; `next` is the offset of the page after, None on the last."""

    decisions: list[Standing]
    total: int
    next: int | None
    as_of: AsOf


class DecisionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to list, and how. `search` wants every one of its words, whole, somewhere in the texts.

    `history` asks for what happened to each of them, which is left out otherwise.
    """

    selection: Selection = Selection()
    sort: Sort = "created_at"
    descending: bool = True
    limit: int = 100
    offset: int = 0
    search: str | None = None
    history: bool = False


class ProjectionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A projection, what it reads, and how far it has folded."""

    name: str
    version: int
    types: list[str]
    position: int


class ProjectionState(ProjectionInfo, frozen=True, kw_only=True):
    """A projection as of a position: the digest of its state, and its summary."""

    digest: str
    as_of: AsOf
    view: dict[str, object]


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """A projection folded from 1: its digest, and that of the state got by snapshot and increment where compared."""

    name: str
    version: int
    position: int
    digest: str
    incremental: str | None = None
    same: bool | None = None
