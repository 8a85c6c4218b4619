"""The rows of the list of statistical defects, as a user sees them: tables are imported, and the commands are run."""

import re
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import Value, done
from tests.api.cli.judged_tables import Judged, figures, imported, printed
from tests.api.http.posted_evaluations import finished, scored, started

PRAISE = re.compile(r"\b(excellent|good|fair|poor)\b")
"""The words for Brier scores that CSTP has, and that say nothing without a base rate."""


def advised(ledger: Path, *options: Value) -> str:
    return " ".join(done(ledger, "advice", "--agent", "ann", *options).text.split())


@pytest.mark.defect(1)
def test_an_interval_for_one_look_confirms_nothing(tmp_path: Path) -> None:
    """32 of 50 at .80: the interval for one look excludes 0."""
    ledger = imported(tmp_path, Judged(0.8, "SSF" * 14 + "SSSSFFFF"))
    overall = figures(ledger)["overall"]
    assert overall["gap_interval"][1] < 0 < overall["gap_sequence"][1]
    assert (overall["supported"], overall["unsure_because"]) == (False, "evidence")
    said = printed(ledger)
    assert "If you look again and again: -" in said
    assert "It looks overconfident, but there is not enough data to be sure: the evidence is " in said
    assert "Consider stating less. (This is not sure.)" in said


@pytest.mark.defect(4)
@pytest.mark.parametrize(("stated", "right"), [(0.49, 490), (0.1, 100), (0.72, 720), (0.0, 0)])
def test_ranges_are_compared_with_what_was_stated_in_them(tmp_path: Path, stated: float, right: int) -> None:
    """The middle of the range is another number. `supported` and `reviews_needed` belong to the printed verdict."""
    ledger = imported(tmp_path, Judged(stated, "S" * right + "F" * (1_000 - right)))
    (bucket,) = figures(ledger)["buckets"]
    verdict = bucket["interpretation"], bucket["supported"], bucket["reviews_needed"], bucket["stated_gap"]
    assert verdict == ("well_calibrated", True, 0, pytest.approx(0))
    said = printed(ledger)
    assert "confident?" not in said
    assert "Consider using" not in said


@pytest.mark.defect(4)
def test_a_range_without_a_success_is_not_advised_to_state_0(tmp_path: Path) -> None:
    said = printed(imported(tmp_path, Judged(0.4, "F" * 40), Judged(0.8, "SSSSF" * 20)))
    assert "At 0.0-0.5 confidence, actual success is 0%. Consider stating less." in said
    assert "~0%" not in said


@pytest.mark.defect(5)
@pytest.mark.parametrize("planned", [0.85, 0.95])
def test_a_calibrated_agent_is_not_corrected(tmp_path: Path, planned: float) -> None:
    """900 of 1,000 right at .90: both used to be answered with "consider stating about 0.90"."""
    said = advised(imported(tmp_path, Judged(0.9, "S" * 900 + "F" * 100)), "--confidence", planned)
    assert "came to 0.90 (0.88 to 0.92), n=1,000." in said
    assert "onsider" not in said


@pytest.mark.defect(5)
def test_advice_on_a_category_is_of_that_category_and_says_what_was_widened(tmp_path: Path) -> None:
    """0.97 was shown for a category that came to 0.31."""
    ledger = imported(
        tmp_path, Judged(0.97, "S" * 97 + "F" * 3, "reading"), Judged(0.8, "S" * 9 + "F" * 20, "games"),
        Judged(0.97, "SFF", "games"),
    )  # fmt: skip
    said = advised(ledger, "--category", "games", "--confidence", 0.97)
    curve = "A logistic curve through the decisions of ann in games (n=32) gives a success rate of 0.35 (0.08 to 0.77)"
    assert said.startswith(f"{curve} at confidence 0.97.")
    assert "decisions are of any confidence, because fewer than 20 reviewed decisions are closer to the planned" in said
    assert "onsider" not in said


@pytest.mark.defect(6)
@pytest.mark.parametrize(
    ("parts", "skill"),
    [
        ([Judged(0.97, "S" * 970 + "F" * 30)], "Skill 0.000 compared with always stating 97.0%; these reviews"),
        (
            [Judged(0.5, "S" * 90), Judged(0.9, "S" * 90 + "F" * 20)],
            "Skill -1.200 (-1.729 to -0.671): at this one look worse than alwa",
        ),
        ([Judged(0.8, "P" * 8)], "gap -0.300"),
        ([Judged(0.45, "SSSSF" * 4 + "F" * 30), Judged(0.55, "SF" * 25)], "Skill "),
    ],
    ids=["always .97", "skill -1.2", "eight partial", "little skill"],
)
def test_no_praise_without_a_base_rate(tmp_path: Path, parts: list[Judged], skill: str) -> None:
    ledger = imported(tmp_path, *parts)
    said = printed(ledger, "--group-by", "category")
    assert skill in said
    assert PRAISE.search(said) is None
    answer = figures(ledger)
    assert not any(PRAISE.search(one["message"]) for one in answer["recommendations"])
    if answer["overall"]["skill"] is not None and answer["overall"]["skill"] < -1:
        assert "! Stated confidence has a higher Brier score than always stating 90% (skill -1.200), at this" in said


@pytest.mark.defect(7)
def test_advice_for_the_whole_names_the_category_that_contradicts_it(tmp_path: Path) -> None:
    ledger = imported(
        tmp_path, Judged(0.8, "S" * 380 + "F" * 20, "reading"), Judged(0.62, "S" * 31 + "F" * 69, "games")
    )
    said = printed(ledger)
    assert "Consider stating more. Not in games (62% stated, 31% right): there it is the other way round." in said


