"""The error tree. Each class says what the caller should do.

```
TallystickError                 events/errors.py
├── NothingWritten              refused before anything is written
│   ├── InvalidEvent            correct the event, post it again
│   │   ├── MalformedInput      send well-formed JSON
│   │   └── LineTooLong         move material out of the event
│   ├── AppendRefused           read the stream, decide again
│   │   ├── StreamConflict      the stream is not at the expected version
│   │   ├── LifecycleViolation  the type is not allowed at this place of the stream
│   │   ├── ForeignStream       the stream is another source's: append as that source
│   │   ├── ServerOnly          only the server appends the type: leave it out
│   │   └── IdentityConflict    the id belongs to another event
│   ├── LedgerBusy              retry after `retry_after_s`
│   ├── RunEnded                api/errors.py: the run has ended: start another
│   ├── AttemptTaken            api/errors.py: fetch the prompt, answer that attempt
│   ├── FixtureExists           instruments/evals/suite/writer.py: choose another folder, or replace it explicitly
│   └── RateLimited             api/rate_limit.py: retry after `retry_after_s`
├── LedgerFull                  free disk space, retry
├── LedgerUnavailable           outcome unknown: retry with the same ids
│   └── ViewDamaged             ask again: the view is folded again
├── LedgerLocked                another process writes: use it, or stop it
├── LedgerUnusable              the file is missing or not a ledger
├── InvalidQuery                events/errors.py: correct the parameter
├── NotFound                    the log has nothing with that name
├── Gone                        the evidence was erased and cannot be stored again
├── Damaged                     stored bytes are missing or altered: restore them
├── Forked                      nothing is signed: restore the newer copy, or begin a new identity
├── BadNote                     not a signed note of the given key: get it again from its source
├── UnusableExport              the folder or ZIP is not a complete export: get it again
├── Unwitnessed                 api/errors.py: ask the witness again, or its operator
├── UnexpectedAnswer            api/errors.py: not a Tallystick server: check the address
├── LedgerDamaged               the ledger or backup was altered: use another backup
├── Occupied                    the file exists: choose another name      (nothing overwritten)
├── FileUnusable                api/errors.py: correct the path, its permissions, or the disk
├── BadFixtures                 instruments/evals: correct the scenarios       (nothing run)
│   └── NoScenarios             choose a folder that contains scenarios
├── BadExpression               instruments/evals: correct the selection
└── AccessRefused               api/principal.py: the caller may not do this
    ├── CrossSite               api/errors.py: a page of another site sent the request
    ├── ForeignHost             api/errors.py: use a loopback host name
    ├── Unauthenticated         send a valid token
    ├── TokensUnreadable        the operator restores the file of the tokens
    └── Forbidden               use a token that has the scope
```

One table, `api/errors.py`, maps each class to an HTTP status, a JSON-RPC code and an exit code.
"""

from collections.abc import Sequence
from typing import Literal

from events.errors import InvalidEvent, InvalidQuery, MalformedInput, NothingWritten, TallystickError

__all__ = [
    "AppendRefused",
    "BadNote",
    "Damaged",
    "ForeignStream",
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
    "ServerOnly",
    "StreamConflict",
    "TallystickError",
    "UnusableExport",
    "ViewDamaged",
]


class LineTooLong(InvalidEvent):
    """The event is longer than a stored line may be."""


class AppendRefused(NothingWritten):
    """The current state of the log does not admit the event, nor anything else of its batch.

    `index` is the event's 0-based place in its batch, `field` the attribute that caused the refusal.
    """

    def __init__(self, detail: str, advice: str, *, subject: str, index: int) -> None:
        super().__init__(detail, advice)
        self.subject = subject
        self.index = index


class StreamConflict(AppendRefused):
    """The number of events in the stream is not the one that the client expected."""

    field = "expectedversion"

    def __init__(self, subject: str, expected: int, found: int, index: int) -> None:
        missed = f"Read versions {expected + 1}..{found}" if found > expected else "Read the stream"
        super().__init__(
            f"append to {subject} refused: expected version {expected}, found {found}.",
            f"{missed}, decide again, append.",
            subject=subject,
            index=index,
        )
        self.expected = expected
        self.found = found


class LifecycleViolation(AppendRefused):
    """The type is not allowed at this place of its stream. `closed` tells that the stream was closed."""

    field = "subject"
    closed = False


class ForeignStream(AppendRefused):
    """The type is for the owner of the stream, or for the first source that appended it, and the source is another.

    `rule` is `owner`, `first`, or `own` if the caller may not append the type to its own streams. `type` is the event
    type, `author` the source that began the stream, or was the first.
    """

    field = "source"

    def __init__(
        self, rule: Literal["owner", "first", "own"], subject: str, type_: str, author: str, index: int
    ) -> None:
        reasons = {
            "owner": f"{author} began it, and only {author} may append {type_}",
            "first": f"{author} appended its first {type_}, and only {author} may append another",
            "own": f"{author} began it, and this caller may append {type_} only to streams of others",
        }
        super().__init__(
            f"append to {subject} refused: {reasons[rule]}.",
            "Append it as a caller that may.",
            subject=subject,
            index=index,
        )
        self.rule = rule
        self.type = type_
        self.author = author


