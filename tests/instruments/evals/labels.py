"""Labelled cases as benchmarks write them: small ones by hand, and the real ones where they are."""

import json
from typing import Any

from instruments.errors import FixtureFault
from instruments.evals.benchmarks.case import Case
from tests.support.paths import SHARED

Json = dict[str, Any]

RCA = SHARED / "rca"
LABELS = RCA / "cloud_opsbench_labels.jsonl"
CASES = RCA / "cases"
ITBENCH = RCA / "itbench_scenario_11"

LABEL: Json = {
    "id": "shop/startup/7",
    "category": "startup",
    "namespace": "shop",
    "query": "Checkout is down.",
    "fault_taxonomy": "Startup_Fault",
    "fault_object": "app/cart",
    "root_cause": "missing_config_map",
    "process": {"path1": ["GetPods::cart", "Describe::cart", "GetLogs"], "path2": ["GetLogs::cart", "GetPods"]},
}

METADATA: Json = {
    "namespace": "shop",
    "query": "Checkout is down.",
    "result": {key: LABEL[key] for key in ("fault_taxonomy", "fault_object", "root_cause")},
}

TRUTH: Json = {
    "alerts": [
        {"id": "HighErrorRate", "group_id": "web-1", "metadata": {"description": "web fails, as cartFailure is on"}},
        {"id": "NoRequests", "group_id": "pay-1"},
    ],
    "fault": [
        {"category": "Resource", "condition": "errors are many", "entity": {"name": "web", "kind": "Service"}},
        {"category": "Setting", "condition": "cartFailure flag set", "entity": {"name": "flags", "kind": "ConfigMap"}},
    ],
    "groups": [
        {"id": "flags-1", "kind": "ConfigMap", "name": "flags", "namespace": "shop", "root_cause": True},
        {"id": "web-1", "kind": "Service", "namespace": "shop", "filter": ["web\\b"]},
        {"id": "pay-1", "kind": "Service", "namespace": "shop", "filter": ["pay-.*"]},
    ],
    "propagations": [
        {"source": "flags-1", "target": "web-1", "condition": "the flag fails checkout", "effect": "error pages"},
        {"source": "web-1", "target": "pay-1", "condition": "no order arrives", "effect": "idle workers"},
    ],
    "recommended_actions": [
        {"solution": {"id": "1", "actions": ["Disable cartFailure flag"]}},
        {"solution": {"id": "2", "actions": ["Restart web"]}},
    ],
}


def lines(*labels: Json) -> bytes:
    """Labels as JSON Lines."""
    return b"".join(json.dumps(label).encode() + b"\n" for label in labels)


def trace(*steps: tuple[str, object]) -> bytes:
    """A golden path: each tool, and what it answered."""
    return json.dumps({"diagnostic_trace": [{"tool_name": tool, "output": output} for tool, output in steps]}).encode()


def case(found: Case | FixtureFault | list[FixtureFault]) -> Case:
    """What must be a case."""
    assert isinstance(found, Case), found
    return found
