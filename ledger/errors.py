"""The error tree, by what it asks of the caller.

```
TallystickError                 events/errors.py
├── InvalidEvent                correct the event, post it again          (nothing written)
│   ├── MalformedInput          send well-formed JSON
│   └── LineTooLong             move material out of the event
├── AppendRefused               read the stream, decide again             (nothing written)
│   ├── StreamConflict          the stream is not at the expected version
│   ├── LifecycleViolation      the type may not stand there
│   └── IdentityConflict        the id names another event
├── LedgerBusy                  retry after `retry_after_s`               (nothing written)
├── LedgerFull                  make room on the disk, retry              (nothing written)
├── LedgerUnavailable           outcome unknown: retry with the same ids
├── LedgerLocked                another process writes: use it, or stop it
├── LedgerUnusable              the file is missing or not a ledger
├── InvalidQuery                correct the parameter
├── NotFound                    nothing of that name is in the log
├── Gone                        the evidence was erased, and cannot come back
├── Damaged                     the bytes are not what was stored: restore them
├── Forked                      nothing is signed: restore the newer copy, or begin a new identity
├── BadNote                     no signed note of the key named: take it from where it was made
├── UnusableExport              the folder or ZIP is no whole export: get it again
├── Unwitnessed                 api/refusals_tmp.py: ask the witness again, or its operator
├── LedgerDamaged               the ledger or backup is not what was written: take another backup
├── Occupied                    something of that name is there: name another   (nothing overwritten)
├── RunEnded                    api/refusals_tmp.py: the run takes nothing more
├── AttemptTaken                api/refusals_tmp.py: read the prompt, answer what is due
├── FixtureExists               instruments/evals/suite/writer.py: name another folder, or replace it on purpose
├── RateLimited                 api/rate_limit.py: retry after `retry_after_s`  (nothing done)
├── BadFixtures                 instruments/evals: correct the scenarios       (nothing run)
│   └── NoScenarios             name a folder that holds some
├── BadExpression               instruments/evals: correct the selection
└── AccessRefused               api/auth.py: who asks may not
    ├── CrossSite               api/auth.py: not from a page of elsewhere
    ├── ForeignHost             api/auth.py: ask under a name of loopback
    ├── Unauthenticated         send a token that is known
    └── Forbidden               use a token with the scope
```

One table, `api/errors.py`, maps each class to an HTTP status, a JSON-RPC code and an exit code.
"""

from collections.abc import Sequence

from events.errors import InvalidEvent, MalformedInput, TallystickError

__all__ = [
    "AppendRefused",
    "BadNote",
    "Damaged",
    "Forked",
    "Gone",
    "IdentityConflict",
    "InvalidEvent",
    "InvalidQuery",
    "LedgerBusy",
    "LedgerDamaged",
    "LedgerFull",
    "LedgerLocked",
    "LedgerUnavailable",
    "LedgerUnusable",
    "LifecycleViolation",
    "LineTooLong",
    "MalformedInput",
    "NotFound",
    "Occupied",
    "StreamConflict",
    "TallystickError",
    "UnusableExport",
]


class LineTooLong(InvalidEvent):
    """The event would be longer than a line may be; nothing was written."""


class AppendRefused(TallystickError):
    """The log as it stands does not admit the event; nothing of the batch was written.

    `index` is the event's 0-based place in its batch, `field` the attribute that decided.
    """

    field: str | None = None

    def __init__(self, detail: str, advice: str, *, subject: str, index: int) -> None:
        super().__init__(detail, advice)
        self.subject = subject
        self.index = index


class StreamConflict(AppendRefused):
    """The stream holds another number of events than the writer believed."""

    field = "expectedversion"

    def __init__(self, subject: str, expected: int, found: int, index: int) -> None:
        missed = f"Read versions {expected + 1}..{found}" if found > expected else "Read the stream"
        super().__init__(
            f"append to {subject} refused: expected version {expected}, found {found}; nothing was written.",
            f"{missed}, decide again, append.",
            subject=subject,
            index=index,
        )
        self.expected = expected
        self.found = found


class LifecycleViolation(AppendRefused):
    """The type may not stand at this place of its stream."""

    field = "subject"


class IdentityConflict(AppendRefused):
    """The id is taken by another event of the same source."""

    field = "id"

    def __init__(self, subject: str, source: str, event_id: str, position: int, index: int) -> None:
        super().__init__(
            f"id {event_id!r} of {source} is taken: position {position} holds it with other content; "
            "nothing was written.",
            "Retry with the content of the first post, or use a new id.",
            subject=subject,
            index=index,
        )
        self.event_id = event_id
        self.position = position


class LedgerBusy(TallystickError):
    """The queue of the writer is full; nothing was written: retry after `retry_after_s` seconds."""

    def __init__(self, waiting_events: int, retry_after_s: int = 1) -> None:
        super().__init__(
            f"The writer's queue is full ({waiting_events} events waiting); nothing was written.",
            f"Retry after {retry_after_s} s.",
        )
        self.retry_after_s = retry_after_s


class LedgerFull(TallystickError):
    """The disk is full; nothing was written, reading goes on: make room and retry."""


class LedgerUnavailable(TallystickError):
    """The write could not be confirmed: the outcome is unknown until a retry with the same ids tells."""


class LedgerLocked(TallystickError):
    """Another process holds the ledger's lock; `pid` and `address` name it."""

    def __init__(self, path: str, pid: int | None, address: str | None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        if address:
            super().__init__(
                f"{path} is being written by {holder}, serving at {address}.",
                f"Go through it with --url {address}, or stop it first.",
            )
        else:
            super().__init__(f"{path} is being written by {holder}.", "Wait until it is done, or stop it first.")
        self.pid = pid
        self.address = address


class LedgerUnusable(TallystickError):
    """The file is missing, is no ledger, or was written by a newer version."""


class InvalidQuery(TallystickError):
    """A parameter of a read that cannot be met; `field` names it."""

    def __init__(self, field: str, detail: str, advice: str = "") -> None:
        super().__init__(f"{field}: {detail}", advice)
        self.field = field


class NotFound(TallystickError):
    """Nothing of that name or number is in the log."""


class Gone(TallystickError):
    """The evidence of that digest was erased; its bytes are nowhere, and are not taken again."""


class Damaged(TallystickError):
    """The file of an evidence is missing or holds other bytes, which are not given out."""


class UnusableExport(TallystickError):
    """A folder or a ZIP that is no export, or not a whole one."""


class BadNote(TallystickError):
    """Bytes that are no signed note, checkpoint or key, or are not of the key that was named."""


class Forked(TallystickError):
    """The log does not continue what was signed of it: it was restored from an older copy, or altered."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"{detail} Nothing is signed; appends and reads go on.",
            "Restore the newer copy of the ledger. Or begin a new identity, which everyone who holds the old key will "
            "see: tallystick key make --replace.",
        )


class LedgerDamaged(TallystickError):
    """A ledger file, or what stands beside it, is not what was written; `flaws` says each thing that is wrong."""

    def __init__(self, path: str, flaws: Sequence[str], advice: str) -> None:
        more = f" And {len(flaws) - 1} more." if len(flaws) > 1 else ""
        super().__init__(f"{path} is damaged: {flaws[0]}{more}", advice)
        self.flaws = flaws


class Occupied(TallystickError):
    """Something stands where a file was to be written; nothing was overwritten."""

    def __init__(self, path: str, advice: str) -> None:
        super().__init__(f"{path} is there already; nothing was overwritten.", advice)
