"""The report on judges: known error rates are recovered, and each rule of counting with its numbers."""

from typing import Any

import pytest

from events.envelope import Draft
from events.evaluation import EvalScored, EvalStarted
from events.judge import JudgeFacts
from projections.evaluation.judge_index import JudgeIndex
from projections.evaluation.judge_report import build_judging_report
from projections.evaluation.judge_view_types import JudgeReport, JudgingReport
from projections.evaluation.query_params import JudgeQuery
from tallystick.shapes.parts import Interval
from tests.projections.drafts import post
from tests.projections.judged_evaluations import Truth, compared, digest_of, facts, judged, label, simulated
from tests.projections.random_histories import events_of

BEGUN = post(EvalStarted(run_id="r", suite="incidents", agent="rca", agent_version="1"))
GOOD: dict[str, Any] = {"cause": [True]}
BAD: dict[str, Any] = {"cause": [False]}


def folded(drafts: list[Draft]) -> JudgeIndex:
    projection = JudgeIndex()
    projection.fold(events_of(drafts))
    return projection


def report(drafts: list[Draft], lengths: dict[str, int] | None = None, **query: str) -> JudgingReport:
    return build_judging_report(folded(drafts).records(), JudgeQuery(**query), lengths or {})


def only(drafts: list[Draft], lengths: dict[str, int] | None = None) -> JudgeReport:
    (found,) = report(drafts, lengths).judges
    return found


def contains(interval: Interval | None, value: float) -> bool:
    assert interval is not None
    return interval.low <= value <= interval.high


@pytest.mark.parametrize("truth", [Truth(), Truth(0.75, 0.9, 0.4), Truth(0.97, 0.7, 0.8)], ids=str)
def test_known_error_rates_are_within_their_intervals(truth: Truth) -> None:
    found = only(simulated(truth, 600, 250, seed=21))
    for part in (found.whole, *found.criteria):
        assert part.sensitivity is not None
        assert part.specificity is not None
        assert part.kappa is not None
        assert contains(part.sensitivity.interval, truth.sensitivity)
        assert contains(part.specificity.interval, truth.specificity)
        assert contains(part.kappa.interval, truth.kappa)
        assert contains(part.corrected.interval, truth.rate)
        assert (part.judged, part.labelled, part.scenarios) == (600, 250, 600)
        assert part.confusion.passed_good + part.confusion.failed_good == part.corrected.good_labels
        assert part.verdict in ("fair", "good")


@pytest.mark.slow
def test_the_intervals_of_many_simulated_judges_cover_the_truth() -> None:
    """Of 95% intervals of 100 judges, at least 88 cover it."""
    truth = Truth()
    covered = {"sensitivity": 0, "specificity": 0, "kappa": 0, "corrected": 0}
    for seed in range(100):
        whole = only(simulated(truth, 200, 100, seed=seed)).whole
        assert whole.sensitivity is not None
        assert whole.specificity is not None
        assert whole.kappa is not None
        covered["sensitivity"] += contains(whole.sensitivity.interval, truth.sensitivity)
        covered["specificity"] += contains(whole.specificity.interval, truth.specificity)
        covered["kappa"] += contains(whole.kappa.interval, truth.kappa)
        covered["corrected"] += contains(whole.corrected.interval, truth.rate)
    assert min(covered.values()) >= 88, covered


def scored(number: int, verdicts: dict[str, Any], judge: JudgeFacts | None = None) -> Draft:
    return post(judged("r", f"s{number}", f"answer {number}", verdicts, judge=judge))


def test_without_labels_of_both_kinds_the_rate_is_unknown() -> None:
    history = [BEGUN, *(scored(number, GOOD if number % 3 else BAD) for number in range(9))]
    whole = only(history).whole
    assert (whole.verdict, whole.kappa, whole.sensitivity) == ("cannot tell", None, None)
    assert (whole.corrected.rate, whole.corrected.unknown_because) == (None, "no labels that pass")
    assert whole.corrected.judge_rate == pytest.approx(6 / 9)
    history += [label(f"s{number}", f"answer {number}", passed=True) for number in range(4)]
    whole = only(history).whole
    assert (whole.verdict, whole.corrected.unknown_because) == ("cannot tell", "no labels that fail")
    assert whole.in_words == "Cannot tell: no label fails. Label answers of both kinds."
    assert whole.sensitivity is not None
    assert (whole.sensitivity.value, whole.sensitivity.n) == (0.5, 4)


def test_a_judge_that_is_wrong_more_often_than_right_corrects_nothing() -> None:
    history = [BEGUN, *(scored(number, GOOD if number % 2 else BAD) for number in range(12))]
    history += [label(f"s{number}", f"answer {number}", passed=not number % 2) for number in range(12)]
    whole = only(history).whole
    assert whole.corrected.unknown_because == "errors too frequent"
    assert whole.verdict == "no better than chance"
    assert whole.confusion.passed_bad == whole.confusion.failed_good == 6


def test_copies_of_an_answer_count_once_and_the_latest_verdict_counts() -> None:
    history = [BEGUN]
    history += [post(judged("r", "s0", "same", BAD if attempt < 3 else GOOD, attempt=attempt)) for attempt in (1, 2, 3)]
    assert (only(history).whole.judged, only(history).whole.corrected.judge_rate) == (1, 1.0)


def test_a_label_of_the_whole_follows_from_the_labels_of_all_its_criteria() -> None:
    both: dict[str, Any] = {"cause": [True], "fix": [True]}
    history = [BEGUN, scored(1, both), scored(2, both)]
    history += [label("s1", "answer 1", passed=True, criterion="cause")]
    assert only(history).whole.labelled == 0
    history += [label("s1", "answer 1", passed=False, criterion="fix")]
    found = only(history)
    assert found.whole.labelled == 1
    assert found.whole.confusion.passed_good == 1  # half of the points, which is the threshold
    history += [label("s1", "answer 1", passed=False)]
    assert only(history).whole.confusion.passed_bad == 1
    assert [(part.criterion, part.labelled) for part in found.criteria] == [("cause", 1), ("fix", 1)]


