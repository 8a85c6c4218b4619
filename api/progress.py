"""Progress of long work: a use case reports to a callback, and an interface shows it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Report = Callable[[int, int], None]
"""Takes how much is done and how much there is in all."""

OpenProgress = Callable[[str, str], AbstractContextManager[Report]]
"""Shows progress for the time of a `with` block. Takes a label and a unit ("events")."""


@contextmanager
def no_progress(label: str, unit: str) -> Iterator[Report]:
    """Show nothing."""
    yield lambda done, total: None
