"""Evaluations in few words, and the figures over them said again in the plainest way: exact fractions, no columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

from scipy import stats

from events.envelope import Draft, EventFacts
from events.evaluation import Component, EvalFinished, EvalScored, EvalStarted, PatternFinding
from projections.evaluation.run_view import build_evaluation
from projections.evaluation.view_types import Evaluation
from tests.projections.drafts import post
from tests.projections.random_histories import events_of


def begin(run: str, suite: str = "incidents", *, agent: str | None = "rca", **fields: object) -> Draft:
    """An eval.started."""
    return post(EvalStarted(run_id=run, suite=suite, agent=agent, **fields))  # type: ignore[arg-type]


def score(run: str, scenario: str, points: float, attempt: int = 1, **fields: object) -> Draft:
    """An answer that was scored; it passes from 70 points."""
    about = {"total_score": points, "passed": points >= 70, **fields}
    return post(EvalScored(run_id=run, scenario_id=scenario, attempt=attempt, state="scored", **about))  # type: ignore[arg-type]


def fail(run: str, scenario: str, attempt: int = 1, **fields: object) -> Draft:
    """An error."""
    return post(EvalScored(run_id=run, scenario_id=scenario, attempt=attempt, state="error", **fields))  # type: ignore[arg-type]


def skip(run: str, scenario: str, attempt: int = 1) -> Draft:
    """An attempt that was skipped."""
    return post(EvalScored(run_id=run, scenario_id=scenario, attempt=attempt, state="skipped"))


def end(run: str) -> Draft:
    """An eval.finished."""
    return post(EvalFinished(run_id=run))


def found(*findings: tuple[str, str, bool]) -> tuple[Component, ...]:
    """The part of a score that says of patterns whether they matched: expectation, pattern, matched."""
    reported = tuple(
        PatternFinding(expectation=where, pattern=pattern, match_type="substring", matched=matched)
        for where, pattern, matched in findings
    )
    return (Component(name="root_cause", applicable=True, findings=reported),)


def evaluation(*drafts: Draft) -> Evaluation:
    """The run that some drafts tell, the first of which begins it."""
    return build_evaluation(events_of(drafts), {}, {})


@dataclass
class Reported:
    """One score that counts, with what it says or its run says for it."""

    run: str
    suite: str
    scenario: str
    attempt: int
    time: str
    started: str
    ended: bool
    state: str
    points: Fraction
    passed: bool
    agent: str | None
    version: str | None
    baseline: str | None
    scorer: str | None
    scorer_version: str | None
    fixture: str | None
    expectation: str | None
    weight: float | None


def report(events: Sequence[EventFacts]) -> list[Reported]:
    """Every score that no later one replaces, in the order of the log."""
    runs = {event.data.run_id: event for event in events if isinstance(event.data, EvalStarted)}
    ended = {event.data.run_id for event in events if isinstance(event.data, EvalFinished)}
    counted: dict[tuple[str, str, int], EventFacts] = {}
    for event in events:
        if isinstance(event.data, EvalScored):
            counted[event.data.run_id, event.data.scenario_id, event.data.attempt] = event
    made = []
    for event in sorted(counted.values(), key=lambda one: one.position):
        data = event.data
        assert isinstance(data, EvalScored)
        began = runs[data.run_id].data
        assert isinstance(began, EvalStarted)
        agent, version = stated(data.agent, data.agent_version, began.agent, began.agent_version)
        scorer, scorer_version = stated(data.scorer_id, data.scorer_version, began.scorer_id, began.scorer_version)
        made.append(
            Reported(
                run=data.run_id, suite=began.suite, scenario=data.scenario_id, attempt=data.attempt, time=event.time,
                started=runs[data.run_id].time, ended=data.run_id in ended, state=data.state,
                points=Fraction(data.total_score or 0), passed=bool(data.passed), agent=agent, version=version,
                baseline=began.baseline, scorer=scorer, scorer_version=scorer_version, fixture=data.fixture_digest,
                expectation=data.expectation_digest, weight=data.weight,
            )
        )  # fmt: skip
    return made


def stated(
    name: str | None, version: str | None, run_name: str | None, run_version: str | None
) -> tuple[str | None, str | None]:
    """A name with its version, as the score says, else its run; the run's version is that of its own name alone."""
    if name is None or run_name is None or name == run_name:
        return name or run_name, version or run_version
    return name, version


