"""The options of `eval capture`, and the rules about which of them can be combined."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from instruments.evals.capture.alertmanager import Alertmanager, BadAlertmanager
from instruments.evals.capture.investigator import ADVICE, NoInvestigation
from instruments.evals.capture.scenario_template import parse_window_s
from ledger.errors import InvalidQuery


class CaptureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `eval capture`."""

    output: Path | None
    fixtures: Path | None
    force: bool
    investigation: str | None
    alertmanager: str | None
    investigate: str | None
    index: int | None
    fingerprint: str | None
    list_alerts: bool
    interactive: bool
    name: str | None
    failure_type: str | None
    family: str | None
    cluster: str | None
    description: str | None
    captured_by: str | None
    time_window: str
    timeout_s: float

    def checked_source(self) -> Alertmanager | None:
        """Check the options and return the Alertmanager to query; None for a finished investigation.

        Errors: InvalidQuery.
        """
        if self.investigation is not None:
            self._check_investigation_alone()
        url = self.alertmanager or os.environ.get("ALERTMANAGER_URL")
        if self.investigation is None and not url:
            advice = (
                "Give --investigation FILE, or --alertmanager URL with --alert-index, --fingerprint or --interactive."
            )
            raise InvalidQuery("investigation", "is missing, and so is --alertmanager.", advice)
        if self.index is not None and self.fingerprint is not None:
            raise InvalidQuery("alert_index", "does not go with --fingerprint.", "Choose the alert by one of them.")
        if parse_window_s(self.time_window) is None:
            raise InvalidQuery("time_window", f"{self.time_window!r} is not a time span.", "Write 30m, 1h or 2d.")
        if self.investigation is not None or not url:
            return None
        if not (self.list_alerts or self.interactive or self.index is not None or self.fingerprint is not None):
            advice = "Give --alert-index, --fingerprint or --interactive; --list shows the alerts."
            raise InvalidQuery("alertmanager", "the alert to capture is missing.", advice)
        with instrument_errors():
            return Alertmanager(url)

    def _check_investigation_alone(self) -> None:
        """Raise InvalidQuery for an option that cannot be combined with --investigation."""
        alert_options = {
            "alertmanager": self.alertmanager,
            "alert_index": self.index,
            "fingerprint": self.fingerprint,
            "investigate": self.investigate,
            "list": self.list_alerts or None,
        }
        for field, value in alert_options.items():
            if value is not None:
                detail = "does not go with --investigation."
                raise InvalidQuery(field, detail, "Capture a finished investigation, or a firing alert.")
        if self.investigation == "-" and self.interactive:
            detail = "needs standard input, which is the investigation."
            raise InvalidQuery("interactive", detail, "Name the investigation's file.")


@contextmanager
def instrument_errors() -> Iterator[None]:
    """Turn errors of instruments into InvalidQuery."""
    try:
        yield
    except BadAlertmanager as error:
        raise InvalidQuery(error.field, error.detail, error.advice, written=False) from None
    except NoInvestigation as error:
        output = f"Its last lines:\n{error.last_lines}\n" if error.last_lines else ""
        raise InvalidQuery("investigate", error.detail, output + ADVICE, written=False) from None
