"""Short ways to say what tests post."""

from collections.abc import Sequence

from events.decision import DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import Draft
from events.payload import Payload
from events.registry import VOCABULARY
from events.vocabulary import Vocabulary

SOURCE = "/agents/tester"


def draft_of(
    payload: Payload,
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    source: str = SOURCE,
    expectedversion: int | None = None,
    vocabulary: Vocabulary = VOCABULARY,
) -> Draft:
    """Return a draft with this payload, like one from the HTTP interface: with its source."""
    return vocabulary.draft_of(payload, id=id, source=source, expectedversion=expectedversion)


def recorded(
    name: str | None = None,
    text: str = "ship it",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    source: str = SOURCE,
    expectedversion: int | None = None,
) -> Draft:
    """A decision.recorded on the stream of a name; without one, the ledger makes it."""
    payload = DecisionRecorded(decision_id=name, decision=text, confidence=0.7)
    return draft_of(payload, id=id, source=source, expectedversion=expectedversion)


def thought(
    name: str,
    text: str = "hmm",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    source: str = SOURCE,
    expectedversion: int | None = None,
) -> Draft:
    """A decision.thought on the stream of a name."""
    payload = DecisionThought(decision_id=name, text=text)
    return draft_of(payload, id=id, source=source, expectedversion=expectedversion)


def reviewed(name: str, *, id: str | None = None) -> Draft:  # noqa: A002 - the attribute's name
    """A decision.reviewed on the stream of a name."""
    return draft_of(DecisionReviewed(decision_id=name, outcome="success"), id=id)


def batch_of(count: int, prefix: str = "d") -> Sequence[Draft]:
    """So many decisions, each on its own stream with its own id."""
    return [recorded(f"{prefix}{number}", id=f"{prefix}{number}") for number in range(count)]
