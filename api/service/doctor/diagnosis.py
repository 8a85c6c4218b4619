"""The findings of a check of an installation."""

from typing import Literal

import msgspec

State = Literal["ok", "warning", "wrong"]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One finding: what was checked, its state, and what to do unless it is ok."""

    check: str
    state: State
    detail: str
    advice: str | None = None


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about one ledger; `right` if none is wrong."""

    ledger: str
    right: bool
    findings: list[Diagnosis]


def ok(check: str, detail: str) -> Diagnosis:
    """Return a finding that needs nothing."""
    return Diagnosis(check=check, state="ok", detail=detail)


def warning(check: str, detail: str, advice: str) -> Diagnosis:
    """Return a finding that may become a fault, or makes one worse."""
    return Diagnosis(check=check, state="warning", detail=detail, advice=advice)


def wrong(check: str, detail: str, advice: str) -> Diagnosis:
    """Return a fault."""
    return Diagnosis(check=check, state="wrong", detail=detail, advice=advice)
