"""What a suite is refused for, apart from what reads suites: every verb knows its errors, and few load the scorer."""

from collections.abc import Sequence

import msgspec

from events.errors import TallystickError


class FixtureFault(msgspec.Struct, frozen=True):
    """One mistake: in which file, at which key, what, and what to do."""

    file: str
    key: str | None
    what: str
    advice: str

    def __str__(self) -> str:
        where = self.file if self.key is None else f"{self.file}: {self.key}"
        return f"{where} {self.what}. {self.advice}"


class BadFixtures(TallystickError):
    """A suite that cannot be scored as it stands; `faults` are all that is wrong with it. Nothing was run."""

    def __init__(self, faults: Sequence[FixtureFault], advice: str = "Nothing was run.") -> None:
        head = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__("\n".join((f"{head} in the scenarios:", *(f"  {fault}" for fault in faults))), advice)
        self.faults = tuple(faults)


class NoScenarios(BadFixtures):
    """A folder in which there is no scenario at all."""

    def __init__(self, fault: FixtureFault) -> None:
        super().__init__([fault])
        self.detail = str(fault)


class FixtureExists(TallystickError):
    """The folder holds a fixture; nothing was written: name another folder, or replace it on purpose."""


class BadExpression(TallystickError):
    """An expression that selects nothing because it cannot be read."""

    field = "-k"
