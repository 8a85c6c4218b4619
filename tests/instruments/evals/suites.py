"""Suites of scenarios in a folder, as people keep them."""

import json
from pathlib import Path
from typing import Any

INVESTIGATION: dict[str, Any] = {
    "alert": {"fingerprint": "f1", "labels": {"alertname": "KubeJobFailed", "namespace": "batch"}},
    "time_window": {"window": "1h"},
    "target": {"target_type": "pod", "pod": "load-1"},
    "evidence": {"k8s": {"pod_events": [{"reason": "Failed", "message": "image not found", "count": 3}]}},
    "analysis": {
        "rca": {
            "root_cause": "ImagePullBackOff: the image is not found",
            "remediation": ["kubectl describe pod load-1"],
        },
        "decision": {"label": "image_pull", "why": ["image not found"], "next": ["kubectl describe pod load-1"]},
        "hypotheses": [{"hypothesis_id": "h1", "title": "image not found", "confidence_0_100": 90, "why": []}],
        "verdict": {"next_steps": ["kubectl get events"]},
    },
}

DESCRIPTION: dict[str, Any] = {
    "name": "Job with an image that is not there",
    "family": "job_failed",
    "failure_type": "image_pull",
    "expected_outcomes": {"root_cause": {"patterns": ["ImagePullBackOff", "image.*not found"], "match_type": "regex"}},
}


def scenario(
    folder: Path, description: object = None, investigation: object = None, *, name: str = "scenario.json"
) -> Path:
    """A scenario's two files; texts and bytes are written as they are, `name` in place of scenario.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(_body(DESCRIPTION if description is None else description))
    (folder / "investigation.json").write_bytes(_body(INVESTIGATION if investigation is None else investigation))
    return folder


def _body(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def expecting(**expected: object) -> dict[str, Any]:
    """A description with these expectations."""
    return DESCRIPTION | {"expected_outcomes": expected}