def newest(scores: Iterable[Reported], field: str) -> str | None:
    """What the newest score that states something states; of scores at one time, the last in the log."""
    reported = [score for score in sorted(scores, key=lambda one: one.time) if getattr(score, field) is not None]
    return getattr(reported[-1], field) if reported else None


def current(scores: Sequence[Reported]) -> list[Reported]:
    """Of the scores of one suite those that are of what it holds now, by what scores it now."""
    scorer = newest(scores, "scorer")
    version = newest([score for score in scores if score.scorer == scorer], "scorer_version") if scorer else None
    kept = []
    for score in scores:
        own = [other for other in scores if other.scenario == score.scenario]
        fits = score.scorer in (None, scorer) and score.scorer_version in (None, version)
        fits &= score.fixture in (None, newest(own, "fixture"))
        fits &= score.expectation in (None, newest(own, "expectation"))
        if fits:
            kept.append(score)
    return kept


def weights_of(scores: Sequence[Reported]) -> dict[str, float]:
    """What each scenario counts: as the last of some scores that state it say, else 1."""
    return {score.scenario: 1.0 for score in scores} | {
        score.scenario: score.weight for score in scores if score.weight is not None
    }


def pooled(scores: Sequence[Reported], weights: dict[str, float]) -> dict[str, Any]:
    """The figures over scenarios; those that there are none of are left out."""
    by: dict[str, list[Reported]] = {}
    for score in scores:
        by.setdefault(score.scenario, []).append(score)
    tried = {name: [one for one in own if one.state != "skipped"] for name, own in by.items()}
    tried = {name: own for name, own in tried.items() if own}
    passed = {name: sum(one.passed for one in own) for name, own in tried.items()}
    errors = {name: sum(one.state == "error" for one in own) for name, own in tried.items()}
    means = {name: sum((one.points for one in own), Fraction(0)) / len(own) for name, own in tried.items()}
    answered = {name: own for name, own in tried.items() if len(own) > errors[name]}
    scored_means = {
        name: sum((one.points for one in own), Fraction(0)) / (len(own) - errors[name])
        for name, own in answered.items()
    }
    reported: dict[str, Any] = {
        "scenarios": len(by),
        "scored": sum(one.state == "scored" for one in scores),
        "passed": sum(passed.values()),
        "failed": sum(one.state == "scored" and not one.passed for one in scores),
        "errors": sum(errors.values()),
        "skipped": sum(one.state == "skipped" for one in scores),
        "stable": sum(passed[name] == len(own) for name, own in tried.items()),
        "flaky": sum(0 < passed[name] < len(own) for name, own in tried.items()),
        "failing": sum(passed[name] == 0 and errors[name] < len(own) for name, own in tried.items()),
        "broken": sum(errors[name] == len(own) for name, own in tried.items()),
    }
    if (mean := mean_of(means, weights)) is not None:
        reported["mean"] = float(mean)
        reported["mean_interval"] = interval_of(means, weights)
    if (mean := mean_of(scored_means, weights)) is not None:
        reported["mean_scored"] = float(mean)
    if tried:
        reported["pass_rate"] = float(sum(Fraction(passed[name], len(own)) for name, own in tried.items()) / len(tried))
    return reported


def mean_of(values: dict[str, Fraction], weights: dict[str, float]) -> Fraction | None:
    """The mean by weight; None where nothing weighs anything."""
    total = sum(Fraction(weights[name]) for name in values)
    return sum(Fraction(weights[name]) * value for name, value in values.items()) / total if total else None


def interval_of(values: dict[str, Fraction], weights: dict[str, float], low: float = 0.0) -> tuple[float, float] | None:
    """Student's interval over scenarios, of as many as their weights are worth."""
    counted = {name: Fraction(weights[name]) for name in values if weights[name]}
    mean = mean_of(values, weights)
    if mean is None or len({values[name] for name in counted}) < 2:
        return None
    total = sum(counted.values())
    worth = float(total * total / sum(weight * weight for weight in counted.values()))
    spread = float(sum(weight * (values[name] - mean) ** 2 for name, weight in counted.items()) / total)
    half = float(stats.t.ppf(0.975, worth - 1)) * sqrt(spread * worth / (worth - 1)) / sqrt(worth)
    return max(low, float(mean) - half), min(100.0, float(mean) + half)
