"""The place of an event type in its stream, and who may append its events."""

from enum import Enum


class Life(Enum):
    """The place that a type may have in its stream."""

    OPENS = "opens"
    """The first event, once."""
    CONTINUES = "continues"
    """Any later event, while the stream is open."""
    CLOSES = "closes"
    """The last event, unless a later one reopens the stream."""
    REOPENS = "reopens"
    """The event after the one that closed the stream: the stream is open again."""
    SINGLE = "single"
    """The only event of its stream."""
    REPEATS = "repeats"
    """The first event or any later one, while the stream is open."""

    @property
    def begins(self) -> bool:
        return self in (Life.OPENS, Life.SINGLE, Life.REPEATS)

    @property
    def follows(self) -> bool:
        return self in (Life.CONTINUES, Life.CLOSES, Life.REOPENS, Life.REPEATS)

    @property
    def ends(self) -> bool:
        return self in (Life.CLOSES, Life.SINGLE)

    @property
    def reopens(self) -> bool:
        return self is Life.REOPENS


RESOLVERS = "/resolvers/"
"""What the sources of reviews by rules begin with: the ledger's own."""


class Author(Enum):
    """Who may append events of a type. The ledger excepts callers that may act for others from OWNER and FIRST."""

    ANYONE = "anyone"
    """Any source."""
    OWNER = "owner"
    """The source of the first event of the stream."""
    FIRST = "first"
    """Any reviewer, as long as the stream has no event of this kind; then only the source of that event."""
    OBSERVER = "observer"
    """Callers with the scope `observe`."""
    REVIEWER = "reviewer"
    """Any source whose token may review."""
    ADMIN = "admin"
    """Callers with the scope `admin`."""
    LEDGER = "ledger"
    """The ledger itself, as it does what a caller asks."""
    IMPORTER = "importer"
    """As LEDGER; and callers with the scope `import`, who bring events of another ledger."""
    SERVER = "server"
    """The server that holds the ledger; no caller."""
