"""Turn a captured investigation into a scenario template. People must fill in the expectations."""

import re
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs

from instruments.evals.capture.alertmanager import FiringAlert
from instruments.evals.scenario import UNEDITED
from instruments.evals.suite.scenario_checks import DESCRIPTION_CHARS_MAX

_NO_EVIDENCE = """\
This alert was not investigated when it was captured: `investigation.json` holds the alert and no evidence. An agent
can only use the content of that file, so add what you know."""

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_window = re.compile(rf"([1-9][0-9]{{0,4}})([{''.join(_UNITS)}])")
_shown_labels = ("alertname", "namespace", "severity")
_cluster_labels = (
    "cluster",
    "k8s_cluster",
    "k8s_cluster_name",
    "kube_cluster_name",
    "kubernetes_cluster",
    "cluster_name",
)
"""Labels that name the cluster of an alert, the preferred one first: Prometheus adds one as an external label."""

_target_labels = (
    "namespace",
    "pod",
    "container",
    "service",
    "instance",
    "job",
    "node",
    "team",
    "environment",
)
_target_types = ("pod", "service", "node")


class ScenarioDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Details of a captured scenario, in the order of `scenario.yaml`; None if not known."""

    name: str
    family: str | None
    cluster: str | None
    failure_type: str
    description: str | None
    captured_at: datetime
    captured_by: str | None
    source: str
    time_window: str


def parse_window_s(text: str) -> int | None:
    """Return the seconds of a time window such as `30m` or `1h`; None if it is not valid."""
    match = _window.fullmatch(text)
    return None if match is None else int(match[1]) * _UNITS[match[2]]


def initial_investigation(alert: FiringAlert, time_window: str, now: datetime) -> dict[str, Any]:
    """Build the beginning of an investigation: the alert, the time window, and the target.

    It is the investigator's input, and the captured investigation if there is no investigator.
    """
    seconds = parse_window_s(time_window)
    assert seconds is not None
    start = now - timedelta(seconds=seconds)
    target = {name: alert.labels[name] for name in _target_labels if name in alert.labels}
    kind = next((name for name in _target_types if name in target), "unknown")
    return fill_cluster(
        {
            "alert": msgspec.to_builtins(alert),
            "time_window": {"window": time_window, "start_time": _format_time(start), "end_time": _format_time(now)},
            "target": {"target_type": kind, **target},
        }
    )


def fill_cluster(investigation: dict[str, Any]) -> dict[str, Any]:
    """Return an investigation whose target names its alert's cluster; one without either is returned as it is.

    A cluster that the target names already is kept.
    """
    target = investigation.get("target")
    cluster = _labelled_cluster(investigation)
    if cluster is None or not isinstance(target, dict) or target.get("cluster"):
        return investigation
    return investigation | {"target": target | {"cluster": cluster}}


def alert_cluster(investigation: dict[str, Any]) -> str | None:
    """Return the cluster that the investigation, its target or the alert's labels name; None if none of them does."""
    sources = (investigation, _inner_object(investigation, "target"))
    stated = (text for source in sources if (text := _texts(source).get("cluster")))
    return next(stated, None) or _labelled_cluster(investigation)


def _labelled_cluster(investigation: dict[str, Any]) -> str | None:
    """Return the cluster that the alert's labels name."""
    labels = alert_labels(investigation)
    return next((cluster for name in _cluster_labels if (cluster := labels.get(name))), None)


def alert_labels(investigation: dict[str, Any]) -> dict[str, str]:
    """Return the text labels of the investigated alert."""
    return _texts(_inner_object(investigation, "alert", "labels"))


def alert_family(investigation: dict[str, Any]) -> str | None:
    """Return the family of alerts that the investigation or its alert names; None if neither does."""
    alert = _inner_object(investigation, "alert")
    sources = (
        investigation,
        _inner_object(investigation, "analysis", "features"),
        _inner_object(alert, "labels"),
        _inner_object(alert, "annotations"),
    )
    return next((text for source in sources if (text := _texts(source).get("family"))), None)


def alert_description(investigation: dict[str, Any]) -> str | None:
    """Return the alert's own description, unless it is too long."""
    texts = _texts(_inner_object(investigation, "alert", "annotations"))
    descriptions = (texts.get(name, "").strip() for name in ("description", "summary", "message"))
    return next((text for text in descriptions if 0 < len(text) <= DESCRIPTION_CHARS_MAX), None)


def stated_failure(investigation: dict[str, Any]) -> str | None:
    """Return the failure mode that the captured analysis names."""
    analysis = _inner_object(investigation, "analysis")
    return _texts(analysis).get("failure_mode") or _texts(_inner_object(analysis, "rca")).get("failure_mode")


def scenario_description(about: ScenarioDetails, investigation: dict[str, Any]) -> dict[str, Any]:
    """Build `scenario.yaml`, with texts to replace in place of the expectations."""
    labels, cluster = alert_labels(investigation), _labelled_cluster(investigation)
    shown = {name: labels[name] for name in _shown_labels if name in labels}
    texts: dict[str, Any] = structs.asdict(about) | {
        "captured_at": _format_time(about.captured_at),
        "alert_labels": shown | ({} if cluster is None else {"cluster": cluster}) or None,
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
    return {name: value for name, value in texts.items() if value is not None and name != "time_window"}


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


def scenario_readme(about: ScenarioDetails, investigation: dict[str, Any]) -> str:
    """Build `README.md`: a summary of the scenario, and the parts that are still missing."""
    labels, alert = alert_labels(investigation), _inner_object(investigation, "alert")
    rows = {
        "Failure type": about.failure_type,
        "Family": about.family,
        "Alert": labels.get("alertname"),
        "Namespace": labels.get("namespace"),
        "Severity": labels.get("severity"),
        "Cluster": about.cluster,
        "Firing since": _texts(alert).get("starts_at"),
        "Captured": f"{_format_time(about.captured_at)}{f' by {about.captured_by}' if about.captured_by else ''}",
    }
    incident = about.description or f"{UNEDITED}: what failed, why, and what put it right."
    parts = [
        f"# {_line(about.name)}",
        "\n".join(["| | |", "|-|-|", *(f"|{name}|{_cell(value)}|" for name, value in rows.items() if value)]),
        "## What happened",
        incident.strip(),
        "## What a good answer says",
        f"{UNEDITED}: in words, what the patterns of `scenario.yaml` look for, and what a wrong answer would say.",
    ]
    if not {"evidence", "analysis"} & investigation.keys():
        parts += ["## What is missing", _NO_EVIDENCE]
    return "\n\n".join(parts) + "\n"


def _inner_object(value: object, *names: str) -> dict[str, Any]:
    """Return an object nested in objects; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _texts(value: dict[str, Any]) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _format_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("|", r"\|")
