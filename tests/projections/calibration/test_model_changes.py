"""The models before and after a change of the gap, and the changes of models in the examined history."""

from datetime import UTC, datetime, timedelta

from msgspec import UNSET

from events.envelope import Draft
from events.model import ModelAliased, ModelRegistered
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.change_point import detect_drift
from projections.calibration.model_changes import CHANGES_MAX
from projections.discovery.model_names import ModelNames
from tallystick.shapes.decisions import Outcome
from tallystick.shapes.history import Drift, DriftModels
from tests.projections.drafts import record, review
from tests.projections.short_decisions import calibration_of

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)

Day = tuple[str | None, bool]
"""The name of a day's model, and whether its decision was a success."""


def resolve(joined: str) -> str | None:
    known = ModelNames()
    known.register(ModelRegistered(key="large-4"))
    known.alias(ModelAliased(key="large-4", alias="House Model"))
    found = known.resolve_joined(joined)
    return None if found is None else found.key


def drafts(*days: Day, agent: str = "ada", each: timedelta = DAY) -> list[Draft]:
    made: list[Draft] = []
    for number, (model, success) in enumerate(days):
        name, about = f"{agent}{number}", {} if model is None else {"model": model}
        outcome: Outcome = "success" if success else "failure"
        made.append(record(name, 0.9, agent=agent, time=BEGAN + number * each, **about))
        made.append(review(name, outcome, agent=agent))
    return made


def drift(made: list[Draft]) -> Drift:
    return detect_drift(calibration_of(made).history(CalibrationFilter()), resolve)


def models(found: Drift) -> DriftModels:
    assert isinstance(found.models, DriftModels)
    return found.models


def right(day: int) -> bool:
    return day % 10 > 0 if day < 100 else day % 2 > 0


def counted(found: DriftModels) -> list[dict[str | None, int]]:
    assert found.before is not None
    assert found.after is not None
    return [{one.model: one.reviewed for one in side} for side in (found.before, found.after)]


def test_a_change_of_the_model_at_the_date() -> None:
    """The names are aliases and dated; the model of some days is not named; the change is on day 100."""
    names = [None, "House Model", "large-4-20260101"]
    found = drift(drafts(*((names[day % 3] if day < 100 else "other-2", right(day)) for day in range(200))))
    assert found.change is not None
    said = models(found)
    before, after = counted(said)
    assert (sum(before.values()), sum(after.values())) == (found.change.reviewed_before, found.change.reviewed_after)
    assert before["large-4"] in range(60, 70)
    assert before[None] in range(30, 36)
    assert after.keys() <= {"large-4", "other-2", None}
    assert said.named == 166
    (one,) = said.changes
    assert said.nearest == one
    assert (one.agent, one.before, one.after, one.within) == ("ada", "large-4", "other-2", True)
    assert (one.last_before, one.time) == (BEGAN + 98 * DAY, BEGAN + 100 * DAY), "day 99 names none"
    assert said.changes_total == 1


def test_a_change_of_the_model_long_before_is_outside() -> None:
    found = drift(drafts(*(("other-2" if day >= 20 else "large-4", right(day)) for day in range(200))))
    said = models(found)
    assert said.nearest is not None
    assert said.nearest is not UNSET
    assert (said.nearest.time, said.nearest.within) == (BEGAN + 20 * DAY, False)


def test_the_nearest_change_is_of_any_agent() -> None:
    ada = drafts(*(("other-2" if day >= 20 else "large-4", right(day)) for day in range(200)))
    bo = drafts(*(("small-1" if day < 101 else "small-2", right(day)) for day in range(200)), agent="bo")
    said = models(drift([*ada, *bo]))
    assert [(one.agent, one.within) for one in said.changes] == [("ada", False), ("bo", True)]
    assert said.nearest == said.changes[1]


def test_decisions_without_a_model() -> None:
    alarm = drift(drafts(*((None, right(day)) for day in range(200))))
    assert alarm.change is not None
    said = models(alarm)
    assert (said.named, said.changes, said.changes_total, said.nearest) == (0, (), 0, None)
    assert counted(said) == [{None: alarm.change.reviewed_before}, {None: alarm.change.reviewed_after}]
    quiet = drift(drafts(*((None, day % 10 > 0) for day in range(200))))
    assert (quiet.alarm, quiet.models) == (False, UNSET)
    assert drift(drafts(("large-4", True), ("other-2", True))).models is UNSET, "too few reviews to look"


def test_changes_are_facts_without_an_alarm() -> None:
    found = drift(drafts(*(("other-2" if day >= 120 else "large-4", day % 10 > 0) for day in range(200))))
    said = models(found)
    assert not found.alarm
    assert (said.before, said.after, said.nearest, said.named) == (None, None, UNSET, 200)
    assert [(one.before, one.after, one.time, one.within) for one in said.changes] == [
        ("large-4", "other-2", BEGAN + 120 * DAY, None)
    ]


def test_a_wrapper_and_an_unknown_name_are_no_model() -> None:
    names = {40: "cursor", 41: "unknown", 100: "large-4"}
    found = drift(drafts(*((names.get(day, "House Model"), right(day)) for day in range(200))))
    said = models(found)
    assert (said.changes_total, said.nearest) == (0, None)
    before, _ = counted(said)
    assert (before["cursor"], before["unknown"]) == (1, 1), "counted as written, as in the groups by model"


def test_an_agent_that_alternates_has_many_changes_of_which_some_are_listed() -> None:
    days = [(("large-4", "other-2")[day % 2], right(day // 2)) for day in range(400)]
    said = models(drift(drafts(*days)))
    assert (said.changes_total, len(said.changes)) == (399, CHANGES_MAX)
    assert all(one.within is not None for one in said.changes)
    assert [one.time for one in said.changes] == sorted(one.time for one in said.changes)
    quiet = [(("large-4", "other-2")[day % 2], day % 10 > 0) for day in range(200)]
    said = models(drift(drafts(*quiet)))
    assert (said.changes_total, len(said.changes)) == (199, CHANGES_MAX)
    assert said.changes[-1].time == BEGAN + 199 * DAY


def test_the_order_of_decisions_of_one_moment_is_not_known() -> None:
    """Four decisions share each day; on day 30 both models answered, in turns."""
    made: list[Draft] = []
    for number in range(240):
        day = number // 4
        model = "large-4" if day < 30 or (day == 30 and number % 2) else "other-2"
        made += [record(f"d{number}", 0.9, time=BEGAN + day * DAY, model=model)]
        made += [review(f"d{number}", "success" if number % 10 else "failure")]
    (one,) = models(drift(made)).changes
    assert (one.last_before, one.time) == (BEGAN + 29 * DAY, BEGAN + 31 * DAY)
