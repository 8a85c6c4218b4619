"""For every test: no example is too slow to be right. Under CI, hypothesis draws the same examples each time.

HYPOTHESIS_PROFILE=fuzz draws many more of them, others each time (`make fuzz`).
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("house", parent=settings(), deadline=None)
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, derandomize=False, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))
