"""What the clients of CSTP's reference server read in an answer, access by access: its command line and its dashboard.

Each function fails where the client would: with KeyError, TypeError or ValueError.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.api.cstp.client import Caller

Answer = dict[str, Any]


def query(cstp: Caller, text: str, top: int = 5) -> list[str]:
    """`cstp.py query`: the lines that it prints. It always names a mode."""
    answer = cstp.result("queryDecisions", {"query": text, "limit": top, "retrievalMode": "hybrid"})
    lines = [f"Found {answer['total']} similar decisions"] if answer.get("decisions") else []
    for row in answer["decisions"]:
        stated = f"{row['category']} | {row.get('stakes', '?')} | {row['confidence']}"
        lines.append(f"[{row['id']}] {row.get('title', 'Untitled')} {stated} {row['distance']:.3f}")
    return lines


def get(cstp: Caller, decision_id: str) -> list[str]:
    """`cstp.py get`."""
    answer = cstp.result("getDecision", {"id": decision_id})
    decision = answer["decision"]
    lines = [f"[{decision['id']}] {decision['decision']} {decision.get('confidence', '?')} {decision['date']}"]
    lines += [decision["context"][:120]] if decision.get("context") else []
    lines += [f"[{reason.get('type', '?')}] {reason.get('text', '')[:80]}" for reason in decision.get("reasons") or []]
    bridge = decision.get("bridge") or {}
    lines += [bridge[side][:80] for side in ("structure", "function") if bridge.get(side)]
    for related in decision.get("related_to") or []:
        lines.append(f"[{related['id']}] {related.get('summary', '?')[:60]} {related.get('distance', 0):.3f}")
    inputs = decision["deliberation"].get("inputs", []) if decision.get("deliberation") else []
    return [*lines, f"{len(inputs)} inputs"]


def record(cstp: Caller, **params: object) -> str:
    """`cstp.py record`: the id."""
    answer = cstp.result("recordDecision", params)
    assert isinstance(answer.get("deliberation_inputs_count", 0), int)
    assert isinstance(answer.get("related_count") or 0, int)
    return str(answer["id"])


def check(cstp: Caller, description: str) -> list[str]:
    """`cstp.py check`."""
    action = {"description": description, "category": "process", "stakes": "medium", "confidence": 0.8}
    answer = cstp.result("checkGuardrails", {"action": action})
    found = [*([] if answer.get("allowed") else answer.get("violations", [])), *(answer.get("warnings") or [])]
    return [f"{one['name']}: {one['message']}" for one in found]


def list_guardrails(cstp: Caller) -> list[str]:
    """`cstp.py list-guardrails`."""
    lines = []
    for rule in cstp.result("listGuardrails").get("guardrails", []):
        lines.append(f"{rule['id']} {rule.get('action', 'warn').upper()} {rule.get('description', '')}")
        lines += [f"{one['field']} {one['operator']} {one['value']}" for one in rule.get("conditions") or []]
        lines += [", ".join(rule["scope"])] if rule.get("scope") else []
    return lines


def calibration(cstp: Caller, project: str) -> list[str]:
    """`cstp.py calibration`."""
    answer = cstp.result("getCalibration", {"project": project})
    lines = [one["message"] for one in answer.get("recommendations", [])]
    if overall := answer.get("overall"):
        lines.append(f"{overall['total_decisions']} {overall['reviewed_decisions']} {overall['interpretation']}")
        lines.append(f"{overall['accuracy'] * 100:.1f}% {overall['brier_score']:.3f}")
    return lines


def reason_stats(cstp: Caller, project: str) -> list[str]:
    """`cstp.py reason-stats`."""
    answer = cstp.result("getReasonStats", {"minReviewed": 1, "filters": {"project": project}})
    lines = [f"{one['message']} {one['severity']}" for one in answer.get("recommendations", [])]
    for row in answer["byReasonType"]:
        brier = f"{row['brierScore']:.4f}" if row.get("brierScore") is not None else "n/a"
        rates = f"{row['successRate'] * 100:.1f} {row['avgConfidence'] * 100:.1f} {brier}"
        lines.append(f"{row['reasonType']:<16} {row['totalUses']:>4} {row['reviewedUses']:>8} {rates}")
    diversity = answer["diversity"]
    lines.append(f"{diversity['avgTypesPerDecision']:.1f} {diversity['avgReasonsPerDecision']:.1f}")
    for bucket in diversity.get("diversityBuckets") or []:
        rate = f"{bucket['successRate'] * 100:.1f}" if bucket.get("successRate") is not None else "n/a"
        counts = (bucket[name] for name in ("distinctReasonTypes", "totalDecisions", "reviewedDecisions"))
        lines.append(" ".join([*(f"{count:>8}" for count in counts), rate]))
    return lines


def dashboard(cstp: Caller, search: str = "") -> Iterator[tuple[str, str, float, datetime]]:
    """The dashboard's list, or its search: id, the column of the decision, confidence and day. It names no mode."""
    answer = cstp.result("queryDecisions", {"query": search, "limit": 200})
    for row in answer["decisions"]:
        assert all(isinstance(reason["text"], str) for reason in row.get("reasons", []))
        day = datetime.fromisoformat(row.get("created_at") or row["date"])
        assert len(row.get("tags", [])) >= 0
        yield row["id"], row.get("summary", row.get("decision", "")), float(row.get("confidence", 0.5)), day
