"""`judge report`, `eval label`, `eval labels` and the scoreboard: a simulated judge in a real ledger."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.envelope import Draft, encode_draft
from events.evaluation import EvalFinished, EvalStarted
from tests.api.cli.command import done, refused
from tests.projections.drafts import post
from tests.projections.judged_evaluations import Truth, decisions_of, judged, simulated

TRUTH = Truth(0.9, 0.8, 0.6)


def written(ledger: Path, drafts: list[Draft]) -> Path:
    done(ledger, "append", given=b"\n".join(map(encode_draft, drafts)))
    return ledger


def answer(ledger: Path, *words: str) -> Any:  # noqa: ANN401 - JSON
    return msgspec.json.decode(done(ledger, *words, "--json").out)


def within(value: float, interval: list[float]) -> bool:
    return interval[0] <= value <= interval[1]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 answers of a judge with known error rates, of which 150 have labels."""
    drafts = simulated(TRUTH, 300, 150, seed=8, votes=3)
    return written(tmp_path_factory.mktemp("judged") / "t.db", drafts)


def test_the_report_recovers_the_error_rates_of_a_simulated_judge(ledger: Path) -> None:
    (judge,) = answer(ledger, "judge", "report")["judges"]
    for part in (judge["whole"], *judge["criteria"]):
        assert within(TRUTH.sensitivity, part["sensitivity"]["interval"])
        assert within(TRUTH.specificity, part["specificity"]["interval"])
        assert within(TRUTH.kappa, part["kappa"]["interval"])
        assert within(TRUTH.rate, part["corrected"]["interval"])
        assert sum(part["confusion"].values()) == part["labelled"] == 150
    assert judge["criteria"][0]["self_consistency"]["value"] == 1


def test_the_scoreboard_has_the_corrected_pass_rate(ledger: Path) -> None:
    (suite,) = answer(ledger, "scoreboard")["suites"]
    (row,) = suite["rows"]
    corrected = row["corrected"]
    assert (corrected["judged"], corrected["labelled"], corrected["judge_rate"]) == (300, 150, row["pass_rate"])
    assert within(TRUTH.rate, corrected["interval"])
    (judge,) = answer(ledger, "judge", "report")["judges"]
    assert corrected == judge["whole"]["corrected"]
    assert "corrected pass rate" in done(ledger, "scoreboard").text


def test_the_report_in_words(ledger: Path) -> None:
    text = done(ledger, "judge", "report").text
    assert "judge:sim: sim-1, scorer judge 1, prompt dddddddd" in text
    assert "whole answers: 300 answers of 300 scenarios; labelled: 150 of 150 scenarios" in text
    assert "Agrees with the labels well." in text
    for figure in (
        "kappa",
        "sensitivity",
        "specificity",
        "of a constant guess",
        "corrected pass rate",
        "error by length",
    ):
        assert figure in text


def test_before_the_labels_nothing_is_known_of_the_judge(ledger: Path) -> None:
    (judge,) = answer(ledger, "judge", "report", "--as-of", "601")["judges"]
    assert judge["whole"]["labelled"] == 0
    assert judge["whole"]["corrected"]["unknown_because"] == "no labels that pass"
    text = done(ledger, "judge", "report", "--as-of", "601").text
    assert "cannot tell: no label passes" in text
    assert "Cannot tell: no answer has a label." in text


def test_an_unknown_judge_is_an_error(ledger: Path) -> None:
    said = refused(ledger, "judge", "report", "--judge", "judge:none", code=1)
    assert "judge:none" in said
    assert "judge:sim" in said


