"""What a verification found: each check with how much it looked at, and every fault with the position it is at."""

import msgspec

FAULTS_MAX = 20
"""Faults of one check that are told; the others are counted."""


class Finding(msgspec.Struct, frozen=True):
    """Something that is wrong. `position` is that of the event it is at, where it is at one that can be named."""

    check: str
    position: int | None
    detail: str


class Check(msgspec.Struct):
    """One thing that was checked: how many of what, and what was found wrong."""

    name: str
    unit: str
    count: int = 0
    wrong: int = 0
    faults: list[Finding] = msgspec.field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether nothing was found wrong."""
        return self.wrong == 0

    def fault(self, detail: str, position: int | None = None) -> None:
        """Tell of something wrong."""
        self.wrong += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(Finding(self.name, position, detail))


class Findings:
    """The checks of one verification in the order in which they began, and what is said beside them."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.notes: list[str] = []

    def check(self, name: str, unit: str) -> Check:
        """The check of a name, begun where it is new."""
        for check in self.checks:
            if check.name == name:
                return check
        self.checks.append(Check(name, unit))
        return self.checks[-1]

    @property
    def right(self) -> bool:
        """Whether every check found nothing wrong."""
        return all(check.right for check in self.checks)

    @property
    def first(self) -> Finding | None:
        """The fault at the lowest position; the first that is at none, where none is at one."""
        faults = [fault for check in self.checks for fault in check.faults]
        placed = [fault for fault in faults if fault.position is not None]
        return min(placed, key=lambda fault: fault.position or 0) if placed else faults[0] if faults else None
