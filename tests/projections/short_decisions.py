"""Decisions and how they turned out, said in a few characters: `S` success, `P` partial, `F` failure, `A` abandoned."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from events.envelope import Draft
from projections.calibration.calibration import Calibration
from tallystick.shapes.decisions import Outcome
from tests.projections.drafts import record, review
from tests.projections.random_histories import events_of
from tests.support.paths import SHARED

KNOWN = SHARED / "calibration" / "known_answers.json"
"""Figures worked out elsewhere, where they lie beside this checkout."""

OUTCOMES: dict[str, Outcome] = {"S": "success", "P": "partial", "F": "failure", "A": "abandoned"}

Stated = tuple[float | None, str]
"""A confidence, and the outcomes of the decisions that stated it; a `-` is one without."""

_columns = "-SPFA"


def judged(*stated: Stated, prefix: str = "d", **about: object) -> list[Draft]:
    """The drafts that record and review these decisions, all about the same."""
    drafts = []
    pairs = [(confidence, letter) for confidence, letters in stated for letter in letters]
    for number, (confidence, letter) in enumerate(pairs):
        name = f"{prefix}{number}"
        drafts.append(record(name, confidence, **about))  # type: ignore[arg-type]
        if letter != "-":
            drafts.append(review(name, OUTCOMES[letter]))
    return drafts


def calibration_of(drafts: Iterable[Draft]) -> Calibration:
    """The projection that folded these drafts' events."""
    calibration = Calibration()
    calibration.fold(events_of(list(drafts)))
    return calibration


def cells(*stated: Stated) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Stated confidences and counts of outcomes, one cell for each."""
    confidence = np.array([np.nan if c is None else c for c, _ in stated], dtype=np.float64)
    return confidence, counts_of([letters for _, letters in stated])


def counts_of(letters: Sequence[str]) -> npt.NDArray[np.int64]:
    counts = [[one.count(letter) for letter in _columns] for one in letters]
    return np.array(counts, dtype=np.int64).reshape(-1, len(_columns))
