"""For every test: no example is too slow to be right. Under CI, hypothesis draws the same examples each time.

HYPOTHESIS_PROFILE=fuzz draws many more of them, others each time (`make fuzz`).
A shell that runs the tests in the background lets them ignore SIGINT. So would the processes that tests start.
"""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile("house", parent=settings(), deadline=None)
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, derandomize=False, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