class ServerOnly(AppendRefused):
    """Only the server that holds the ledger appends the type."""

    field = "type"

    def __init__(self, type_: str, stream: str, index: int) -> None:
        super().__init__(
            f"{type_} is refused: only the server that holds the ledger appends events of the stream {stream}.",
            "Leave it out. To copy a whole ledger, use tallystick import ledger.",
            subject=stream,
            index=index,
        )


class IdentityConflict(AppendRefused):
    """Another event of the same source already has the id."""

    field = "id"

    def __init__(self, subject: str, source: str, event_id: str, position: int, index: int) -> None:
        super().__init__(
            f"id {event_id!r} of {source} is taken: position {position} holds it with other content.",
            "Retry with the content of the first post, or use a new id.",
            subject=subject,
            index=index,
        )
        self.event_id = event_id
        self.position = position


class LedgerBusy(NothingWritten):
    """The writer's queue is full: retry after `retry_after_s` seconds."""

    def __init__(self, waiting_events: int, retry_after_s: int = 1) -> None:
        super().__init__(
            f"The writer's queue is full ({waiting_events} events waiting).", f"Retry after {retry_after_s} s."
        )
        self.retry_after_s = retry_after_s


class LedgerFull(TallystickError):
    """The disk is full, and reading still works: free disk space and retry."""


class LedgerUnavailable(TallystickError):
    """The write could not be confirmed; the outcome is unknown: retry with the same ids."""


class ViewDamaged(LedgerUnavailable):
    """A stored part of a view is missing, or has other bytes than were saved: ask again, the view is folded again."""


class LedgerLocked(TallystickError):
    """Another process holds the ledger's lock; `pid` and `address` identify it.

    `unusable` says why the server at the address cannot be used from here.
    """

    def __init__(self, path: str, pid: int | None, address: str | None, *, unusable: str | None = None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        if address and unusable:
            super().__init__(
                f"{path} is being written by {holder}, serving at {address}: {unusable}",
                "Name an address that reaches it from here with --url, or stop that process first. Nothing was sent.",
            )
        elif address:
            super().__init__(
                f"{path} is being written by {holder}, serving at {address}.",
                f"Use --url {address}, or stop that process first.",
            )
        else:
            super().__init__(f"{path} is being written by {holder}.", "Wait until it is done, or stop it first.")
        self.pid = pid
        self.address = address


class LedgerUnusable(TallystickError):
    """The file is missing, is not a ledger, or was written by a newer version."""


class NotFound(TallystickError):
    """The log has nothing with that name or number: `name` is what the caller gave, and `kind` what it should name."""

    def __init__(
        self,
        detail: str,
        advice: str = "",
        *,
        kind: str | None = None,
        name: str | None = None,
        written: bool | None = None,
    ) -> None:
        super().__init__(detail, advice, written=written)
        self.kind = kind
        self.name = name


class Gone(TallystickError):
    """The evidence with that digest was erased; it is not stored anywhere and cannot be stored again."""


class Damaged(TallystickError):
    """The file of a piece of evidence is missing or has other bytes, which are not returned."""


class UnusableExport(TallystickError):
    """A folder or a ZIP that is not a complete export."""


class BadNote(TallystickError):
    """Bytes that are not a signed note, checkpoint or key, or do not belong to the given key."""


class Forked(TallystickError):
    """The log does not continue its signed checkpoints: it was restored from an older copy, or altered.

    `found` says what was found. `appends`: whether appends go on, as they do in a ledger file.
    """

    def __init__(self, found: str, *, appends: bool = True) -> None:
        if appends:
            goes_on = "Nothing is signed; appends and reads go on."
            advice = (
                "Restore the newer copy of the ledger. Or begin a new identity, which everyone who has the old key "
                "will notice: tallystick key make --replace."
            )
        else:
            goes_on = "Nothing is signed or appended; reads go on."
            advice = "Restore the newer copy of the ledger, then start this server again."
        super().__init__(f"{found} {goes_on}", advice)
        self.found = found


class LedgerDamaged(TallystickError):
    """A ledger file, or a file beside it, was altered or is damaged; `flaws` lists each fault."""

    def __init__(self, path: str, flaws: Sequence[str], advice: str) -> None:
        more = f" And {len(flaws) - 1} more." if len(flaws) > 1 else ""
        super().__init__(f"{path} is damaged: {flaws[0]}{more}", advice)
        self.flaws = flaws


class Occupied(TallystickError):
    """A file or folder already has the name of the file to write; nothing was overwritten."""

    def __init__(self, path: str, advice: str) -> None:
        super().__init__(f"{path} exists already; nothing was overwritten.", advice)
