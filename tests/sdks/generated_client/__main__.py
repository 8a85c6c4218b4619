"""Use the client that openapi-python-client generates: post an event, read it back, and get a figure.

`python tests/sdks/generated_client URL` prints the position, the stored event, the figure and the figures as JSON. It
runs in an environment of its own, with the generated package on its path.
"""

import json
import sys

from tallystick_client import AuthenticatedClient
from tallystick_client.api.calibration import get_calibration
from tallystick_client.api.events import get_event, post_events
from tallystick_client.models import (
    AppendedEvent,
    CalibrationAnswer,
    DecisionRecorded,
    DecisionRecordedDraft,
    DecisionRecordedDraftType,
    DecisionReviewed,
    DecisionReviewedDraft,
    DecisionReviewedDraftType,
    DecisionReviewedOutcome,
)

with AuthenticatedClient(sys.argv[1], token="none") as client:
    decision = DecisionRecordedDraft(
        type_=DecisionRecordedDraftType("decision.recorded.v2"),
        data=DecisionRecorded(decision="Use one file", decision_id="generated", confidence=0.8),
    )
    appended = post_events.sync(client=client, body=decision)
    assert isinstance(appended, AppendedEvent), appended
    review = DecisionReviewedDraft(
        type_=DecisionReviewedDraftType("decision.reviewed.v1"),
        data=DecisionReviewed(decision_id="generated", outcome=DecisionReviewedOutcome("success")),
    )
    post_events.sync(client=client, body=review)
    event = get_event.sync(position=appended.position, client=client)
    figures = get_calibration.sync(client=client, min_decisions=1)
    assert isinstance(figures, CalibrationAnswer), figures
    print(json.dumps([appended.position, event.to_dict(), figures.to_dict()]))
