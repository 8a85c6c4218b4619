"""The scenes of the recorded session. Each has a server of its own."""

from pathlib import Path

from tests.recorded.access_requests import ACCESS, DAMAGED, KEPT, LIMITS, damage, fork, put_old_ledger, write_tokens
from tests.recorded.append_requests import EVENTS
from tests.recorded.cstp_requests import CSTP
from tests.recorded.recorder import Session
from tests.recorded.view_requests import VIEWS

ANSWERS = Path(__file__).with_name("answers.jsonl")
"""The golden answers, one per line."""


SCENES = {
    "events": Session(EVENTS),
    "views": Session(VIEWS),
    "cstp": Session(CSTP),
    "access": Session(ACCESS, prepare=write_tokens),
    "limits": Session(LIMITS, options=("--rate", "0.001", "--burst", "5"), prepare=fork),
    "kept": Session(KEPT, prepare=put_old_ledger),
    "damaged": Session(DAMAGED, prepare=damage),
}
