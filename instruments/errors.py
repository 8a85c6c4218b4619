"""Errors of suites and sources. They are here, because every command knows them and few load a suite or a source."""

from collections.abc import Sequence

import msgspec

from events.errors import NothingWritten, TallystickError


class FixtureFault(msgspec.Struct, frozen=True):
    """One mistake in a fixture: its file and key, the problem, and advice."""

    file: str
    key: str | None
    problem: str
    advice: str

    def __str__(self) -> str:
        where = self.file if self.key is None else f"{self.file}: {self.key}"
        return f"{where} {self.problem}. {self.advice}"


class BadFixtures(TallystickError):
    """A suite that cannot be scored; `faults` lists all its mistakes. Nothing was run."""

    def __init__(self, faults: Sequence[FixtureFault], advice: str = "Nothing was run.") -> None:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__("\n".join((f"{count} in the scenarios:", *(f"  {fault}" for fault in faults))), advice)
        self.faults = tuple(faults)


class NoScenarios(BadFixtures):
    """A folder without any scenario."""

    def __init__(self, fault: FixtureFault) -> None:
        super().__init__([fault])
        self.detail = str(fault)


class FixtureExists(NothingWritten):
    """The folder already contains a fixture. Name another folder, or replace it explicitly."""


class BadExpression(TallystickError):
    """A filter expression with a syntax error."""

    field = "-k"


class SourceUnreadable(NothingWritten):
    """A repository, or a file of another program, that cannot be read."""
