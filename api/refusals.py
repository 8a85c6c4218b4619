"""What the verbs of a live run, and witnesses, refuse beside what the ledger does."""

from events.errors import TallystickError


class RunEnded(TallystickError):
    """The run has ended and takes nothing more; nothing was written: read its report, or begin another."""


class AttemptTaken(TallystickError):
    """The attempt that is answered is not the one that is due; nothing was written: read the prompt again."""


class Unwitnessed(TallystickError):
    """A witness did not cosign, or not so that its key bears it out; nothing was kept."""
