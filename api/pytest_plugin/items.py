"""Attempts at scenarios as items of pytest: asked while they are set up, judged when they run.

So an agent that crashes is an error of the test, and an analysis that scores too little a failure.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from api.pytest_plugin.background_loop import BackgroundLoop
from api.reports.escape import visible
from api.reports.format import points
from api.reports.score_text import breakdown
from api.service.evaluation.grader import NOT_CAPTURED, Grader, at_hand
from api.service.evaluation.resume import RunSettings
from api.service.evaluation.runner import EvalOptions, checked, opening
from api.service.evaluation.runs import GradedAttempt
from events.errors import TallystickError
from events.evaluation import EvalScored, EvalStarted
from instruments.evals import Scenario, Suite, load, meaning_of
from projections.evaluation.view_types import ScoreRow

ATTEMPTS_MAX = 1_000

_shared = [name for name in ScoreRow.__struct_fields__ if name in EvalScored.__struct_fields__]


class PytestSession:
    """What a session asked for, checked; asks for answers and scores them. Errors: pytest.UsageError."""

    def __init__(self, config: pytest.Config) -> None:
        self._asked = _asked(config)
        self.attempts: int = config.getoption("tallystick_attempts")
        if not 1 <= self.attempts <= ATTEMPTS_MAX:
            raise pytest.UsageError(f"--tallystick-attempts: give a number from 1 to {ATTEMPTS_MAX:,}.")
        try:
            self.agent = checked(self._asked)
            self.suite: Suite = load(self._asked.fixtures)
        except TallystickError as error:
            raise unusable(config, error) from None
        self.aside = BackgroundLoop()
        nowhere = structs.replace(self.opening(0), run_id="-")
        self.meaning = meaning_of(os.environ)
        self._marker = Grader(nowhere, self.meaning, tuple if self.agent is None else self.agent.hide)

    def opening(self, scenarios: int) -> EvalStarted:
        """How a run of so many scenarios begins."""
        return opening(self._asked, self.suite, self.agent, scenarios)

    def name(self, scenario: Scenario, attempt: int) -> str:
        """What an attempt is called: its scenario's title, with its number where there are several."""
        return scenario.title if self.attempts == 1 else f"{scenario.title}[{attempt}]"

    def grade(self, scenario: Scenario, attempt: int) -> GradedAttempt:
        """The score of an answer, which is asked for where there is an agent."""
        if self.agent is not None:
            reply = self.aside.run(self.agent.ask(scenario))
        else:
            assert scenario.captured is not None, "what was not captured is skipped"
            reply = at_hand(scenario.captured)
        return self._marker.grade(scenario, attempt, reply)

    def skip(self, scenario: Scenario, attempt: int, reason: str) -> GradedAttempt:
        """A scenario that nobody was asked."""
        return self._marker.skip(scenario, attempt, reason)


class ScenarioFile(pytest.File):
    """The description of a scenario."""

    desk: PytestSession
    scenario: Scenario

    def collect(self) -> Iterator["AttemptItem"]:
        for number in range(1, self.desk.attempts + 1):
            yield AttemptItem.of(self, self.desk.name(self.scenario, number), number)


class AttemptItem(pytest.Item):
    """One attempt at a scenario."""

    desk: PytestSession
    scenario: Scenario
    number: int
    graded: GradedAttempt | None = None

    @classmethod
    def of(cls, file: ScenarioFile, name: str, number: int) -> "AttemptItem":
        item: AttemptItem = cls.from_parent(file, name=name)
        item.desk, item.scenario, item.number = file.desk, file.scenario, number
        about = file.scenario.about
        item.extra_keyword_matches.update(filter(None, (about.name, about.family, about.failure_type)))
        if file.desk.agent is None and file.scenario.captured is None:
            item.add_marker(pytest.mark.skip(reason=NOT_CAPTURED))
        return item

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name

    def setup(self) -> None:
        self.graded = self.desk.grade(self.scenario, self.number)
        score = self.graded.score
        self.user_properties[:] = properties(score)
        if score.state == "error":
            raise pytest.fail.Exception(last_words(score), pytrace=False)

    def runtest(self) -> None:
        assert self.graded is not None, "it was set up"
        score = self.graded.score
        if not score.passed:
            total = f"{points(score.total_score)} points, {points(score.pass_threshold)} needed"
            raise pytest.fail.Exception("\n".join((total, *breakdown(_row(score)))), pytrace=False)


def properties(score: EvalScored) -> list[tuple[str, object]]:
    """What JUnit is told of a score."""
    told: list[tuple[str, object]] = [("scenario", score.scenario_id), ("state", score.failure or score.state)]
    if score.total_score is not None:
        told += [("total_score", score.total_score), ("pass_threshold", score.pass_threshold)]
    return told + [(part.name, part.score) for part in score.components if part.applicable and part.score is not None]


def last_words(score: EvalScored) -> str:
    """Why there is no score, with the last lines that were written."""
    told = [f"{score.failure}: {score.detail}", *breakdown(_row(score))]
    return visible("\n".join([*told, *(["", *score.said.splitlines()] if score.said else [])]))


def _row(score: EvalScored) -> ScoreRow:
    return ScoreRow(position=0, **{name: getattr(score, name) for name in _shared})


def _asked(config: pytest.Config) -> EvalOptions:
    option = config.getoption
    terms = RunSettings(
        suite=option("tallystick_name"),
        selection=option("keyword").strip() or None,
        attempts=option("tallystick_attempts"),
        agent_name=option("tallystick_agent_name"),
        agent_version=option("tallystick_agent_version"),
        enable_llm={"yes": True, "no": False}.get(option("tallystick_enable_llm")),
    )
    return EvalOptions(
        fixtures=absolute(config, option("tallystick_fixtures")),
        agent=option("tallystick_agent"),
        terms=terms,
        timeout_s=option("tallystick_timeout"),
    )


def absolute(config: pytest.Config, path: str) -> Path:
    """A path as it was typed, whatever folder the session is in by then."""
    return Path(os.path.abspath(config.invocation_params.dir / path))  # noqa: PTH100 - links are not followed


def unusable(config: pytest.Config, error: TallystickError) -> pytest.UsageError:
    """A refusal in the words of this door."""
    field, detail = str(getattr(error, "field", "")), error.detail
    if field and detail.startswith(f"{field}:"):
        detail = f"--tallystick-{field.replace('_', '-')}{detail[len(field) :]}"
    told = f"{detail} {error.advice}".replace(f"{config.invocation_params.dir}{os.sep}", "")
    return pytest.UsageError(told.replace(" --agent", " --tallystick-agent").rstrip())
