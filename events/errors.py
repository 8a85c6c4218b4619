"""The root of the error tree, and the errors of parameters and of events that are not valid.

`ledger/errors.py` draws the whole tree and says what the caller should do about each class.
"""


class TallystickError(Exception):
    """A request that Tallystick refuses or cannot fulfil.

    `detail` says what happened and where; `field` is the path of the wrong value (`data.confidence`); `advice` says
    what to do. `written` is False if nothing was written; None where that is unknown, or nobody would expect it.
    """

    field: str | None = None
    written: bool | None = None

    def __init__(self, detail: str, advice: str = "", *, field: str | None = None, written: bool | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.advice = advice
        self.field = field or self.field
        self.written = self.written if written is None else written

    @property
    def full_advice(self) -> str:
        """The advice, and whether the caller may rely on nothing being written: what every interface shows."""
        return f"{self.advice} Nothing was written.".lstrip() if self.written is False else self.advice

    def detail_for(self, name: str) -> str:
        """Return the detail with the name that an interface gives the field, if it begins with the field."""
        field = self.field or ""
        return f"{name}{self.detail[len(field) :]}" if field and self.detail.startswith(field) else self.detail

    def __str__(self) -> str:
        return f"{self.detail} {self.full_advice}".rstrip()


class InvalidQuery(TallystickError):
    """A parameter is invalid: `field` names it, and `cause` says why without its name."""

    field: str

    def __init__(self, field: str, cause: str, advice: str = "", *, written: bool | None = None) -> None:
        super().__init__(f"{field}: {cause}", advice, field=field, written=written)
        self.cause = cause


class NothingWritten(TallystickError):
    """A request that is refused before anything is written."""

    written: bool | None = False


class InvalidEvent(NothingWritten):
    """An event that does not fit the vocabulary: correct it and post it again.

    `index` is its 0-based place in its batch.
    """

    def __init__(self, detail: str, advice: str = "", *, field: str | None = None, index: int | None = None) -> None:
        super().__init__(detail, advice, field=field)
        self.index = index


class MalformedInput(InvalidEvent):
    """Bytes that are not JSON at all: send well-formed UTF-8 JSON."""
