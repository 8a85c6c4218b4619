"""Outcomes of decisions and what each counts."""

import numpy as np

OUTCOMES = ("unreviewed", "success", "partial", "failure", "abandoned")
"""Columns of the counts."""


OUTCOME_VALUES = np.array([np.nan, 1.0, 0.5, 0.0, 0.0])
"""What each of them is worth."""


UNREVIEWED = 0
