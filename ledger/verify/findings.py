"""The findings of a verification: each check with its count, and each fault with its position."""

import msgspec

FAULTS_MAX = 20
"""Faults of one check that are listed; further ones are only counted."""


class Finding(msgspec.Struct, frozen=True):
    """One fault. `position` is that of the wrong event, if it can be named."""

    check: str
    position: int | None
    detail: str


class Check(msgspec.Struct):
    """One check: the number of units checked, the number of faults, and the first faults."""

    name: str
    unit: str
    count: int = 0
    wrong: int = 0
    faults: list[Finding] = msgspec.field(default_factory=list)

    @property
    def right(self) -> bool:
        """Return whether the check found no fault."""
        return self.wrong == 0

    def fault(self, detail: str, position: int | None = None) -> None:
        """Add a fault."""
        self.wrong += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(Finding(self.name, position, detail))


class Findings:
    """The checks of one verification in the order in which they began, and notes for the reader."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.notes: list[str] = []

    def check(self, name: str, unit: str) -> Check:
        """Return the check with a name; begin it if it is new."""
        for check in self.checks:
            if check.name == name:
                return check
        self.checks.append(Check(name, unit))
        return self.checks[-1]

    @property
    def right(self) -> bool:
        """Return whether no check found a fault."""
        return all(check.right for check in self.checks)

    @property
    def first(self) -> Finding | None:
        """Return the fault at the lowest position; without positions, the first fault; None without faults."""
        faults = [fault for check in self.checks for fault in check.faults]
        placed = [fault for fault in faults if fault.position is not None]
        if placed:
            return min(placed, key=lambda fault: fault.position or 0)
        return faults[0] if faults else None