@pytest.mark.defect(8)
def test_a_strength_that_is_not_sure_has_its_question_mark(tmp_path: Path) -> None:
    ledger = imported(tmp_path, Judged(0.4, "SSFFF"), Judged(0.95, "S" * 50 + "F" * 50))
    assert "Well calibrated at 0.0-0.5? confidence. (This is not sure.)" in printed(ledger)


@pytest.mark.defect(9)
def test_printed_intervals_are_of_the_printed_figures(tmp_path: Path) -> None:
    """200 partial outcomes are a success of .500. 0.000 to 0.019 is the interval of another figure."""
    ledger = imported(tmp_path, Judged(0.5, "P" * 200))
    said = printed(ledger)
    assert "0.5-0.7 200 0.500 0.500 0.000 -0.069 to +0.069" in said
    assert "0.019" not in said
    answer = figures(ledger)
    for row, figure in ((answer["overall"], "accuracy"), (answer["buckets"][0], "success_rate")):
        low, high = row[f"{figure}_interval"]
        assert low < row[figure] < high


@pytest.mark.defect(11)
def test_ten_attempts_at_one_scenario_are_one_scenario(tmp_path: Path) -> None:
    """One of 20 scenarios flips, with 10 attempts: p was 0.002 beside -5.0 (-15.5 to +5.5)."""
    ledger = tmp_path / "t.db"
    events = []
    for run, first in (("old", 100), ("new", 0)):
        events += [started(run, "suite", agent=run, scenarios=20, attempts=10)]
        events += [
            scored(run, f"s{number}", 100 if number else first, attempt)
            for number in range(20)
            for attempt in range(1, 11)
        ]
        events += [finished(run)]
    done(ledger, "append", given=b"\n".join(map(msgspec.json.encode, events)))
    said = " ".join(done(ledger, "eval", "compare", "old", "new").text.split())
    assert "10 passed only before, 0 only now (exact test over scenarios, p = 1.000)" in said
    compared = msgspec.json.decode(done(ledger, "eval", "compare", "old", "new", "--json").out)
    assert compared["mcnemar"]["p"] == 1.0


@pytest.mark.defect(12)
def test_near_certainty_that_is_wrong_is_not_as_good_as_it_thinks(tmp_path: Path) -> None:
    said = printed(imported(tmp_path, Judged(0.99, "S" * 1_920 + "F" * 80)))
    assert "It is surely overconfident, though by little: 4.0% failed where 1.0% was stated." in said
    assert "in the large z = -13.48" in said
    assert "as good" not in said
    assert "It is well calibrated" not in said


@pytest.mark.defect(12)
def test_certainty_that_one_failure_refutes_is_said_with_the_reason_for_no_test(tmp_path: Path) -> None:
    said = printed(imported(tmp_path, Judged(1.0, "S" * 299 + "F")))
    assert "! Of 300 decisions stated with certainty (0% or 100%), 1 turned out otherwise." in said
    assert "Tests of perfect calibration are not defined, because every decision was stated with certainty." in said
    assert "99.7% of 300 reviewed decisions succeeded" in said, "and not 100%"


@pytest.mark.defect(14)
@pytest.mark.parametrize(
    "part",
    [
        Judged(0.97, "S" * 97 + "F" * 3),
        Judged(0.5, "SF" * 50),
        Judged(0.999, "S" * 999 + "F"),
        Judged(0.2, "FFFFS" * 9),
    ],
    ids=lambda part: str(part.confidence),
)
def test_no_zero_has_a_sign(tmp_path: Path, part: Judged) -> None:
    said = printed(imported(tmp_path, part), "--detail", "curves")
    assert re.search(r"[-+]0\.0+(?![0-9])", said.replace("z = +0.00", "")) is None


@pytest.mark.defect(14)
def test_a_confidence_below_1_is_not_printed_as_1(tmp_path: Path) -> None:
    said = printed(imported(tmp_path, Judged(0.999, "S" * 999 + "F")))
    assert "with 99.9% mean confidence" in said
    assert "No stated confidence is below 0.999, and the mean is 0.999." in said
    assert "1.00 " not in said


@pytest.mark.defect(14)
@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (Judged(0.7, "SSFP" * 25), "Spiegelhalter's test is not defined with partial outcomes."),
        (Judged(0.5, "SSF" * 30), "Spiegelhalter's test is not defined, because every confidence is 0, 0.5 or 1."),
    ],
    ids=["ties", "all .5"],
)
def test_a_missing_test_says_why(tmp_path: Path, part: Judged, reason: str) -> None:
    ledger = imported(tmp_path, part)
    assert reason in printed(ledger)
    assert figures(ledger)["overall"]["spiegelhalter"] is None


@pytest.mark.defect(14)
def test_a_number_of_reviews_after_one_names_the_gap_that_it_is_for(tmp_path: Path) -> None:
    """After one review it said "about 35 more reviews", as if one review showed the gap."""
    ledger = imported(tmp_path, Judged(0.9, "S"))
    said = printed(ledger, "--min-decisions", 1)
    assert re.search(r"enough, in 4 of 5 cases, depends on its true gap: .*, [0-9]+ if it is \+0\.100\.", said)
    assert figures(ledger, "--min-decisions", 1)["overall"]["reviews_needed_gap"] == pytest.approx(0.1)
    assert "Only 1 reviewed decisions found. Need at least 5 for calibration." in printed(ledger)
