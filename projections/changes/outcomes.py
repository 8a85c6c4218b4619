"""The outcomes of changes as of a watermark: kept, reverted or fixed by a day, and lines that are alive.

Rates are of the changes that are old enough at the watermark, with Wilson's interval; failures of younger ones count
when these are as old, so that no early failure makes a rate worse. Beside them are estimates that use younger changes
as far as they have come. Changes that are neither old enough nor failed are a number, never a rate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, TypeVar

import msgspec
import numpy as np

from projections.stats.intervals import wilson_interval
from projections.stats.late_outcomes import CENSORED, ShareByTime, incidence, kaplan_meier
from tallystick.shapes.changes import (
    ChangeOutcomes,
    CountedShare,
    EstimatedShare,
    EstimatedShares,
    KeptShares,
    LinesAlive,
)

WINDOW_DAYS: Final = 14
"""A change is kept if it is neither reverted nor fixed by this day."""

EARLIER_DAYS: Final = (7, 3, 1)
"""Ages at which changes are looked at while none has completed the window: the first that a third of them have."""

SURVIVAL_DAYS: Final = (14, 30, 90)
BORN_LINES_MAX: Final = 3_000
"""A change with more lines is left out: one such change would be the figure."""

UNMARKED: Final = "unmarked"
ROBOT: Final = "robot"
"""A program that is no agent: it counts only where no agent is named."""

DAY_S: Final = 86_400
_REVERTED, _FIXED = 1, 2


class Fix(msgspec.Struct, frozen=True, gc=False):
    """A later change that repaired lines of a change."""

    at_s: int
    """When it landed, seconds since 1970, as are all times here."""
    by: int
    """Which change it is."""


class ChangeFacts(msgspec.Struct, frozen=True):
    """What is known of a change at the watermark."""

    agents: tuple[str, ...]
    """The agents that marks on it name; none: it is unmarked."""
    marks: tuple[str, ...]
    """The kinds of marks on it."""
    models: tuple[str, ...]
    """The models that it names."""
    landed_s: int
    born: int
    """Lines of code that it gave birth to."""
    reverted_s: int | None
    """When it was first taken back."""
    fix: Fix | None
    """The first repair."""
    alive: tuple[int, ...]
    """Lines that exist after each of SURVIVAL_DAYS that has passed."""

    @property
    def failure(self) -> Literal["reverted", "fixed"] | None:
        """What came first. A revert at the time of a fix is one."""
        if self.reverted_s is not None and (self.fix is None or self.reverted_s <= self.fix.at_s):
            return "reverted"
        return None if self.fix is None else "fixed"

    @property
    def failed_after_s(self) -> int | None:
        """The seconds from landing to the first failure."""
        fixed_s = None if self.fix is None else self.fix.at_s
        times = [time for time in (self.reverted_s, fixed_s) if time is not None]
        return min(times) - self.landed_s if times else None

    def fix_by(self, days: int) -> Fix | None:
        """Return the first repair if it came by this age."""
        return self.fix if self.fix is not None and self.fix.at_s <= self.landed_s + days * DAY_S else None

    def was_reverted_by(self, days: int) -> bool:
        """Return whether it was taken back by this age."""
        return self.reverted_s is not None and self.reverted_s <= self.landed_s + days * DAY_S


def join_agents(*named: Iterable[str]) -> tuple[str, ...]:
    """Return the agents that several sources name, by name; a robot only if there is no agent."""
    agents = sorted({agent for some in named for agent in some})
    return tuple(agent for agent in agents if agent != ROBOT) or tuple(agents)


def outcomes_by_agent(changes: Iterable[ChangeFacts], watermark_s: int) -> Sequence[ChangeOutcomes]:
    """Return the outcomes of each agent's changes, agents with most changes first, and unmarked ones last."""
    return [_outcomes(agent, landed, watermark_s) for agent, landed in by_agent(changes)]


class _Marked(Protocol):
    @property
    def agents(self) -> tuple[str, ...]: ...


_Facts = TypeVar("_Facts", bound=_Marked)


def by_agent(facts: Iterable[_Facts]) -> Sequence[tuple[str, Sequence[_Facts]]]:
    """Return the facts of each agent, or of several together, those with most first, and unmarked ones last."""
    found: dict[str, list[_Facts]] = {}
    for one in facts:
        found.setdefault("+".join(one.agents) or UNMARKED, []).append(one)
    return sorted(found.items(), key=lambda item: (item[0] == UNMARKED, -len(item[1]), item[0]))


