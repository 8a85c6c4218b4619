"""The report of a CSTP import: counts, and every value that could not be kept as CSTP stored it."""

from collections import Counter

import msgspec

HALF_CONFIDENCE = "confidence 0.5"
ZERO_CONFIDENCE = "confidence 0 in SQLite alone"
OTHER_TIME = "created_at apart from date"
"""Doubtful values: CSTP writes these confidences if none was stated, and older versions changed times on migration."""

VALUE_CHARS_MAX = 80
"""Characters of a value that a report quotes."""

LEVELS_MAX = 50
"""Levels of nested lists and objects that a report quotes; for deeper values it names only the type."""


class Loss(msgspec.Struct, kw_only=True):
    """A value that was not imported: its file and field, the value, what is allowed, and what was left out.

    `left_out` is `file`, `decision`, `review`, or the path of the field that was left out of the decision.
    """

    file: str
    decision_id: str | None = None
    field: str
    value: str
    allowed: str
    left_out: str


class SourceConflict(msgspec.Struct, kw_only=True, frozen=True):
    """Two sources with different values of one field. `taken` is used: its source changed later."""

    decision_id: str
    field: str
    taken: str
    taken_from: str
    other: str
    other_from: str


class CstpImportResult(msgspec.Struct, kw_only=True):
    """The result of an import. `complete` is true if nothing was lost and no sources conflict.

    `no_place` counts values of fields that no event has; each is one of `losses`, too, but for the decision's summary.
    `doubtful` counts values that CSTP may have filled in.
    `passed_over` lists files and tables without decisions. The ledger already has everything of `unchanged` decisions.
    `recorded`, `reviewed`, `amended`, `thoughts`, `preserved` and `linked` count new events, `appended` the written
    ones. `links` counts those of decisions and of graph files.
    A decision without an agent, and a review without a reviewer, gets the agent `anonymous`; a decision without a time
    gets the time of the import.
    """

    path: str
    dry_run: bool = False
    complete: bool = True
    yaml_files: int = 0
    sqlite_stores: int = 0
    graph_files: int = 0
    links: int = 0
    decisions: int = 0
    in_both: int = 0
    with_confidence: int = 0
    reviews: int = 0
    without_agent: int = 0
    without_reviewer: int = 0
    without_time: int = 0
    losses: list[Loss] = []
    contradictions: list[SourceConflict] = []
    no_place: dict[str, int] = msgspec.field(default_factory=Counter)
    doubtful: dict[str, int] = msgspec.field(default_factory=Counter)
    passed_over: list[str] = []
    unchanged: int = 0
    recorded: int = 0
    reviewed: int = 0
    amended: int = 0
    thoughts: int = 0
    preserved: int = 0
    linked: int = 0
    appended: int = 0
    duplicates: int = 0
    first: int | None = None
    last: int | None = None
    elapsed_ms: int = 0

    def add_loss(
        self, file: str, field: str, value: object, allowed: str, *, left_out: str = "", decision_id: str | None = None
    ) -> None:
        """Add a value that cannot be kept. Without `left_out`, only the field itself is left out."""
        quoted, left_out = quote(value), left_out or field
        self.losses.append(
            Loss(file=file, decision_id=decision_id, field=field, value=quoted, allowed=allowed, left_out=left_out)
        )

    def add_conflict(self, decision_id: str, field: str, taken: tuple[object, str], other: tuple[object, str]) -> None:
        """Add two different values of a field, each with its source; `taken` is used."""
        taken_value, other_value = (quote(msgspec.to_builtins(value)) for value, _ in (taken, other))
        self.contradictions.append(
            SourceConflict(
                decision_id=decision_id,
                field=field,
                taken=taken_value,
                taken_from=taken[1],
                other=other_value,
                other_from=other[1],
            )
        )


def quote(value: object) -> str:
    """Format a value for a report: cut, on one line, as valid Unicode."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _as_json(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 3]}..."


def _as_json(value: object) -> str:
    try:
        if _is_shallow(value, LEVELS_MAX):
            return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        pass
    return f"a {type(value).__name__}"


def _is_shallow(value: object, levels: int) -> bool:
    """Whether a value nests at most so many levels."""
    if isinstance(value, dict):
        value = list(value.values())
    items = value if isinstance(value, list) else []
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in items)
