"""The options of `eval capture`, and the rules about which of them can be combined."""

import os
from pathlib import Path
from typing import Annotated

import msgspec

from api.service.declared_option import option
from instruments.evals.capture.alertmanager import Alertmanager
from instruments.evals.capture.scenario_template import parse_window_s
from ledger.errors import InvalidQuery


class CaptureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `eval capture`."""

    output: Annotated[Path | None, option("The scenario's folder: FIXTURES/NAME or FIXTURES/NAME/MODE.")] = None
    scenario_name: Annotated[str | None, option("The scenario's name, for people.", "TEXT")] = None
    failure_type: Annotated[str | None, option("The failure in one word: ImagePullBackOff.", "WORD")] = None
    investigation: Annotated[str | None, option("A finished investigation, JSON; - is standard input.", "FILE|-")] = (
        None
    )
    alertmanager: Annotated[str | None, option("The Alertmanager that has the firing alert.", "URL")] = None
    alert_index: Annotated[int | None, option("The number of the alert, as --list shows it; 0 fires longest.", "N")] = (
        None
    )
    fingerprint: Annotated[
        str | None, option("The fingerprint of the alert, or an unambiguous beginning of it.", "HEX")
    ] = None
    investigate: Annotated[
        str | None, option("A command: reads the alert on stdin, prints the investigation.", "CMD")
    ] = None
    list_alerts: Annotated[bool, option("List the firing alerts, and capture nothing.", name="--list")] = False
    interactive: Annotated[bool, option("Choose the alert from a list, and type the names.", name="--interactive")] = (
        False
    )
    family: Annotated[str | None, option("The family of alerts; without it the alert's.", "WORD")] = None
    cluster: Annotated[str | None, option("The cluster; without it the one observed.", "NAME")] = None
    description: Annotated[str | None, option("What happened; without it the alert's description.", "TEXT")] = None
    time_window: Annotated[str, option("How far back to investigate.", "TIME")] = "1h"
    timeout_s: Annotated[float, option("Seconds for the investigation.", "S", name="--timeout", ge=0.001)] = 600.0
    fixtures: Annotated[Path | None, option("The suite's folder; without it the parent of --output.", "DIR")] = None
    captured_by: Annotated[str | None, option("The person who captures it; without it $USER.", "NAME")] = None
    force: Annotated[bool, option("Replace an existing scenario, with its expectations.", name="--force")] = False

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
        if self.alert_index is not None and self.fingerprint is not None:
            raise InvalidQuery("alert_index", "does not go with --fingerprint.", "Choose the alert by one of them.")
        if parse_window_s(self.time_window) is None:
            raise InvalidQuery("time_window", f"{self.time_window!r} is not a time span.", "Write 30m, 1h or 2d.")
        if self.investigation is not None or not url:
            return None
        if not (self.list_alerts or self.interactive or self.alert_index is not None or self.fingerprint is not None):
            advice = "Give --alert-index, --fingerprint or --interactive; --list shows the alerts."
            raise InvalidQuery("alertmanager", "the alert to capture is missing.", advice)
        return Alertmanager(url)

    def _check_investigation_alone(self) -> None:
        """Raise InvalidQuery for an option that cannot be combined with --investigation."""
        alert_options = {
            "alertmanager": self.alertmanager,
            "alert_index": self.alert_index,
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