def test_the_latest_label_counts() -> None:
    history = [BEGUN, scored(1, GOOD)]
    history += [label("s1", "answer 1", passed=passed) for passed in (False, True)]
    assert only(history).whole.confusion.passed_good == 1


def test_votes_that_agree() -> None:
    """Three votes, one of which differs: 1 of 3 pairs agrees; three equal ones: 3 of 3."""
    history = [BEGUN, scored(1, {"cause": [True, True, False]}), scored(2, {"cause": [False] * 3}), scored(3, BAD)]
    found = only(history).criteria[0].self_consistency
    assert found is not None
    assert found.value == pytest.approx(2 / 3)
    assert found.n == 2


def test_pairs_whose_preference_changes_with_the_order() -> None:
    history = [
        compared("s1", (False, "first"), (True, "first")),
        compared("s2", (False, "first"), (True, "second")),
        compared("s3", (False, "tie"), (True, "tie")),
        compared("s4", (False, "first"), (False, "first"), (False, "second"), (True, "first"), (True, "first")),
        compared("s5", (False, "first")),
    ]
    (found,) = report(history).orders
    assert found.pairs == 5
    assert found.swap_rate is not None
    assert (found.swap_rate.value, found.swap_rate.n) == (0.25, 4)
    assert contains(found.swap_rate.interval, 0.25)


def test_a_judge_that_favours_long_answers_is_seen() -> None:
    history = [BEGUN]
    for number in range(40):
        text = "x" * (10 + number)
        history += [post(judged("r", f"s{number}", text, GOOD if number >= 20 else BAD))]
        history += [label(f"s{number}", text, passed=number % 2 == 0)]
    effect = only(history).whole.length
    assert effect.verdict is not None
    assert effect.error is not None
    assert effect.verdict.rho == pytest.approx(0.866, abs=1e-3)
    assert effect.error.interval is not None
    assert effect.error.interval.low > 0.3


def test_the_length_of_an_answer_in_evidence_is_that_of_the_evidence() -> None:
    history = [BEGUN]
    for number in range(6):
        score = judged("r", f"s{number}", f"answer {number}", GOOD if number > 2 else BAD)
        stored = EvalScored(**{**{n: getattr(score, n) for n in score.__struct_fields__}, "analysis": None})
        history.append(post(stored))
    assert only(history).whole.length.verdict is None
    effect = only(history, {digest_of(f"answer {number}"): 70_000 + number for number in range(6)}).whole.length
    assert effect.verdict is not None
    assert effect.verdict.n == 6


def test_a_bias_for_one_agent() -> None:
    history = [BEGUN, post(EvalStarted(run_id="q", suite="incidents", agent="other"))]
    for number in range(12):
        good = number % 2 == 0
        history += [post(judged("r", f"s{number}", f"a {number}", GOOD, model="large"))]
        history += [post(judged("q", f"s{number}", f"b {number}", GOOD if good else BAD))]
        history += [label(f"s{number}", f"{name} {number}", passed=good) for name in "ab"]
    other, ours = only(history).biases
    assert (ours.agent, ours.agent_version, ours.model, ours.judge_rate, ours.label_rate) == (
        "rca",
        "1",
        "large",
        1,
        0.5,
    )
    assert ours.difference.value == 0.5
    assert ours.difference.interval is not None
    assert ours.difference.interval.low > 0.1
    assert (other.agent, other.difference.value) == ("other", 0.0)


def test_another_model_prompt_or_version_is_another_judge() -> None:
    history = [
        BEGUN,
        scored(1, GOOD),
        scored(2, GOOD, judge=facts(model="sim-2")),
        scored(3, GOOD, judge=facts(prompt="e" * 64)),
    ]
    found = report([*history, label("s1", "answer 1", passed=True)])
    assert sorted((judge.model, judge.whole.judged, judge.whole.labelled) for judge in found.judges) == [
        ("sim-1", 1, 0), ("sim-1", 1, 1), ("sim-2", 1, 0),
    ]  # fmt: skip
    assert report(history, judge="judge:none").judges == ()
    assert report(history, suite="other").judges == ()
    assert len(report(history, suite="incidents").judges) == 3


def test_an_outage_is_an_error_and_no_verdict() -> None:
    failed = EvalScored(run_id="r", scenario_id="s9", attempt=1, state="error", failure="judge", judge=facts())
    history = [BEGUN, post(failed)]
    (found,) = report(history).judges
    assert (found.errors, found.whole.judged) == (1, 0)
    assert found.whole.corrected.unknown_because == "no verdicts"


def test_the_state_does_not_depend_on_batches_and_survives_encoding() -> None:
    history = [*simulated(Truth(), 30, 20, seed=4, votes=3), compared("s1", (False, "first"), (True, "tie"))]
    events = events_of(history)
    whole, parts = JudgeIndex(), JudgeIndex()
    whole.fold(events)
    for event in events:
        parts.fold([event])
    assert whole.encode() == parts.encode()
    again = JudgeIndex.decode(whole.encode())
    assert again.encode() == whole.encode()
    assert again.records() == whole.records()
    assert again.runs_with("s3", whole.records().scores[3].answer) == ["r"]
    assert again.runs_with("s3", digest_of("unknown")) == []
    assert again.summary() == {"judges": ["judge:sim"], "scores": 30, "verdicts": 30, "labels": 20, "pairs": 1}
