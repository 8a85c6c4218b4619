"""A band that contains whole simulated curves, not only each of their points, with a given frequency.

At each point, a curve's distance from the median is measured in units of the distance of the pointwise quantile on that
side. The largest of these over the points is how extreme the curve is as a whole, and the band is as wide at each point
as the curves at `level` are: the directional quantile envelope of Myllymäki et al. (2017, JRSSB 79:381).
"""

import numpy as np

from projections.arrays import Floats

_RARE = 0.25
"""Where the quantile is the median, the unit is this share of the distance of the most extreme curve."""


def simultaneous_band(curves: Floats, low: Floats, high: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of the band that contains a share `level` of the curves at every point.

    `curves` has a row for each curve; `low` and `high` are the pointwise quantiles of the same level.
    """
    middle = np.median(curves, axis=0)
    below = np.maximum(middle - low, _RARE * (middle - curves.min(axis=0)))
    above = np.maximum(high - middle, _RARE * (curves.max(axis=0) - middle))
    distance = curves - middle
    unit = np.where(distance < 0, below, above)
    extreme = (np.abs(distance) / np.where(unit > 0, unit, 1)).max(axis=1)
    factor = max(1.0, float(np.quantile(extreme, level, method="higher")))
    return middle - factor * below, middle + factor * above
