"""What a takeover found, what became of it, and everything that could not be kept as it stood."""

from collections import Counter

import msgspec

HALF = "confidence 0.5"
ZERO = "confidence 0 in SQLite alone"
APART = "created_at apart from date"
"""Values that CSTP also writes where none was stated, and times of a store that an older CSTP made when it migrated."""


class Loss(msgspec.Struct, kw_only=True):
    """Something that was not taken over: where it stands, what stands there, what would be right, what was left out.

    `left_out` is `file`, `decision`, `review`, or the path of the field that the decision goes without.
    """

    file: str
    decision_id: str | None = None
    field: str
    value: str
    allowed: str
    left_out: str


class SourceConflict(msgspec.Struct, kw_only=True, frozen=True):
    """Two places that say otherwise of one field. `taken` is what counts now, from the place that changed later."""

    decision_id: str
    field: str
    taken: str
    taken_from: str
    other: str
    other_from: str


class CstpImportResult(msgspec.Struct, kw_only=True):
    """The whole account. `complete` is true where nothing was lost and nothing contradicted.

    `no_place` counts values of fields that no event has; `doubtful` counts what may not be as it was said;
    `passed_over` are files and tables that hold no decisions. Of `unchanged` decisions the ledger has all it can take;
    `recorded`, `reviewed`, `amended` and `thoughts` count the events that are new, `appended` those that were written.
    A decision without an agent, and a review without a reviewer, is `anonymous`; a decision without a time is dated by
    the takeover.
    """

    path: str
    dry_run: bool = False
    complete: bool = True
    yaml_files: int = 0
    sqlite_stores: int = 0
    decisions: int = 0
    in_both: int = 0
    with_confidence: int = 0
    reviews: int = 0
    without_agent: int = 0
    without_reviewer: int = 0
    without_time: int = 0
    losses: list[Loss] = []
    contradictions: list[SourceConflict] = []
    no_place: dict[str, int] = {}
    doubtful: dict[str, int] = {}
    passed_over: list[str] = []
    unchanged: int = 0
    recorded: int = 0
    reviewed: int = 0
    amended: int = 0
    thoughts: int = 0
    appended: int = 0
    duplicates: int = 0
    first: int | None = None
    last: int | None = None
    elapsed_ms: int = 0


class ReportBuilder:
    """Where the rooms of a takeover note what they could not keep."""

    def __init__(self) -> None:
        self.losses: list[Loss] = []
        self.contradictions: list[SourceConflict] = []
        self.no_place: Counter[str] = Counter()
        self.doubtful: Counter[str] = Counter()
        self.passed_over: list[str] = []

    def lose(
        self, file: str, field: str, value: object, allowed: str, left_out: str | None = None, of: str | None = None
    ) -> Loss:
        """Note a loss, of a decision where it has an id; without `left_out` it is the field itself."""
        loss = Loss(
            file=file, decision_id=of, field=field, value=quoted(value), allowed=allowed, left_out=left_out or field
        )
        self.losses.append(loss)
        return loss


VALUE_CHARS_MAX = 80
"""Characters of a value that a report quotes."""


LEVELS_MAX = 50
"""Lists and objects within each other that a report quotes; of more it says what the outermost is."""


def quoted(value: object) -> str:
    """A value as a report shows it: cut, on one line, and Unicode whatever it was."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _written(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 3]}..."


def _written(value: object) -> str:
    try:
        if _nests(value, LEVELS_MAX):
            return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        pass
    return f"a {type(value).__name__}"


def _nests(value: object, levels: int) -> bool:
    """Whether a value has at most so many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_nests(one, levels - 1) for one in inner)
