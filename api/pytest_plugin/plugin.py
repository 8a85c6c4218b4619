"""Scenarios as pytest's tests: collected, selected, distributed and reported by its own means.

A scenario's description is a file of tests, each attempt at it an item. The process that reports (with xdist the
controller) writes the run, score by score; the others only answer.
"""

import os
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from api.pytest_plugin.items import AttemptItem, PytestSession, ScenarioFile, absolute, unusable
from api.pytest_plugin.recorder import RunRecorder
from api.reports.format import counted
from api.service.evaluation.runs import GradedAttempt, Place
from events.errors import TallystickError
from instruments.evals import Scenario
from instruments.evals.suite.loader import SCENARIO_FILES

GRADED = "tallystick_graded"
"""The attribute of a test's report that holds its score as JSON, which xdist carries to the controller."""

_encode = msgspec.json.encode
_graded = msgspec.json.Decoder(GradedAttempt).decode


class Scenarios:
    """The plugin of a session that asked for scenarios. Errors: pytest.UsageError, naming every fault of them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._desk = PytestSession(config)
        self._files = {_description(scenario): scenario for scenario in self._desk.suite.scenarios}
        self._clerk: RunRecorder | None = None
        self._judged = self._skipped = 0
        _choose(config, list(self._files))

    def pytest_report_header(self) -> str:
        """What is tested, and who answers."""
        suite, agent = self._desk.suite, self._desk.agent
        who = "what was captured" if agent is None else agent.name
        return f"tallystick: {counted(len(suite.scenarios), 'scenario')} of {suite.name}, answered by {who}"

    def pytest_sessionstart(self) -> None:
        """Open what the run is written to, before anything is asked. Errors: pytest.UsageError."""
        option = self._config.getoption
        ledger, url = option("tallystick_ledger"), option("tallystick_url")
        if ledger and url:
            raise pytest.UsageError("--tallystick-ledger and --tallystick-url: name one of them.")
        if (ledger or url) and not option("collectonly") and not hasattr(self._config, "workerinput"):
            try:
                path = absolute(self._config, ledger or "")
                self._clerk = RunRecorder(self._desk.aside, path, url, os.environ.get("TALLYSTICK_TOKEN"))
            except TallystickError as error:
                raise unusable(self._config, error) from None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
        """A scenario's description is a file of tests."""
        scenario = self._files.get(file_path)
        if scenario is None:
            return None
        file: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
        file.desk, file.scenario = self._desk, scenario
        return file

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin the run, where this process asks as well. Errors: pytest.UsageError."""
        self._begin([(item.scenario.id, item.number) for item in session.items if isinstance(item, AttemptItem)])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Begin the run, where other processes ask. Errors: pytest.UsageError."""
        attempts = range(1, self._desk.attempts + 1)
        known = {
            self._desk.name(scenario, number): (scenario.id, number)
            for scenario in self._desk.suite.scenarios
            for number in attempts
        }
        names = [each.partition("::")[2] for each in ids]
        self._begin([known[name] for name in names if name in known])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Have the report of an attempt carry its score."""
        report = yield
        if isinstance(item, AttemptItem) and (report.when == "call" or not report.passed) and report.when != "teardown":
            if item.graded is None and report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
                item.graded = item.desk.skip(item.scenario, item.number, reason.removeprefix("Skipped: "))
            if item.graded is not None:
                setattr(report, GRADED, _encode(item.graded).decode())
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a score, in the process that reports."""
        told = getattr(report, GRADED, None)
        if told is None:
            return
        self._skipped += report.skipped
        self._judged += not report.skipped
        if self._clerk is not None:
            try:
                self._clerk.add(_graded(told))
            except TallystickError as error:
                pytest.exit(f"the run cannot be written: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the run where all of it is scored. A session in which nobody was asked anything is no success."""
        if self._skipped and not self._judged and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
        try:
            if self._clerk is not None:
                self._clerk.close()
        except TallystickError as error:
            pytest.exit(f"the run cannot be ended: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        finally:
            self._desk.aside.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which run it was, and where nothing was judged."""
        run = None if self._clerk is None else self._clerk.run
        if run is not None:
            terminalreporter.write_line(f"tallystick: run {run.run_id}, {counted(len(run.scored), 'score')} recorded")
        if run is not None and not run.finished:
            terminalreporter.write_line(f"It has not ended: tallystick eval run --resume {run.run_id} goes on with it.")
        if self._skipped and not self._judged:
            terminalreporter.write_line("tallystick: nothing was scored: no agent was asked, and nothing captured.")

    def _begin(self, places: list[Place]) -> None:
        if self._clerk is None or self._clerk.run is not None or not places:
            return
        try:
            started = self._desk.opening(len({scenario_id for scenario_id, _ in places}))
            self._clerk.begin(started, self._desk.suite.scenarios, frozenset(places), self._desk.meaning)
        except TallystickError as error:
            raise unusable(self._config, error) from None


def _choose(config: pytest.Config, files: list[Path]) -> None:
    """Have all scenarios collected, unless paths on the command line name some of them."""
    named = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    paths = {absolute(config, argument.partition("::")[0]) for argument in named}
    if not any(file.is_relative_to(path) for path in paths for file in files):
        config.args = [*named, *map(str, files)]


def _description(scenario: Scenario) -> Path:
    return next(path for name in SCENARIO_FILES if (path := scenario.folder / name).exists())
