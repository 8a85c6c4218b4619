"""Changes of code that landed, and their outcomes, by the agent that made them. Intervals are 95%, at one look."""

from datetime import datetime

import msgspec

from tallystick.shapes.parts import AsOf, Interval, UnknownName


class CountedShare(msgspec.Struct, frozen=True, kw_only=True):
    """A share of counted changes."""

    count: int
    """How many have the property."""
    n: int
    """Of how many."""
    rate: float
    """`count` / `n`, 0..1."""
    interval: Interval
    """Wilson's interval of `rate`."""


class EstimatedShare(msgspec.Struct, frozen=True, kw_only=True):
    """A share by some day, estimated also from changes that are younger."""

    rate: float
    """The estimate, 0..1."""
    at_risk: int
    """How many changes are at least as old and had not failed before."""
    interval: Interval | None
    """Its interval; None with too few at risk."""


class KeptShares(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of the changes that are at least some days old, by that age."""

    days: int
    """The age."""
    kept: CountedShare
    """Neither reverted nor fixed."""
    reverted: CountedShare
    """A later change took them back."""
    fixed: CountedShare
    """A later change that says that it repairs something changed lines of theirs. They may be reverted, too."""
    fixed_within_a_day: int
    """Those of the fixed ones whose first fix came within 24 hours, often part of the same work."""
    fixes: int
    """How many changes the first fixes are: one may repair several."""


class EstimatedShares(msgspec.Struct, frozen=True, kw_only=True):
    """The same shares by some day, with changes that are younger used as far as they have come."""

    kept: EstimatedShare
    """Neither reverted nor fixed (Kaplan-Meier)."""
    reverted: EstimatedShare
    """Reverted before any fix (Aalen-Johansen)."""
    fixed: EstimatedShare
    """Fixed before any revert (Aalen-Johansen)."""


class LinesAlive(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines of changes still exist some days after they landed. It describes changes; it judges none."""

    days: int
    """The number of days."""
    changes: int
    """How many changes are at least so old."""
    lines: int
    """How many lines they gave birth to."""
    rate: float
    """The share of these lines that exists, 0..1."""
    mean_rate: float
    """The mean share by change, 0..1."""


class ChangeOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that one agent's marks are on, and the outcomes of those with code."""

    agent: str
    """The agent; several are joined by `+`. `robot`: a program that is no agent. `unmarked`: nothing shows who."""
    landed: int
    """How many changes landed."""
    recognised_by: dict[str, int]
    """How many changes each kind of mark is on: author, trailer, footer, branch, owner."""
    models: dict[str, int]
    """How many changes name a model, by its name."""
    with_code: int
    """Changes with lines of code, and not too many: the figures below are about them."""
    too_large: int
    """Changes that are left out of the figures below, since they have too many lines."""
    matured: KeptShares | None
    """The outcome by the last day of the window, of changes that are at least so old; None if none is."""
    so_far: KeptShares | None
    """The outcome by an earlier day, if no change has completed the window; None if there is no such day."""
    estimated: EstimatedShares | None
    """The outcome by the last day of the window, estimated from all; None if nothing is at risk by then."""
    pending: int
    """Changes that are younger than the window, and did not fail."""
    failed_early: int
    """Changes that are younger than the window, and failed: they count when they are as old."""
    first_due: datetime | None
    """When the first pending change completes the window, UTC; None if none is pending."""
    lines_alive: list[LinesAlive]
    """Lines that exist after 14, 30 and 90 days."""


class EndedByDay(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests were merged, or closed without a merge, by an age."""

    days: int
    """The age."""
    matured: CountedShare | None
    """Of the requests that are at least so old; None if none is."""
    estimated: EstimatedShare | None
    """Of all, where one that ended otherwise can do so no more (Aalen-Johansen); None if none is at risk by then."""


class RequestOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The pull requests of an agent, and their outcomes."""

    agent: str
    """The agent; several are joined by `+`. `unmarked`: nothing shows who."""
    requests: int
    """How many there are."""
    merged: int
    """How many are merged."""
    closed: int
    """How many are closed without a merge. That says little: many are closed by a timer, or for another request."""
    pending: int
    """How many are open: neither accepted nor refused."""
    recognised_by: dict[str, int]
    """How many requests each kind of mark is on."""
    merged_by: list[EndedByDay]
    """Merged by 1 and 14 days."""
    closed_by: list[EndedByDay]
    """Closed without a merge by 7 and 14 days. A jump between two days is that of a timer."""
    reviews: dict[str, int] | None
    """The result of reviews: approved, changes_requested, none; None if the list does not have it."""
    checks: dict[str, int] | None
    """The checks of merged and closed requests: green, red, flaky, none; None if the list does not have them."""


class RepositoryRequests(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded pull requests of a repository, and their outcomes."""

    repository: str
    """Its id: a digest of its first commit and of the branch's name."""
    requests: int
    """How many there are in the time that figures are about."""
    seen_through: datetime
    """Through when it is known how they ended, UTC: when a list of all of them was made."""
    agents: list[RequestOutcomes]
    """The figures, by agent."""


class RepositoryOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded changes of a repository's main line, and their outcomes."""

    repository: str
    """Its id: a digest of its first commit and of the branch's name."""
    head: str
    """The newest commit that was read."""
    landed: int
    """How many changes landed in the time that figures are about."""
    since: datetime | None
    """When the first of them landed, UTC; None without any."""
    seen_through: datetime
    """When the newest change landed, UTC: outcomes are known until then."""
    agents: list[ChangeOutcomes]
    """The figures, by agent."""
    gone: int
    """Changes that were recorded, and that the main line no longer has: they count nowhere."""


class ChangesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded repositories."""

    repositories: list[RepositoryOutcomes]
    """The repositories, in the order in which they were recorded first."""
    requests: list[RepositoryRequests]
    """The repositories of which a list of all pull requests was recorded."""
    as_of: AsOf
    """The position as of which the answer is."""
    unknown_names: tuple[UnknownName, ...] = ()
    """The agent that was asked for, if nothing recorded has it."""
