"""A sample of each event of observations, circuit breakers and guardrails."""

from events.breaker import BreakerReset, BreakerRule, BreakersConfigured
from events.guardrail import CheckedRule, GuardrailCondition, GuardrailEvaluated, GuardrailRetired, GuardrailSet
from events.observation import AttestationRecorded, ObservationRecorded, ObservationRecordedV1, ObservationScanned
from events.payload import Payload

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

RULE_SAMPLES: dict[str, Payload] = {
    "observation.recorded.v1": ObservationRecordedV1(
        observation_id="0a0b61c2",
        event_type="pr_merged",
        source="github",
        ts="2026-11-20T09:00:00Z",
        payload_digest="5f" * 32,
        payload_bytes=27,
    ),
    "observation.recorded.v2": ObservationRecorded(
        observation_id="0a0b61c2",
        event_type="pr_merged",
        source="github",
        ts="2026-11-20T09:00:00Z",
        payload_digest="5f" * 32,
        payload_bytes=27,
        subject="git:1d2c3b4a59687766:f473b59",
        occurred="2026-11-20T08:59:00Z",
        facts={"born": 12, "by": "1691d44", "agents": ("claude", "copilot")},
    ),
    "observation.scanned.v1": ObservationScanned(
        scan_id="0a0b61c3",
        source="git",
        scope="1d2c3b4a59687766",
        through="2026-11-20T08:59:00Z",
        head="1691d44",
        reader=1,
        subjects=40,
        gone=2,
    ),
    "attestation.recorded.v1": AttestationRecorded(
        attestation_id="0a0b61d3", decision_id="3f2a9c1e", observations=("0a0b61c2",), stakes="high", has_outcome=False
    ),
    "breakers.configured.v1": BreakersConfigured(
        config_id="0a0b61e4",
        breakers=(BreakerRule(scope="stakes:high", failure_threshold=3, window_ms=86_400_000, cooldown_ms=3_600_000),),
    ),
    "breaker.reset.v1": BreakerReset(reset_id="0a0b61f5", scope="stakes:high", state="closed", reason="Repaired"),
    "guardrail.set.v1": GuardrailSet(
        guardrail_id="require-review",
        action="block",
        description="Architecture decisions need a review",
        message="Have {category} reviewed first",
        scope=("tallystick",),
        conditions=(
            GuardrailCondition(field="category", operator="eq", value="architecture"),
            GuardrailCondition(field="confidence", operator="lt", value=0.5),
        ),
        any_of=(
            (
                GuardrailCondition(field="stakes", operator="in", value=("high", "critical")),
                GuardrailCondition(field="description", operator="contains", value="writer"),
            ),
        ),
        requirements=(GuardrailCondition(field="architecture_review", operator="eq", value=True),),
        expression="action.category == 'architecture'",
    ),
    "guardrail.retired.v1": GuardrailRetired(guardrail_id="require-review", reason="It stopped every draft"),
    "guardrail.evaluated.v1": GuardrailEvaluated(
        check_id="00c1d2e3",
        phase="record",
        rules_digest=_DIGEST,
        rules=2,
        description="Split the writer in two",
        category="architecture",
        stakes="high",
        confidence=0.25,
        context={"architecture_review": False, "hour": 22, "tags": ["writer"]},
        allowed=False,
        results=(
            CheckedRule(
                guardrail_id="require-review",
                action="block",
                outcome="fired",
                message="Have architecture reviewed first",
                fields=("architecture_review",),
            ),
        ),
        decision_id="3f2a9c1e",
    ),
}
