"""A captured investigation as a scenario that is still to be edited: what is expected of it, only people know."""

import re
from datetime import datetime, timedelta
from typing import Any

import msgspec

from instruments.evals.capture.alertmanager import FiringAlert
from instruments.evals.suite.validate_scenario import DESCRIPTION_CHARS_MAX

UNEDITED = "todo".upper()
"""How a text begins that is to be replaced: while a pattern does, the scenario is not loaded."""

_NO_EVIDENCE = """\
Nobody investigated this alert when it was captured: `investigation.json` holds the alert and no evidence. An agent can
find a cause only in what stands there, so add what you know."""

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_window = re.compile(rf"([1-9][0-9]{{0,4}})([{''.join(_UNITS)}])")
_shown_labels = ("alertname", "namespace", "severity", "cluster")
_target_labels = (
    "namespace",
    "pod",
    "container",
    "service",
    "instance",
    "job",
    "node",
    "cluster",
    "team",
    "environment",
)
_target_types = ("pod", "service", "node")


class ScenarioDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever captures says of a scenario; None where nothing is known."""

    name: str
    failure_type: str
    family: str | None
    description: str | None
    source: str
    captured_at: datetime
    captured_by: str | None
    time_window: str


def window_s(text: str) -> int | None:
    """Seconds of a time window such as `30m` or `1h`; None for what is none."""
    found = _window.fullmatch(text)
    return None if found is None else int(found[1]) * _UNITS[found[2]]


def asked(alert: FiringAlert, time_window: str, now: datetime) -> dict[str, Any]:
    """An investigation that has only begun: the alert, the time that is looked at, and what it is about.

    It is what whoever investigates is given, and what is captured where nobody does.
    """
    seconds = window_s(time_window)
    assert seconds is not None
    began = now - timedelta(seconds=seconds)
    target = {name: alert.labels[name] for name in _target_labels if name in alert.labels}
    kind = next((name for name in _target_types if name in target), "unknown")
    return {
        "alert": msgspec.to_builtins(alert),
        "time_window": {"window": time_window, "start_time": _text(began), "end_time": _text(now)},
        "target": {"target_type": kind, **target},
    }


def labels_of(investigation: dict[str, Any]) -> dict[str, str]:
    """The labels of the alert that was investigated, as far as they are texts."""
    return _texts(_part(investigation, "alert", "labels"))


def family_of(investigation: dict[str, Any]) -> str | None:
    """The family of alerts, where the investigation or its alert names one."""
    alert = _part(investigation, "alert")
    places = (
        investigation,
        _part(investigation, "analysis", "features"),
        _part(alert, "labels"),
        _part(alert, "annotations"),
    )
    return next((text for place in places if (text := _texts(place).get("family"))), None)


def description_of(investigation: dict[str, Any]) -> str | None:
    """What happened, in the words of the alert, where these are not too many."""
    said = _texts(_part(investigation, "alert", "annotations"))
    words = (said.get(name, "").strip() for name in ("description", "summary", "message"))
    return next((text for text in words if 0 < len(text) <= DESCRIPTION_CHARS_MAX), None)


def failure_of(investigation: dict[str, Any]) -> str | None:
    """The failure mode that the captured analysis names."""
    analysis = _part(investigation, "analysis")
    return _texts(analysis).get("failure_mode") or _texts(_part(analysis, "rca")).get("failure_mode")


def description(about: ScenarioDetails, investigation: dict[str, Any]) -> dict[str, Any]:
    """`scenario.yaml`, with texts to be replaced where only people know what to expect."""
    labels = labels_of(investigation)
    said: dict[str, Any] = {
        "name": about.name,
        "family": about.family,
        "failure_type": about.failure_type,
        "description": about.description,
        "captured_at": _text(about.captured_at),
        "captured_by": about.captured_by,
        "source": about.source,
        "alert_labels": {name: labels[name] for name in _shown_labels if name in labels} or None,
        "expected_outcomes": _expected(about.failure_type),
        "scoring": {
            "root_cause_weight": 0.4,
            "fix_accuracy_weight": 0.3,
            "hypothesis_quality_weight": 0.2,
            "next_steps_weight": 0.1,
            "pass_threshold": 70,
        },
        "test_config": {"time_window": about.time_window, "enable_llm": False, "enable_diagnostics": True},
    }
    return {name: value for name, value in said.items() if value is not None}


def _expected(failure_type: str) -> dict[str, Any]:
    return {
        "root_cause": {
            "patterns": [f"{UNEDITED}: a regular expression that the root cause must match"],
            "match_type": "regex",
        },
        "failure_mode": {"exact": failure_type},
        "proposed_fix": {
            "all_of": [{"patterns": [f"{UNEDITED}: what every fix must say"], "match_type": "substring"}],
            "any_of": [{"patterns": [f"{UNEDITED}: a regular expression for a good fix"], "match_type": "regex"}],
        },
        "hypotheses": {"any_of": [f"{UNEDITED}: a word that a good hypothesis has"]},
        "next_steps": {
            "command_types": ["kubectl"],
            "must_include": [f"{UNEDITED}: what a next step must say, such as describe pod"],
        },
    }


def readme(about: ScenarioDetails, investigation: dict[str, Any]) -> str:
    """`README.md`: what this is, and what is left to do."""
    labels, alert = labels_of(investigation), _part(investigation, "alert")
    rows = {
        "Failure type": about.failure_type,
        "Family": about.family,
        "Alert": labels.get("alertname"),
        "Namespace": labels.get("namespace"),
        "Severity": labels.get("severity"),
        "Firing since": _texts(alert).get("starts_at"),
        "Captured": f"{_text(about.captured_at)}{f' by {about.captured_by}' if about.captured_by else ''}",
    }
    happened = about.description or f"{UNEDITED}: what failed, why, and what put it right."
    parts = [
        f"# {_line(about.name)}",
        "\n".join(["| | |", "|-|-|", *(f"|{name}|{_cell(value)}|" for name, value in rows.items() if value)]),
        "## What happened",
        happened.strip(),
        "## What a good answer says",
        f"{UNEDITED}: in words, what the patterns of `scenario.yaml` look for, and what a wrong answer would say.",
    ]
    if not {"evidence", "analysis"} & investigation.keys():
        parts += ["## What is missing", _NO_EVIDENCE]
    return "\n\n".join(parts) + "\n"


def _part(value: object, *names: str) -> dict[str, Any]:
    """An object inside of objects; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _texts(value: dict[str, Any]) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("|", r"\|")
