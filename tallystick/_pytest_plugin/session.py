"""The pytest plugin of a session with scenarios: pytest collects, selects, distributes and reports them as tests.

A scenario's description is a file of tests, and each attempt at it is an item. The worker of the process that reports
(with xdist the controller) also writes each score to the run; the workers of the other processes only score.
"""

from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

from tallystick._pytest_plugin.application_process import WorkerFailed, WorkerProcess, WorkerRefused
from tallystick._pytest_plugin.messages import (
    AttemptKey,
    Begin,
    Begun,
    Close,
    Closed,
    Done,
    Open,
    Record,
    Recorded,
    Scored,
)
from tallystick._pytest_plugin.pytest_items import (
    Attempt,
    LoadedSuite,
    ScenarioFile,
    resolve_typed_place,
)

SCORE = "tallystick_score"
"""The attribute of a test's report that holds its score as JSON; xdist sends it to the controller."""


class ScenarioSession:
    """The plugin of a session with scenarios. Errors: pytest.UsageError, naming every fault of the scenarios."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._worker = WorkerProcess()
        config.add_cleanup(self._worker.end)
        self._suite = LoadedSuite(config, self._worker)
        self._files = {Path(scenario.description): scenario for scenario in self._suite.scenarios}
        self._records = self._finished = False
        self._run_id = ""
        self._recorded = self._judged = self._skipped = 0
        _collect_scenarios(config, list(self._files))

    def pytest_report_header(self) -> str:
        """Name the suite and the agent."""
        agent = self._suite.agent or "the captured analyses"
        return f"tallystick: {_count(len(self._files), 'scenario')} of {self._suite.name}, answered by {agent}"

    def pytest_sessionstart(self) -> None:
        """Open the ledger that the run is written to, before any agent is asked. Errors: pytest.UsageError."""
        option = self._config.getoption
        ledger, url = option("tallystick_ledger"), option("tallystick_url")
        if ledger and url:
            raise pytest.UsageError("--tallystick-ledger and --tallystick-url: name one of them.")
        if (ledger or url) and not option("collectonly") and not hasattr(self._config, "workerinput"):
            try:
                self._worker.call(Open(ledger=resolve_typed_place(self._config, ledger or ""), url=url), Done)
            except (WorkerRefused, WorkerFailed) as error:
                raise pytest.UsageError(str(error)) from None
            self._records = True

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
        """Collect a scenario's description as a file of tests."""
        scenario = self._files.get(file_path)
        if scenario is None:
            return None
        file: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
        file.suite, file.scenario = self._suite, scenario
        return file

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin the run, if this process also runs the tests. Errors: pytest.UsageError."""
        self._begin((item.scenario.id, item.number) for item in session.items if isinstance(item, Attempt))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Begin the run, if xdist runs the tests in other processes. Errors: pytest.UsageError."""
        attempts = self._suite.attempts_by_name()
        names = [test_id.partition("::")[2] for test_id in ids]
        self._begin(attempts[name] for name in names if name in attempts)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the score of an attempt to its report."""
        report = yield
        if isinstance(item, Attempt) and (report.when == "call" or not report.passed) and report.when != "teardown":
            if item.scored is None and report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
                item.scored = _skip(item, reason.removeprefix("Skipped: "))
            if item.scored is not None:
                setattr(report, SCORE, item.scored.score)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the score of a report. Pytest calls this in the process that reports."""
        score = getattr(report, SCORE, None)
        if score is None:
            return
        self._skipped += report.skipped
        self._judged += not report.skipped
        if self._records:
            try:
                self._recorded = self._worker.call(Record(score=score), Recorded).scores
            except (WorkerRefused, WorkerFailed) as error:
                pytest.exit(f"the run cannot be written: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the run if every attempt is scored. A session in which nothing was scored fails."""
        if self._skipped and not self._judged and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
        try:
            if self._records:
                self._finished = self._worker.call(Close(), Closed).finished
        except (WorkerRefused, WorkerFailed) as error:
            pytest.exit(f"the run cannot be ended: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        finally:
            self._worker.end()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the run's id, and a note if nothing was scored."""
        if self._run_id:
            terminalreporter.write_line(f"tallystick: run {self._run_id}, {_count(self._recorded, 'score')} recorded")
        if self._run_id and not self._finished:
            terminalreporter.write_line(f"It has not ended: tallystick eval run --resume {self._run_id} continues it.")
        if self._skipped and not self._judged:
            terminalreporter.write_line(
                "tallystick: nothing was scored: there is neither an agent nor a captured analysis."
            )

    def _begin(self, attempts: Iterable[AttemptKey]) -> None:
        keys = tuple(attempts)
        if self._records and not self._run_id and keys:
            try:
                keep_files = not self._config.getoption("tallystick_no_keep_files")
                self._run_id = self._worker.call(Begin(attempts=keys, keep_files=keep_files), Begun).run_id
            except (WorkerRefused, WorkerFailed) as error:
                raise pytest.UsageError(str(error)) from None


def _skip(item: Attempt, reason: str) -> Scored:
    """Return the score of a skipped attempt. If the worker has failed, end the session."""
    try:
        return item.suite.skip(item.scenario, item.number, reason)
    except WorkerFailed as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)


def _collect_scenarios(config: pytest.Config, files: list[Path]) -> None:
    """Make pytest collect all scenarios, unless paths on the command line name some of them."""
    typed = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    paths = {resolve_typed_place(config, argument.partition("::")[0]) for argument in typed}
    if not any(file.is_relative_to(path) for path in paths for file in files):
        config.args = [*typed, *map(str, files)]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
