"""`python -m tests.recorded`: record the answers again.

It also makes the old ledger and its figures, but only where their files are missing.
"""

import sys
import tempfile
from pathlib import Path

from tests.api.cli.command import done
from tests.recorded.append_requests import ORDER, golden
from tests.recorded.cstp_requests import FULL
from tests.recorded.difference import encoded
from tests.recorded.figures import figures
from tests.recorded.old_ledger import ARCHIVE, FIGURES, NAME, pack, unpack
from tests.recorded.recorder import Session, record
from tests.recorded.request import call, event, get, post
from tests.recorded.run_requests import discovery, evidence
from tests.recorded.scenes import ANSWERS, SCENES
from tests.recorded.view_requests import APPENDS
from tests.support.witness import Witness, witnessing

SCOPE = {"agentId": "planner", "decisionId": "storage"}

OLD = [
    *APPENDS, get("/decisions", limit=1, search="cache"),
    *(post("/events", event(type_, f"all-{place}", golden(type_))) for place, type_ in enumerate(ORDER)
      if type_ not in {"model.registered.v1", "model.aliased.v1"}),
    get("/calibration"), *evidence(), *discovery(), get("/projections"),
    call("recordThought", {"text": "One file could be enough", **SCOPE}), call("recordDecision", {**FULL, **SCOPE}),
    get("/decisions", limit=1, search="queue"), get("/checkpoint")._replace(signed=True),
]  # fmt: skip
"""The requests that made the old ledger. (The history registers the model that the two types left out are about.)"""


def write_ledger() -> None:
    """Make the old ledger, and let a witness cosign its checkpoint."""
    with tempfile.TemporaryDirectory(prefix="tallystick-old-") as folder:
        ledger = Path(folder) / NAME
        record("old", Session(OLD), ledger.parent)
        key = done(ledger, "key", "show").text.strip()
        with witnessing(Witness("witness.example/recorded", key)) as witness:
            done(ledger, "witness", "--url", witness.url, "--key", witness.key)
        pack(ledger)


def write_figures() -> None:
    """Write what this version prints about the old ledger."""
    with tempfile.TemporaryDirectory(prefix="tallystick-old-") as folder:
        FIGURES.write_bytes(figures(unpack(Path(folder))))


def main() -> int:
    """Write the golden files."""
    if not ARCHIVE.exists():
        write_ledger()
    if not FIGURES.exists():
        write_figures()
    answers = b""
    for name, session in SCENES.items():
        with tempfile.TemporaryDirectory(prefix=f"tallystick-{name}-") as folder:
            answers += encoded(record(name, session, Path(folder)))
    ANSWERS.write_bytes(answers)
    requests = answers.count(b"\n")
    sys.stdout.write(f"{requests} requests, {len(answers):,} bytes: {ANSWERS}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