def test_without_a_judge_the_report_says_so(tmp_path: Path) -> None:
    written(tmp_path / "t.db", [post(EvalStarted(run_id="r", suite="s"))])
    assert "No judge has scored an answer yet" in done(tmp_path / "t.db", "judge", "report").text


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two runs of a judge, with the same answer to one scenario, and two criteria."""
    drafts = []
    for run in ("first", "second"):
        verdicts: dict[str, Any] = {"cause": [True], "fix": [run == "first"]}
        score = judged(run, "pull", "the image", verdicts)
        other = judged(run, "loop", f"{run} answer", {"cause": [False]})
        drafts += [post(EvalStarted(run_id=run, suite="s")), *decisions_of(score), *decisions_of(other)]
        drafts += [post(score), post(other), post(EvalFinished(run_id=run))]
    return written(tmp_path / "t.db", drafts)


def test_a_label_reviews_the_verdicts_of_every_run_with_the_answer(two: Path) -> None:
    labelled = answer(two, "eval", "label", "first", "pull", "--criterion", "fix", "--pass", "--by", "kim")
    assert (labelled["reviews"], labelled["criterion"], labelled["passed"]) == (2, "fix", True)
    outcomes = {run: answer(two, "decision", f"{run}-pull-1-fix")["review"]["outcome"] for run in ("first", "second")}
    assert outcomes == {"first": "success", "second": "failure"}
    assert answer(two, "decision", "first-pull-1-fix")["review"]["reviewed_by"] == "kim"
    shown = answer(two, "eval", "show", "second")
    (pull,) = (result for result in shown["results"] if result["scenario_id"] == "pull")
    assert pull["rows"][0]["labels"] == [{"criterion": "fix", "passed": True}]
    assert "label fix: pass" in done(two, "eval", "show", "second", "--scenario", "pull").text


@pytest.mark.slow
def test_the_latest_label_replaces_the_reviews(two: Path) -> None:
    for flag, reviews in (("--pass", 2), ("--pass", 0), ("--fail", 2)):
        words = ("eval", "label", "sec", "pull", "--criterion", "cause", flag, "--note", "seen", "--by", "kim")
        assert answer(two, *words)["reviews"] == reviews
    history = answer(two, "decision", "first-pull-1-cause")
    assert history["review"]["outcome"] == "failure"
    assert history["review"]["notes"] == "seen"
    (judge,) = answer(two, "judge", "report")["judges"]
    cause = next(part for part in judge["criteria"] if part["criterion"] == "cause")
    assert cause["confusion"]["passed_bad"] == 1


def test_a_retry_of_a_label_writes_nothing(two: Path) -> None:
    words = ("eval", "label", "first", "pull", "--criterion", "cause", "--pass", "--event-id", "label-1")
    first, again = answer(two, *words), answer(two, *words)
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert (first["position"], first["label_id"]) == (again["position"], again["label_id"])


def test_the_whole_answer_has_a_label_of_its_own(two: Path) -> None:
    assert answer(two, "eval", "label", "first", "pull", "--fail")["reviews"] == 0
    (judge,) = answer(two, "judge", "report")["judges"]
    assert judge["whole"]["labelled"] == 1


def test_the_queue_has_what_lacks_a_label(two: Path) -> None:
    page = answer(two, "eval", "labels")
    assert (page["total"], page["labelled"]) == (3, 0)
    done(two, "eval", "label", "first", "loop", "--criterion", "cause", "--fail")
    done(two, "eval", "label", "first", "pull", "--criterion", "cause", "--pass")
    page = answer(two, "eval", "labels")
    assert (page["total"], page["labelled"]) == (2, 1)
    missing = {(each["scenario_id"], each["run_id"]): each["criteria"] for each in page["answers"]}
    assert missing == {("pull", "second"): ["fix"], ("loop", "second"): ["cause"]}
    assert answer(two, "eval", "labels", "--limit", "1")["next"] == 1
    assert "2 to label, 1 labelled." in done(two, "eval", "labels").err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("none", "pull", "--pass"), 1, "none"),
        (("first", "none", "--pass"), 1, "none is not in first"),
        (("first", "pull", "--pass", "--attempt", "7"), 1, "Attempts with an answer: 1"),
        (("first", "pull", "--pass", "--criterion", "tone"), 2, "Its criteria: cause, fix"),
        (("first", "pull"), 2, "Missing option '--pass' or '--fail'"),
        (("first", "--pass"), 2, "Missing argument 'SCENARIO'"),
    ],
)
def test_a_wrong_label_writes_nothing(two: Path, words: tuple[str, ...], code: int, said: str) -> None:
    before = done(two, "log", "--json").out
    assert said in refused(two, "eval", "label", *words, code=code)
    assert done(two, "log", "--json").out == before
