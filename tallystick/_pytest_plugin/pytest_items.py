"""Pytest items for attempts at scenarios: `setup` scores the attempt, and `runtest` fails if its score is too low.

So pytest reports an agent that crashes as an error, and an analysis with too few points as a failure.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick._pytest_plugin.application_process import WorkerFailed, WorkerProcess, WorkerRefused
from tallystick._pytest_plugin.messages import (
    AttemptKey,
    Load,
    Loaded,
    LoadedScenario,
    Score,
    Scored,
    Skip,
)

ATTEMPTS_MAX = 1_000


class LoadedSuite:
    """Loads the scenarios of a session, and has a worker score attempts at them. Errors: pytest.UsageError."""

    def __init__(self, config: pytest.Config, worker: WorkerProcess) -> None:
        self.attempts: int = config.getoption("tallystick_attempts")
        if not 1 <= self.attempts <= ATTEMPTS_MAX:
            raise pytest.UsageError(f"--tallystick-attempts: give a number from 1 to {ATTEMPTS_MAX:,}.")
        self._worker = worker
        try:
            loaded = worker.call(_load_request(config), Loaded)
        except (WorkerRefused, WorkerFailed) as error:
            raise pytest.UsageError(str(error)) from None
        self.name, self.agent, self.scenarios = loaded.suite, loaded.agent, loaded.scenarios

    def attempts_by_name(self) -> dict[str, AttemptKey]:
        """Return the key of every attempt by its name."""
        numbers = range(1, self.attempts + 1)
        return {
            self.attempt_name(scenario, number): (scenario.id, number)
            for scenario in self.scenarios
            for number in numbers
        }

    def attempt_name(self, scenario: LoadedScenario, number: int) -> str:
        """Return the scenario's title, with the attempt's number if each scenario has several."""
        return scenario.title if self.attempts == 1 else f"{scenario.title}[{number}]"

    def score(self, scenario: LoadedScenario, number: int) -> Scored:
        """Score an attempt. Errors: WorkerRefused, WorkerFailed."""
        return self._worker.call(Score(scenario_id=scenario.id, attempt=number), Scored)

    def skip(self, scenario: LoadedScenario, number: int, reason: str) -> Scored:
        """Return the score of a skipped attempt. Errors: WorkerRefused, WorkerFailed."""
        return self._worker.call(Skip(scenario_id=scenario.id, attempt=number, reason=reason), Scored)


class ScenarioFile(pytest.File):
    """The description file of a scenario, from which pytest collects the attempts."""

    suite: LoadedSuite
    scenario: LoadedScenario

    def collect(self) -> Iterator["Attempt"]:
        for number in range(1, self.suite.attempts + 1):
            yield Attempt.of(self, self.suite.attempt_name(self.scenario, number), number)


class Attempt(pytest.Item):
    """One attempt at a scenario."""

    suite: LoadedSuite
    scenario: LoadedScenario
    number: int
    """The number of the attempt; a plugin that reruns a test makes another attempt of it."""
    runs: int = 0
    """How often it has run."""
    scored: Scored | None = None

    @classmethod
    def of(cls, file: ScenarioFile, name: str, number: int) -> "Attempt":
        item: Attempt = cls.from_parent(file, name=name)
        item.suite, item.scenario, item.number = file.suite, file.scenario, number
        item.extra_keyword_matches.update(file.scenario.keywords)
        if file.scenario.skipped is not None:
            item.add_marker(pytest.mark.skip(reason=file.scenario.skipped))
        return item

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name

    def setup(self) -> None:
        self.scored = None
        self.runs = max(self.runs + 1, getattr(self, "execution_count", 1))  # pytest-rerunfailures counts crashes too
        try:
            self.scored = self.suite.score(self.scenario, self.number + (self.runs - 1) * self.suite.attempts)
        except (WorkerRefused, WorkerFailed) as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        self.user_properties[:] = self.scored.properties
        if self.scored.outcome == "error":
            raise pytest.fail.Exception(self.scored.text, pytrace=False)

    def runtest(self) -> None:
        assert self.scored is not None, "`setup` has scored it"
        if self.scored.outcome == "failed":
            raise pytest.fail.Exception(self.scored.text, pytrace=False)


def resolve_typed_path(config: pytest.Config, path: str) -> Path:
    """Return the absolute path of one that was typed, even if the session has changed its folder since."""
    return Path(os.path.abspath(config.invocation_params.dir / path))  # noqa: PTH100 - links are not followed


def resolve_typed_place(config: pytest.Config, place: str) -> str:
    """Return the place of a ledger as `resolve_typed_path` does, or the address of a database unchanged."""
    return place if "://" in place else str(resolve_typed_path(config, place))


def _load_request(config: pytest.Config) -> Load:
    option = config.getoption
    return Load(
        fixtures=str(resolve_typed_path(config, option("tallystick_fixtures"))),
        folder=str(config.invocation_params.dir),
        agent=option("tallystick_agent"),
        suite=option("tallystick_name"),
        selection=option("keyword").strip() or None,
        attempts=option("tallystick_attempts"),
        agent_name=option("tallystick_agent_name"),
        agent_version=option("tallystick_agent_version"),
        model=option("tallystick_model"),
        enable_llm={"yes": True, "no": False}.get(option("tallystick_enable_llm")),
        timeout_s=option("tallystick_timeout"),
    )
