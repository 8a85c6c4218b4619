"""Numbers of the outcomes of decisions, and the value of each outcome in calibration."""

import numpy as np

OUTCOMES = ("unreviewed", "success", "partial", "failure", "abandoned")
"""Outcomes in the order of their numbers: 0 is `unreviewed`. Counts have one column for each."""

OUTCOMES_COUNT = len(OUTCOMES)

OUTCOME_NUMBERS = {name: number for number, name in enumerate(OUTCOMES)}

OUTCOME_VALUES = np.array([np.nan, 1.0, 0.5, 0.0, 0.0])
"""The value of each outcome by number: 1, 0.5 or 0; NaN while unreviewed."""

UNREVIEWED = 0
"""The number of the outcome of a decision without a review."""

RETRACTED = OUTCOMES_COUNT
"""Stands for the outcome of a retracted decision. It is none of OUTCOMES: no figure counts such a decision."""
