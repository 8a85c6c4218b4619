"""The scenes of the recorded session. Each has a server of its own."""

import shutil
from pathlib import Path

from tests.recorded.access_requests import ACCESS, KEPT, LIMITS, fork, write_tokens
from tests.recorded.append_requests import EVENTS
from tests.recorded.cstp_requests import CSTP
from tests.recorded.old_ledger import unpack
from tests.recorded.recorder import Session
from tests.recorded.view_requests import VIEWS

ANSWERS = Path(__file__).with_name("answers.jsonl")
"""The golden answers, one per line."""


def put_old_ledger(ledger: Path) -> None:
    """Put the old ledger in place of an empty one."""
    (old := ledger.parent / "old").mkdir()
    for path in sorted(unpack(old).parent.iterdir()):
        shutil.move(path, ledger.parent / path.name)


SCENES = {
    "events": Session(EVENTS),
    "views": Session(VIEWS),
    "cstp": Session(CSTP),
    "access": Session(ACCESS, prepare=write_tokens),
    "limits": Session(LIMITS, options=("--rate", "0.001", "--burst", "5"), prepare=fork),
    "kept": Session(KEPT, prepare=put_old_ledger),
}
