"""The root of the error tree, and the errors of events that do not fit the vocabulary.

`ledger/errors.py` draws the whole tree and says what the caller should do about each class.
"""


class TallystickError(Exception):
    """A request that Tallystick refuses or cannot fulfil.

    `detail` says what happened and where; `advice` says what to do.
    """

    def __init__(self, detail: str, advice: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.detail} {self.advice}".rstrip()


class InvalidEvent(TallystickError):
    """An event that does not fit the vocabulary; nothing was written: correct it and post it again.

    `field` is the path of the wrong value (`data.confidence`), `index` the event's 0-based place in its batch.
    """

    def __init__(self, detail: str, advice: str = "", *, field: str | None = None, index: int | None = None) -> None:
        super().__init__(detail, advice)
        self.field = field
        self.index = index


class MalformedInput(InvalidEvent):
    """Bytes that are not JSON at all; nothing was written: send well-formed UTF-8 JSON."""
