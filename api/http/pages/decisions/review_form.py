"""The form that records the outcome of a decision, on its page and in the queue."""

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import NamedTuple, get_args

from api.http.pages.form import EVENT_ID, convert_fields, event_id_of, new_event_id, stated_texts
from api.http.request import Call
from api.service.decision_writer import RecordedReview, continue_decision
from api.service.review_permission import may_review
from events.decision import DecisionReviewed
from events.errors import InvalidEvent, TallystickError
from ledger.errors import IdentityConflict
from projections.decisions.decision_state import DecisionState
from tallystick.shapes.decisions import Outcome

DECISION_ID = "decision_id"
TEXTS = ("actual_result", "lessons", "notes")
INDICATOR = "kpi:"
"""What the names of the fields for indicators begin with."""

INDICATORS_MAX = 12
"""Indicators of a decision for which the form has a field; programs can state any."""


class IndicatorField(NamedTuple):
    """A field for the measured change of an indicator, with what was typed."""

    label: str
    typed: str

    @property
    def name(self) -> str:
        """The name of the field."""
        return INDICATOR + self.label


class ReviewForm(NamedTuple):
    """A form: which decision it reviews, the id of its event, what was typed, and why it was refused.

    Posting it again with the same content is a retry, which writes nothing, because the form has the event's id.
    """

    decision_id: str
    event_id: str
    outcomes: Sequence[str]
    typed: Mapping[str, str]
    indicators: Sequence[IndicatorField]
    refusal: TallystickError | None = None


def review_form(call: Call, state: DecisionState, refused: "RefusedReview | None" = None) -> ReviewForm | None:
    """Return the form for a decision, perhaps one that was refused; None if the caller may not review it."""
    if not may_review(call.caller, state):
        return None
    typed = {} if refused is None else refused.typed
    keeps_id = refused is not None and not isinstance(refused.refusal, IdentityConflict)
    return ReviewForm(
        decision_id=state.decision_id,
        event_id=typed.get(EVENT_ID) or "" if keeps_id else new_event_id(),
        outcomes=get_args(Outcome),
        typed=typed,
        indicators=[
            IndicatorField(name, typed.get(INDICATOR + name, ""))
            for name in state.decision.kpi_indicators[:INDICATORS_MAX]
        ],
        refusal=None if refused is None else refused.refusal,
    )


class RefusedReview(NamedTuple):
    """What was typed into a form, and why nothing was written."""

    typed: Mapping[str, str]
    refusal: TallystickError


async def post_form(call: Call, typed: Mapping[str, str]) -> RecordedReview:
    """Record the review of a form. Errors: those of `continue_decision`, InvalidEvent; nothing was written."""
    payload, event_id = _payload(typed), event_id_of(typed)
    return await continue_decision(RecordedReview, call.ledger, call.caller, payload, event_id=event_id)


def _payload(typed: Mapping[str, str]) -> DecisionReviewed:
    if "outcome" not in typed:
        raise InvalidEvent("No outcome is chosen.", "Choose how it turned out.", field="outcome")
    fields = stated_texts(typed, DECISION_ID, "outcome", *TEXTS)
    indicators = {
        name.removeprefix(INDICATOR): _number(name.removeprefix(INDICATOR), value)
        for name, value in typed.items()
        if name.startswith(INDICATOR)
    }
    if indicators:
        fields["affected_kpis"] = indicators
    return convert_fields(fields, DecisionReviewed)


def _number(name: str, text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = nan
    if not isfinite(number):
        advice = f"Write how {name} changed, as in -2.5."
        raise InvalidEvent(f"{text!r} is not a number.", advice, field=name)
    return number
