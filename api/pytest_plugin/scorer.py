"""Scores attempts at the scenarios of a pytest session."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import structs

from api.reports.escape import visible
from api.reports.format import points
from api.reports.score_text import score_lines
from api.service.evaluation.answer_scorer import NOT_CAPTURED, Grader, captured_output
from api.service.evaluation.option_checks import ScorerName, build_start, check_options
from api.service.evaluation.options import EvalOptions
from api.service.evaluation.run_operations import GradedAttempt
from events.evaluation import EvalScored, EvalStarted
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.semantic_matcher import matcher_from_environment
from instruments.evals.suite.loader import SCENARIO_FILES, Suite, load
from projections.evaluation.run_view import score_row
from tallystick._pytest_plugin.messages import (
    AttemptOutcome,
    Load,
    Loaded,
    LoadedScenario,
    Scored,
)

_encode = msgspec.json.encode


class AttemptScorer:
    """Scores attempts at the suite and by the agent that a session selects. Errors: BadFixtures, InvalidQuery."""

    def __init__(self, load_request: Load) -> None:
        self._options = _eval_options(load_request)
        self._agent = check_options(self._options)
        self.suite: Suite = load(Path(load_request.fixtures))
        self._scenarios = {scenario.id: scenario for scenario in self.suite.scenarios}
        self.matcher = matcher_from_environment(os.environ)
        no_run = structs.replace(self.start_event(0), run_id="-")
        self._grader = Grader(no_run, self.matcher, tuple if self._agent is None else self._agent.hide)
        self._grading_thread = ThreadPoolExecutor(1)

    def loaded(self) -> Loaded:
        """Return the suite with what pytest needs of each scenario."""
        return Loaded(
            suite=self.suite.name,
            agent=None if self._agent is None else self._agent.name,
            scenarios=tuple(map(self._loaded, self.suite.scenarios)),
        )

    def start_event(self, scenarios: int) -> EvalStarted:
        """Return the first event of a run of that number of scenarios."""
        scorer = ScorerName.of(None, self.suite.scenarios, self.matcher)
        return build_start(self._options, self.suite, self._agent, scenarios, scorer)

    async def score(self, scenario_id: str, attempt: int) -> Scored:
        """Score the agent's answer, or without an agent the captured analysis. Cancelling ends the agent's command."""
        scenario = self._scenarios[scenario_id]
        if self._agent is not None:
            reply = await self._agent.ask(scenario)
        else:
            assert scenario.captured is not None, "a scenario without an analysis is skipped"
            reply = captured_output(scenario.captured)
        loop = asyncio.get_running_loop()
        return _scored(await loop.run_in_executor(self._grading_thread, self._grader.grade, scenario, attempt, reply))

    def skip(self, scenario_id: str, attempt: int, reason: str) -> Scored:
        """Return the score of a skipped attempt."""
        return _scored(self._grader.skip(self._scenarios[scenario_id], attempt, reason))

    def _loaded(self, scenario: Scenario) -> LoadedScenario:
        about = scenario.about
        can_be_scored = self._agent is not None or scenario.captured is not None
        return LoadedScenario(
            id=scenario.id,
            title=scenario.title,
            description=str(next(path for name in SCENARIO_FILES if (path := scenario.folder / name).exists())),
            keywords=tuple(filter(None, (about.name, about.family, about.cluster, about.failure_type))),
            skipped=None if can_be_scored else NOT_CAPTURED,
        )


def _scored(graded: GradedAttempt) -> Scored:
    score = graded.score
    outcome: AttemptOutcome = "skipped"
    text = ""
    if score.state == "error":
        outcome, text = "error", error_text(score)
    elif score.state == "scored" and score.passed:
        outcome = "passed"
    elif score.state == "scored":
        outcome, text = "failed", failure_text(score)
    return Scored(score=_encode(graded).decode(), outcome=outcome, text=text, properties=properties(score))


def _eval_options(request: Load) -> EvalOptions:
    options = {name: value for name, value in structs.asdict(request).items() if name in EvalOptions.__struct_fields__}
    return EvalOptions(**options | {"fixtures": Path(request.fixtures)})


def properties(score: EvalScored) -> tuple[tuple[str, str | float], ...]:
    """Return the properties of a test in JUnit XML: scenario, state, points, and the points of each component."""
    named_values: list[tuple[str, str | float]] = [
        ("scenario", score.scenario_id),
        ("state", score.failure or score.state),
    ]
    if score.total_score is not None and score.pass_threshold is not None:
        named_values += [("total_score", score.total_score), ("pass_threshold", score.pass_threshold)]
    named_values += [(part.name, part.score) for part in score.components if part.applicable and part.score is not None]
    return tuple(named_values)


def failure_text(score: EvalScored) -> str:
    """Return the points of an answer that did not pass, with the expected patterns and whether each matched."""
    total = f"{points(score.total_score)} points, {points(score.pass_threshold)} needed"
    return "\n".join((total, *score_lines(score_row(score, 0))))


def error_text(score: EvalScored) -> str:
    """Return why an attempt has no score, with the last lines of the agent's output."""
    lines = [f"{score.failure}: {score.detail}", *score_lines(score_row(score, 0))]
    return visible("\n".join([*lines, *(["", *score.said.splitlines()] if score.said else [])]))
