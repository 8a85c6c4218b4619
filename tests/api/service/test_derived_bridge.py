"""A bridge that is derived from a decision's own words."""

import pytest

from api.service.derived_bridge import add_derived_bridge, derive_bridge, generalise
from events.decision import Bridge, DecisionRecorded, Reason
from events.limits import LINE_BYTES_MAX


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("Fixed the parser in PR #42", "Corrected the parser in a PR"),
        ("Wait 30 seconds, then 1.5h", "Wait N time-units, then N time-units"),
        ("Cap it at 64 MB", "Cap it at N size-units"),
        ("Move to v1.2.3 on 2026-02-05", "Move to vX.Y on DATE"),
        ("Keep 3 of 5", "Keep N of N"),
        ("Split api/service/ledger.py", "Split a file"),
        ("Let `Writer` call QueueReader", "Let a component call a component"),
    ],
)
def test_names_and_numbers_become_what_they_are(text: str, general: str) -> None:
    assert generalise(text) == general


def derived(**fields: object) -> tuple[str | None, str | None, str]:
    bridge, method = derive_bridge(DecisionRecorded(**fields)) or (Bridge(), "")  # type: ignore[arg-type]
    return bridge.structure, bridge.function, method


def test_the_function_is_the_pattern_a_reason_or_the_context() -> None:
    long, reason = "Use the bounded queue", Reason(type="analysis", text="It bounds 3 buffers")
    assert derived(decision=long, pattern="Backpressure", reasons=(reason,)) == (long, "Backpressure", "rule")
    other = Reason(type="intuition", text="It feels right to do so")
    assert derived(decision=long, reasons=(other, reason)) == (long, "It bounds N buffers", "rule")
    assert derived(decision=long, context="It drops requests. Then more.") == (long, "It drops requests.", "rule")
    assert derived(decision=long) == (long, long, "rule")
    assert derived(decision="Go on", pattern="A longer pattern") == ("A longer pattern", "A longer pattern", "rule")
    weak, strong = Reason(type="intuition", text="a", strength=0.2), Reason(type="authority", text="b", strength=0.9)
    assert derived(decision="Go on", reasons=(weak, strong)) == ("Go on", "b", "legacy")
    assert derived(decision="Go on") == (None, None, "")


def test_a_stated_bridge_stays_and_a_long_decision_gets_none() -> None:
    stated = DecisionRecorded(decision="Use the bounded queue", bridge=Bridge(structure="x"))
    assert add_derived_bridge(stated, "/agents/scout", None) is stated
    long = DecisionRecorded(decision="x y " * (LINE_BYTES_MAX // 5))
    assert add_derived_bridge(long, "/agents/scout", None) is long
