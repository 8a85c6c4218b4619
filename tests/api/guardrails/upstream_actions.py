"""Actions, and the rules that block them, by the rules that CSTP's reference server ships and as its documents say.

Where its code differs from its documents, the documents count: `low-quality-recording` compares the score, and the text
"false" is not a review.
"""

from typing import Any, NamedTuple

CONFIDENCE = "no-high-stakes-low-confidence"
BACKTEST = "no-trading-strategy-without-backtest"
TOOLING = "require-code-review-tooling"
INTEGRATION = "require-code-review-integration"
SECURITY = "require-code-review-security"
ARCHITECTURE = "require-architecture-review"
DELIBERATION = "require-deliberation"
QUALITY = "low-quality-recording"
REASONING = "recommend-reasoning"


class Case(NamedTuple):
    """An action and the rules that must block it; none: it is allowed."""

    action: dict[str, Any]
    blocked_by: tuple[str, ...] = ()


def case(*blocked_by: str, context: dict[str, Any] | None = None, **fields: Any) -> Case:  # noqa: ANN401
    """Return a case, whose action has the context and the fields."""
    action = {"description": "Change it", **fields}
    return Case(action if context is None else {**action, "context": context}, blocked_by)


STRATEGY = {"decision_type": "strategy_change"}
ACTIONS = (
    # stakes and confidence
    case(CONFIDENCE, description="Drop the table", stakes="high", confidence=0.3),
    case(CONFIDENCE, description="Delete the backups", stakes="high", confidence=0.0),
    case(CONFIDENCE, stakes="high", confidence=0.49),
    case(stakes="high", confidence=0.5),
    case(stakes="high", confidence=0.51),
    case(stakes="high", confidence=1.0),
    case(stakes="high"),
    case(stakes="medium", confidence=0.1),
    case(stakes="low", confidence=0.0),
    case(stakes="critical", confidence=0.2),
    case(confidence=0.2),
    case(CONFIDENCE, category="process", stakes="high", confidence=0.2),
    case(CONFIDENCE, stakes="low", confidence=0.3, context={"stakes": "high"}),
    case(stakes="high", confidence=0.3, context={"confidence": 0.9}),
    case(CONFIDENCE, stakes="high", context={"confidence": "0.4"}),
    # trading strategies
    case(BACKTEST, category="trading", context=STRATEGY),
    case(BACKTEST, category="trading", context={**STRATEGY, "project": "CryptoTrader"}),
    case(BACKTEST, category="trading", context={**STRATEGY, "scope": "CryptoTrader"}),
    case(category="trading", context={**STRATEGY, "project": "Shop"}),
    case(category="trading", context={**STRATEGY, "scope": "Shop"}),
    case(category="trading", context={**STRATEGY, "backtest_completed": True}),
    case(BACKTEST, category="trading", context={**STRATEGY, "backtest_completed": False}),
    case(BACKTEST, category="trading", context={**STRATEGY, "backtest_completed": None}),
    case(category="trading", context={"decision_type": "report"}),
    case(category="trading"),
    case(category="process", context=STRATEGY),
    case(BACKTEST, CONFIDENCE, category="trading", stakes="high", confidence=0.1, context=STRATEGY),
    # code reviews
    case(TOOLING, category="tooling"),
    case(TOOLING, category="tooling", context={"code_review": False}),
    case(TOOLING, category="tooling", context={"code_review": "false"}),
    case(TOOLING, category="tooling", context={"architecture_review": True}),
    case(category="tooling", context={"code_review": True}),
    case(category="tooling", code_review=True),
    case(category="tooling", context={"code_review": 1}),
    case(category="tooling", context={"code_review": "done by Ann"}),
    case(INTEGRATION, category="integration"),
    case(INTEGRATION, category="integration", context={"code_review": 0}),
    case(category="integration", context={"code_review": True}),
    case(SECURITY, category="security", stakes="low"),
    case(SECURITY, CONFIDENCE, category="security", stakes="high", confidence=0.4),
    case(CONFIDENCE, category="security", stakes="high", confidence=0.4, context={"code_review": True}),
    case(category="security", stakes="high", confidence=0.8, context={"code_review": True}),
    # architecture reviews
    case(ARCHITECTURE, category="architecture"),
    case(ARCHITECTURE, category="architecture", context={"code_review": True}),
    case(category="architecture", context={"architecture_review": True}),
    case(ARCHITECTURE, CONFIDENCE, category="architecture", stakes="high", confidence=0.45),
    case(category="process"),
    case(category="Architecture"),
    case(description="Change the architecture of security tooling"),
    case(context={"phase": "record", "has_deliberation": False}),
)
"""What agents plan, asked of checkGuardrails and preAction."""

INPUTS = {"inputs": [{"id": "a", "text": "looked it up"}]}
STEPS = {**INPUTS, "steps": [{"thought": "it fits"}]}
RICH = {
    "decision": "Put a queue before the writer",
    "context": "The writer is busy",
    "pattern": "Queue before a writer",
    "tags": ["queue"],
    "reasons": [{"type": "analysis", "text": "a"}, {"type": "empirical", "text": "b"}],
}
RECORDED: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({"decision": "x"}, {DELIBERATION, QUALITY}),
    (RICH, {DELIBERATION}),
    ({**RICH, "deliberation": STEPS}, set()),
    ({**RICH, "deliberation": INPUTS}, {REASONING}),
    ({"decision": "x", "deliberation": STEPS}, {QUALITY}),
    ({**RICH, "deliberation": STEPS, "category": "tooling"}, {TOOLING}),
    ({**RICH, "deliberation": STEPS, "stakes": "high", "confidence": 0.2}, {CONFIDENCE}),
    ({**RICH, "deliberation": STEPS, "stakes": "high", "confidence": 0.7}, set()),
)
"""Decisions, asked of recordDecision, and the rules that warn of them."""
