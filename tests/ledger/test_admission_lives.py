"""Where a type may occur in its stream, and which version the writer expected."""

import pytest

from events.envelope import Draft
from ledger.errors import LifecycleViolation, StreamConflict
from tests.ledger.given import Scene, given
from tests.ledger.run_vocabulary import (
    finish,
    score,
    start,
    step,
)

STARTED, STEPPED, FINISHED, SCORED = "run.started.v1", "run.stepped.v1", "run.finished.v1", "probe.scored.v1"


def test_a_stream_is_opened_continued_and_closed() -> None:
    scene = given()
    scene.when(start("a")).then(("run/a", 1, STARTED))
    scene.when(step("a")).then(("run/a", 2, STEPPED))
    scene.when(step("a")).then(("run/a", 3, STEPPED))
    scene.when(finish("a")).then(("run/a", 4, FINISHED))
    assert [row.position for row in scene.history] == [1, 2, 3, 4]


def test_a_whole_life_fits_one_batch() -> None:
    given().when(start("a"), score("p"), step("a"), finish("a"), start("b")).then(
        ("run/a", 1, STARTED),
        ("probe/p", 1, SCORED),
        ("run/a", 2, STEPPED),
        ("run/a", 3, FINISHED),
        ("run/b", 1, STARTED),
    )


@pytest.mark.parametrize("late", [step("a"), finish("a")], ids=["continues", "closes"])
def test_an_unopened_stream_takes_only_what_begins(late: Draft) -> None:
    error = given(start("b")).when(late).refused(LifecycleViolation, "run/a is not in the log, .*Nothing was written")
    assert (error.subject, error.index, error.field) == ("run/a", 0, "subject")
    assert "Check the run_id" in error.advice


@pytest.mark.parametrize(
    "history",
    [[start("a")], [start("a"), step("a")], [start("a"), finish("a")]],
    ids=["open", "continued", "closed"],
)
def test_a_stream_opens_once(history: list[Draft]) -> None:
    error = given(*history).when(start("a")).refused(LifecycleViolation, "already in the log")
    assert "Use another run_id, or leave it out" in error.advice


@pytest.mark.parametrize("late", [step("a"), finish("a")], ids=["continues", "closes"])
def test_a_closed_stream_takes_nothing(late: Draft) -> None:
    error = (
        given(start("a"), finish("a")).when(late).refused(LifecycleViolation, "closed by run.finished.v1 at version 2")
    )
    assert error.advice == "Open another stream."


def test_a_single_stands_alone() -> None:
    scene = given(score("p"))
    scene.when(score("p")).refused(LifecycleViolation, "already in the log")
    scene.when(score("q")).then(("probe/q", 1, SCORED))


def test_streams_of_two_families_may_share_an_id() -> None:
    given(start("x")).when(score("x")).then(("probe/x", 1, SCORED))


def test_the_rules_hold_within_a_batch_and_name_the_index() -> None:
    error = given().when(score("p"), start("a"), finish("a"), step("a")).refused(LifecycleViolation, "closed by")
    assert (error.index, error.subject) == (3, "run/a")


@pytest.mark.parametrize(
    ("history", "batch"),
    [
        ([], [start("a", expectedversion=0)]),
        ([], [start(expectedversion=0)]),
        ([start("a")], [step("a", expectedversion=1)]),
        ([start("a")], [step("a", expectedversion=1), step("a", expectedversion=2), finish("a", expectedversion=3)]),
        ([], [start("a", expectedversion=0), step("a", expectedversion=1)]),
    ],
    ids=["new", "made", "next", "three", "new and next"],
)
def test_the_expected_version_is_the_number_of_events_in_the_stream(history: list[Draft], batch: list[Draft]) -> None:
    scene = given(*history).when(*batch)
    assert scene.refusal is None
    assert len(scene.rows) == len(batch)


@pytest.mark.parametrize(
    ("late", "expected", "found", "advice"),
    [
        (step("a", expectedversion=1), 1, 3, "Read versions 2..3, decide again, append."),
        (step("a", expectedversion=4), 4, 3, "Read the stream, decide again, append."),
        (start("a", expectedversion=0), 0, 3, "Read versions 1..3, decide again, append."),
        (start("b", expectedversion=1), 1, 0, "Read the stream, decide again, append."),
    ],
    ids=["behind", "ahead", "believed new", "believed old"],
)
def test_another_version_is_a_conflict(late: Draft, expected: int, found: int, advice: str) -> None:
    scene = given(start("a"), step("a"), step("a"))
    error = scene.when(score("p"), late).refused(StreamConflict, f"expected version {expected}, found {found}")
    assert (error.expected, error.found, error.index, error.field) == (expected, found, 1, "expectedversion")
    assert error.advice == advice


def test_a_conflict_is_reported_before_a_broken_life() -> None:
    given(start("a"), finish("a")).when(step("a", expectedversion=1)).refused(StreamConflict)


def test_streams_are_named_by_the_ledger_where_the_client_names_none() -> None:
    scene = Scene().when(start(), start(), score())
    assert scene.refusal is None
    families, names = zip(*(row.subject.split("/") for row in scene.rows), strict=True)
    assert families == ("run", "run", "probe")
    assert len(set(names)) == 3
    assert all(len(name) == 8 and set(name) <= set("0123456789abcdef") for name in names)
    for row in scene.rows:
        event = scene.vocabulary.event(row.line)
        assert scene.vocabulary.event_types[row.type].stream_id(event.data) == row.subject.partition("/")[2]
