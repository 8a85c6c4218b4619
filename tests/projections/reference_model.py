"""The views said again in the plainest way: one record a decision, exact fractions, no tolerance anywhere.

A stated confidence is the decimal number that the agent wrote, so cut-offs are compared exactly.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from events.model_names import join_names
from projections.calibration.calibration_filter import CalibrationFilter
from projections.decisions.decision_counts import DecisionCounts
from projections.decisions.decision_selection import DecisionSelection
from projections.time_range import TimeRange
from tallystick.shapes.calibration import Bucket, CalibrationScores, CalibrationView, ConfidenceSpread

WORTH = {"success": Fraction(1), "partial": Fraction(1, 2), "failure": Fraction(0), "abandoned": Fraction(0)}
BANDS = {
    "0.9-1.0": (Fraction(9, 10), Fraction(2), Fraction(95, 100)),
    "0.7-0.9": (Fraction(7, 10), Fraction(9, 10), Fraction(80, 100)),
    "0.5-0.7": (Fraction(5, 10), Fraction(7, 10), Fraction(60, 100)),
    "0.0-0.5": (Fraction(0), Fraction(5, 10), Fraction(25, 100)),
}
STAKES_ORDER = {"low": 0, "medium": 1, "high": 2, "critical": 3}


@dataclass
class Reported:
    """What is known of one decision, in the order in which it was recorded."""

    subject: str
    agent: str
    time: datetime
    category: str | None
    stakes: str | None
    project: str | None
    feature: str | None
    tags: tuple[str, ...]
    shown: float | None
    """The current confidence."""
    counted: float | None
    """The confidence in force before the first review."""
    outcome: str | None = None
    question: str | None = None
    pr: int | None = None
    retracted: bool = False
    preserved: bool = False
    model: str | None = None
    cluster: str | None = None
    due: datetime | None = None
    early: bool = False
    """Whether it is not due yet. Without a date it is due at once: in so few decisions no horizon is learnt."""

    @property
    def status(self) -> str:
        if self.retracted:
            return "retracted"
        return "pending" if self.outcome is None else "reviewed"

    @property
    def c(self) -> Fraction:
        return Fraction(repr(self.counted))


def report(lines: Iterable[bytes]) -> list[Reported]:
    """Read stored lines as JSON and remember each decision."""
    reported: dict[str, Reported] = {}
    now = datetime.min.replace(tzinfo=UTC)
    for line in lines:
        event = json.loads(line)
        stream, kind = event["type"].split(".")[:2]
        if stream == "decision" and kind in ("recorded", "amended", "asked", "reviewed", "retracted"):
            now = max(now, datetime.fromisoformat(event["time"]))
        subject, data = event["subject"], event["data"]
        if event["type"].startswith("decision.recorded."):
            stated = data.get("confidence")
            reported[subject] = Reported(
                subject=subject,
                agent=event["source"].rpartition("/")[2],
                time=datetime.fromisoformat(event["time"]),
                category=data.get("category"),
                stakes=data.get("stakes"),
                project=data.get("project"),
                feature=data.get("feature"),
                model=join_names(data.get("model"), data.get("reported_model")),
                tags=tuple(data.get("tags", ())),
                shown=stated,
                counted=stated,
                pr=data.get("pr"),
                cluster=data.get("cluster"),
                due=datetime.fromisoformat(data["review_by"]) if "review_by" in data else None,
            )
        elif event["type"] == "decision.reviewed.v1":
            reported[subject].outcome = data["outcome"]
        elif event["type"] == "decision.retracted.v1":
            reported[subject].retracted = True
        elif event["type"] == "decision.preserved.v1":
            reported[subject].preserved = data["preserve"]
        elif event["type"] == "decision.asked.v1":
            reported[subject].question = data["question"]
        elif event["type"] == "decision.amended.v1":
            one = reported[subject]
            one.tags = tuple(data.get("tags", one.tags))
            one.shown = data.get("confidence", one.shown)
            if one.outcome is None:
                one.counted = one.shown
    for one in reported.values():
        one.early = one.due is not None and one.due > now
    return list(reported.values())


def within(one: Reported, when: TimeRange) -> bool:
    return (when.since is None or one.time >= when.since) and (when.until is None or one.time <= when.until)


def about(one: Reported, wanted: CalibrationFilter | DecisionSelection) -> bool:
    """What the two kinds of question have in common."""
    stakes = wanted.stakes if isinstance(wanted.stakes, tuple) else (wanted.stakes,)
    return (
        within(one, wanted.range)
        and not (isinstance(wanted, CalibrationFilter) and one.retracted)
        and (stakes == (None,) or one.stakes in stakes)
        and all(
            getattr(wanted, name) in (None, getattr(one, name)) for name in ("agent", "category", "project", "feature")
        )
    )


def counting(reported: Iterable[Reported]) -> list[Reported]:
    """Those that calibration counts: reviewed, due, with a stated confidence."""
    return [one for one in reported if one.outcome is not None and one.counted is not None and not one.early]


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def verdict(gap: Fraction) -> str:
    if abs(gap) < Fraction(5, 100):
        return "well_calibrated"
    side = "over" if gap < 0 else "under"
    return f"{'' if abs(gap) > Fraction(1, 10) else 'slightly_'}{side}confident"


def reading(brier: Fraction) -> str:
    words = {Fraction(1, 10): "excellent", Fraction(2, 10): "good", Fraction(3, 10): "fair"}
    return next((word for bound, word in words.items() if brier < bound), "poor")


def agree(seen: float, exact: Fraction) -> None:
    """Equal to 1e-12, and never -0.0."""
    assert float(seen) == pytest.approx(float(exact), abs=1e-12)
    assert repr(float(seen)) != "-0.0"


def figures_agree(seen: CalibrationScores, reported: Sequence[Reported]) -> None:
    """The figures are those of these decisions."""
    counted = counting(reported)
    worth = [WORTH[one.outcome or ""] for one in counted]
    gap = mean(worth) - mean([one.c for one in counted])
    brier = mean([(one.c - o) ** 2 for one, o in zip(counted, worth, strict=True)])
    agree(seen.brier_score, brier)
    agree(seen.accuracy, mean(worth))
    agree(seen.mean_confidence, mean([one.c for one in counted]))
    agree(seen.gap, gap)
    assert (seen.interpretation, seen.brier_reading) == (verdict(gap), reading(brier))
    assert (seen.reviewed, seen.total) == (len(counted), len(reported))


def buckets_agree(seen: Sequence[Bucket], reported: Sequence[Reported]) -> None:
    """The buckets are those of these decisions, from the top, none with fewer than three."""
    left = list(seen)
    for name, (low, high, expected) in BANDS.items():
        inside = [one for one in counting(reported) if low <= one.c < high]
        if len(inside) < 3:
            continue
        bucket = left.pop(0)
        gap = mean([WORTH[one.outcome or ""] for one in inside]) - expected
        assert (bucket.bucket, bucket.decisions) == (name, len(inside))
        agree(bucket.success_rate, gap + expected)
        agree(bucket.expected_rate, expected)
        agree(bucket.mean_confidence, mean([one.c for one in inside]))
        agree(bucket.gap, gap)
        side = "overconfident" if gap < 0 else "underconfident"
        assert bucket.expected_interpretation == ("well_calibrated" if abs(gap) <= Fraction(1, 10) else side)
    assert left == []


def spread_agrees(seen: ConfidenceSpread | None, reported: Sequence[Reported]) -> None:
    """The spread is that of every stated confidence."""
    stated = [one.c for one in reported if one.counted is not None]
    if not stated:
        assert seen is None
        return
    assert seen is not None
    middle = mean(stated)
    agree(seen.mean, middle)
    assert seen.std_dev == pytest.approx(float(mean([(c - middle) ** 2 for c in stated])) ** 0.5, abs=1e-9)
    agree(seen.min, min(stated))
    agree(seen.max, max(stated))
    tenths = Counter(min(int(c * 10), 9) for c in stated)
    names = {f"{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}": tenths[tenth] for tenth in sorted(tenths, reverse=True)}
    assert list(seen.tenths.items()) == list(names.items())
    assert seen.count == len(stated)


def group_key(group_by: str) -> Callable[[Reported], str | None]:
    if group_by != "confidence_bucket":
        return lambda one: getattr(one, group_by)
    bands = BANDS.items()
    return lambda one: (
        None if one.counted is None else next(name for name, (low, high, _) in bands if low <= one.c < high)
    )


def groups_agree(seen: CalibrationView, reported: Sequence[Reported], group_by: str, min_decisions: int) -> None:
    """One row a value: buckets from the top, names sorted with the unnamed last."""
    key = group_key(group_by)
    if group_by == "confidence_bucket":
        names: list[str | None] = [name for name in BANDS if any(key(one) == name for one in reported)]
    else:
        names = sorted({key(one) for one in reported}, key=lambda name: (name is None, name or ""))
    assert [group.group for group in seen.groups] == names
    for group in seen.groups:
        inside = [one for one in reported if key(one) == group.group]
        counted = counting(inside)
        assert (group.reviewed, group.total) == (len(counted), len(inside))
        if not counted or len(counted) < min_decisions:
            shown = (group.brier_score, group.accuracy, group.mean_confidence, group.gap, group.interpretation)
            assert shown == (None,) * 5
            continue
        assert group.brier_score is not None
        assert group.accuracy is not None
        assert group.mean_confidence is not None
        assert group.gap is not None
        worth = [WORTH[one.outcome or ""] for one in counted]
        gap = mean(worth) - mean([one.c for one in counted])
        agree(group.brier_score, mean([(one.c - o) ** 2 for one, o in zip(counted, worth, strict=True)]))
        agree(group.accuracy, mean(worth))
        agree(group.mean_confidence, mean([one.c for one in counted]))
        agree(group.gap, gap)
        assert group.interpretation == verdict(gap)


def view_agrees(
    seen: CalibrationView, reported: Sequence[Reported], wanted: CalibrationFilter, group_by: str, least: int
) -> None:
    """The whole view is what these decisions give."""
    kept = [one for one in reported if about(one, wanted)]
    counted = counting(kept)
    if not counted or len(counted) < least:
        assert seen.overall is None
        assert [advice.type for advice in seen.recommendations] == ["insufficient_data"]
    else:
        assert seen.overall is not None
        figures_agree(seen.overall, kept)
    withdrawn = sum(about(replace(one, retracted=False), wanted) for one in reported if one.retracted)
    assert seen.retracted == withdrawn
    buckets_agree(seen.buckets, kept)
    spread_agrees(seen.confidence_stats, kept)
    groups_agree(seen, kept, group_by, least)


def find(reported: Sequence[Reported], wanted: DecisionSelection) -> list[Reported]:
    """The decisions that fit, the oldest first."""
    return [
        one
        for one in reported
        if about(one, wanted)
        and one.status in (("pending", "reviewed") if wanted.status is None else wanted.status)
        and wanted.outcome in (None, one.outcome)
        and (not wanted.tags or set(wanted.tags) & set(one.tags))
        and wanted.pr in (None, one.pr)
        and (wanted.confidence_min is None or (one.shown is not None and one.shown >= wanted.confidence_min))
        and (wanted.confidence_max is None or (one.shown is not None and one.shown <= wanted.confidence_max))
        and (wanted.compaction is None or level(one, wanted.compaction.now) in wanted.compaction.levels)
        and wanted.preserved in (None, one.preserved)
        and wanted.cluster in (None, one.cluster)
        and (wanted.models is None or one.model in wanted.models)
        and (wanted.due_before is None or (one.due is not None and one.due < wanted.due_before))
        and wanted.dated in (None, one.due is not None)
    ]


def level(one: Reported, now: datetime) -> str:
    """The compaction level of a decision: by whole days, if it is reviewed and not preserved."""
    days = (now - one.time).days
    if one.outcome is None or one.preserved or days < 7:
        return "full"
    return "summary" if days < 30 else "digest" if days < 90 else "wisdom"


def order(reported: Sequence[Reported], sort: str, *, descending: bool) -> list[Reported]:
    """Sorted by a field, ties by age, those that lack it at the end."""
    fields: dict[str, Callable[[Reported], datetime | float | str | None]] = {
        "created_at": lambda one: one.time,
        "confidence": lambda one: one.shown,
        "category": lambda one: one.category,
        "stakes": lambda one: None if one.stakes is None else STAKES_ORDER[one.stakes],
        "status": lambda one: ("pending", "reviewed", "retracted").index(one.status),
    }
    field = fields[sort]
    by_age = list(reversed(reported)) if descending else list(reported)
    having = [one for one in by_age if field(one) is not None]
    having.sort(key=field, reverse=descending)  # type: ignore[arg-type]
    return having + [one for one in by_age if field(one) is None]


def tally(names: Iterable[str | None]) -> dict[str, int]:
    """Counts of the names there are, the largest first, then by name."""
    counts = Counter(name for name in names if name is not None)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def count(reported: Sequence[Reported]) -> DecisionCounts:
    """Counts of some decisions; a tag that a decision bears twice is one tag of one decision."""
    statuses = Counter(one.status for one in reported)
    days = Counter(one.time.date().isoformat() for one in reported)
    return DecisionCounts(
        total=len(reported),
        by_category=tally(one.category for one in reported),
        by_stakes=tally(one.stakes for one in reported),
        by_status=dict(statuses),
        by_agent=tally(one.agent for one in reported),
        by_day=sorted(days.items(), reverse=True),
        top_tags=list(tally(tag for one in reported for tag in set(one.tags)).items()),
    )
