"""Ledgers of decisions that are given as confidences with the letters of their outcomes, imported as a user does."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.api.cli.command import Value, done
from tests.api.cli.evaluating import Json

OUTCOMES = {"S": "success", "P": "partial", "F": "failure", "A": "abandoned"}


class Judged(NamedTuple):
    """Decisions of one category at one confidence: a letter for each outcome, S, P, F or A."""

    confidence: float
    letters: str
    category: str = "all"
    agent: str = "ann"


def imported(folder: Path, *parts: Judged) -> Path:
    """Import a table of decisions into a new ledger, and return the ledger."""
    rows = ["agent,decision,category,confidence,outcome"]
    for part in parts:
        for letter in part.letters:
            name = f"decision {len(rows)}"
            rows.append(f"{part.agent},{name},{part.category},{part.confidence},{OUTCOMES[letter]}")
    (folder / "table.csv").write_text("\n".join(rows))
    done(folder / "judged.db", "import", "decisions", folder / "table.csv")
    return folder / "judged.db"


def printed(ledger: Path, *options: Value) -> str:
    """What `tallystick calibration` prints, with single spaces."""
    return " ".join(done(ledger, "calibration", *options).text.split())


def figures(ledger: Path, *options: Value) -> Json:
    """What `tallystick calibration --json` prints."""
    found: Json = msgspec.json.decode(done(ledger, "calibration", *options, "--json").out)
    return found