def _outcomes(agent: str, landed: Sequence[ChangeFacts], watermark_s: int) -> ChangeOutcomes:
    changes = [change for change in landed if 0 < change.born <= BORN_LINES_MAX]
    young = [change for change in changes if not _is_aged(change, WINDOW_DAYS, watermark_s)]
    pending = [change for change in young if change.failure is None]
    matured = _kept_by(WINDOW_DAYS, changes, watermark_s)
    return ChangeOutcomes(
        agent=agent,
        landed=len(landed),
        recognised_by=count_names(change.marks for change in landed),
        models=count_names(change.models for change in landed),
        with_code=len(changes),
        too_large=sum(change.born > BORN_LINES_MAX for change in landed),
        matured=matured,
        so_far=None if matured is not None else _kept_so_far(changes, watermark_s),
        estimated=_estimated(changes, watermark_s),
        pending=len(pending),
        failed_early=len(young) - len(pending),
        first_due=_due(pending),
        lines_alive=[
            _lines_alive(place, days, changes)
            for place, days in enumerate(SURVIVAL_DAYS)
            if any(len(change.alive) > place for change in changes)
        ],
    )


def _is_aged(change: ChangeFacts, days: int, watermark_s: int) -> bool:
    return change.landed_s + days * DAY_S <= watermark_s


def count_names(names: Iterable[Iterable[str]]) -> dict[str, int]:
    """Return how often each name occurs, the most frequent first."""
    return dict(Counter(name for some in names for name in some).most_common())


def _due(pending: Sequence[ChangeFacts]) -> datetime | None:
    if not pending:
        return None
    return datetime.fromtimestamp(min(change.landed_s for change in pending) + WINDOW_DAYS * DAY_S, UTC)


def _kept_by(days: int, changes: Iterable[ChangeFacts], watermark_s: int) -> KeptShares | None:
    """Return the outcomes of the changes of an age by that age; None if there are none."""
    aged = [change for change in changes if _is_aged(change, days, watermark_s)]
    if not aged:
        return None
    reverted = sum(change.was_reverted_by(days) for change in aged)
    fixes = [fix for change in aged if (fix := change.fix_by(days)) is not None]
    failed = sum(change.was_reverted_by(days) or change.fix_by(days) is not None for change in aged)
    return KeptShares(
        days=days,
        kept=share_of(len(aged) - failed, len(aged)),
        reverted=share_of(reverted, len(aged)),
        fixed=share_of(len(fixes), len(aged)),
        fixed_within_a_day=sum(change.fix_by(1) is not None for change in aged),
        fixes=len({fix.by for fix in fixes}),
    )


def _kept_so_far(changes: Sequence[ChangeFacts], watermark_s: int) -> KeptShares | None:
    for days in EARLIER_DAYS:
        found = _kept_by(days, changes, watermark_s)
        if found is not None and 3 * found.kept.n >= len(changes):
            return found
    return None


def share_of(count: int, n: int) -> CountedShare:
    """Return a share with its interval; n > 0."""
    return CountedShare(count=count, n=n, rate=count / n, interval=wilson_interval(count, n))


def _estimated(changes: Sequence[ChangeFacts], watermark_s: int) -> EstimatedShares | None:
    """Return the estimates by the end of the window; None where nothing is at risk then."""
    if not changes:
        return None
    after = [change.failed_after_s for change in changes]
    time_s = np.array(
        [watermark_s - change.landed_s if s is None else s for change, s in zip(changes, after, strict=True)], np.int64
    )
    codes: Mapping[str | None, int] = {None: CENSORED, "reverted": _REVERTED, "fixed": _FIXED}
    cause = np.array([codes[change.failure] for change in changes], np.int8)
    at_s = WINDOW_DAYS * DAY_S
    kept = kaplan_meier(time_s, cause, at_s)
    if not kept.at_risk:
        return None
    return EstimatedShares(
        kept=estimate_of(kept),
        reverted=estimate_of(incidence(time_s, cause, _REVERTED, at_s)),
        fixed=estimate_of(incidence(time_s, cause, _FIXED, at_s)),
    )


def estimate_of(share: ShareByTime) -> EstimatedShare:
    """Return an estimate with its interval."""
    return EstimatedShare(rate=share.rate, at_risk=share.at_risk, interval=share.interval)


def _lines_alive(place: int, days: int, changes: Iterable[ChangeFacts]) -> LinesAlive:
    aged = [(change.alive[place], change.born) for change in changes if len(change.alive) > place]
    born = sum(lines for _, lines in aged)
    return LinesAlive(
        days=days,
        changes=len(aged),
        lines=born,
        rate=sum(alive for alive, _ in aged) / born,
        mean_rate=sum(alive / lines for alive, lines in aged) / len(aged),
    )
