"""The projections of webhooks and alerts: pure folds, which encode and decode to the same state."""

from typing import Any

from events.envelope import EventFacts
from events.registry import VOCABULARY
from projections.alert_index import AlertIndex
from projections.webhook_index import WebhookIndex


def event(position: int, type_: str, **data: Any) -> EventFacts:  # noqa: ANN401 - fields of a payload
    kind = VOCABULARY.event_types[type_]
    payload = kind.payload(**data)
    time = f"2026-11-22T12:00:{position:02d}.000000Z"
    subject = f"{kind.stream}/{kind.stream_id(payload)}"
    return kind.fact(source="/agents/tallystick", subject=subject, time=time, position=position, data=payload)


def delivered(position: int, of: int) -> EventFacts:
    return event(position, "webhook.delivered.v1", endpoint_id="e", event_position=of, message_id="m", attempts=1,
                 status=200)  # fmt: skip


EVENTS = [
    event(1, "webhook.started.v1", endpoint_id="e", after=0, kinds=("gate",)),
    event(2, "alert.review_overdue.v1", alert_id="a", decision_id="d", agent="x", review_by="2026-11-01"),
    event(3, "alert.drift_detected.v1", alert_id="b", agent="x", score="accuracy_drop", recent=0.5, historical=0.9,
          change=-0.4, p=0.01, recent_reviews=10, historical_reviews=20, until="2026-11-16T00:00:00Z", level=0.002),
    delivered(4, 2),
    event(5, "webhook.abandoned.v1", endpoint_id="e", event_position=3, message_id="m", attempts=3,
          reason="answered 500"),
    event(6, "webhook.ended.v1", endpoint_id="e", reason="gone", last_position=5),
]  # fmt: skip


def test_the_state_of_an_endpoint() -> None:
    index = WebhookIndex()
    for upto in range(1, len(EVENTS)):
        index.fold(EVENTS[upto - 1 : upto])
        assert WebhookIndex.decode(index.encode()).encode() == index.encode()
    state = index.endpoint("e")
    assert state is not None
    assert (state.position, state.delivered, state.abandoned, state.ended) == (3, 1, 1, None)
    assert state.last_reason == "answered 500"
    index.fold(EVENTS[-1:])
    ended = index.endpoint("e")
    assert ended is not None
    assert (ended.position, ended.ended) == (5, "gone")
    assert index.endpoint("other") is None
    whole = WebhookIndex()
    whole.fold(EVENTS)
    assert whole.encode() == index.encode()


def test_alerts_are_known_by_their_ids() -> None:
    index = AlertIndex()
    index.fold(EVENTS)
    restored = AlertIndex.decode(index.encode())
    assert restored.encode() == index.encode()
    assert (restored.has("a"), restored.has("b"), restored.has("c")) == (True, True, False)
    assert restored.last_drift("x", "accuracy_drop") == "2026-11-22T12:00:03.000000Z"
    assert restored.last_drift("x", "brier_degradation") is None
    assert restored.summary()["alerts"] == 2
