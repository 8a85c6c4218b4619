"""Choose the column of each field: by its name, by --map, or ask about a column that looks like a field."""

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher

from api.importers.decisions.rows import FIELDS, REQUIRED
from api.importers.decisions.tables import TableRows, normalize
from ledger.errors import InvalidQuery

SIMILAR = 0.8
"""Similarity of a column's name and a field's from which the column looks like the field."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "agent": ("agent name", "agent id", "author", "who"),
    "decision": ("text", "decision text", "title", "summary", "action", "choice", "prediction"),
    "confidence": ("prob", "probability", "conf", "score", "certainty", "likelihood", "confidence score", "p"),
    "outcome": (
        "result", "status", "correct", "is correct", "success", "succeeded", "passed", "label", "verdict", "score",
    ),
    "time": ("date", "timestamp", "datetime", "created", "created at", "decided at", "recorded at", "when", "ts"),
    "review_time": ("reviewed at", "review date", "resolved at", "reviewed on", "resolution date"),
    "id": ("decision id", "uuid", "guid", "identifier"),
    "stakes": ("stake", "risk", "severity", "impact"),
    "project": ("repo", "repository"),
    "question": ("question id", "prompt", "task", "task id"),
}  # fmt: skip
"""Names that other programs give to the fields."""

DROPPED_IF_MAPPED = ("question", "cluster", "model")
"""Fields whose column, found by its name, is left to another field that the caller maps it to."""

_synonyms = {(field, normalize(name)) for field, names in SYNONYMS.items() for name in names}
_fields = {normalize(field): field for field in FIELDS}


def mapped_names(mapping: Sequence[str]) -> list[str]:
    """Return the names of the fields and of the mapped columns, which a header is expected to have."""
    return [*FIELDS, *(pair.partition("=")[2] for pair in mapping)]


def map_columns(rows: TableRows, mapping: Sequence[str], ignored: Sequence[str]) -> dict[str, str]:
    """Return the column of each field: the one of `field=column`, or the one that is named as the field.

    Names are compared without case, spaces, underscores and hyphens. Errors: InvalidQuery, also for a column that is
    not used but looks like a field without a column.
    """
    left_out = {_find_column(rows, "ignore", name.strip()) for name in ignored}
    candidates = [column for column in rows.columns if column not in left_out]
    mapped = _parse_mapping(rows, mapping)
    chosen = _named_columns(candidates, mapped) | mapped
    for field in DROPPED_IF_MAPPED:
        if field not in mapped and chosen.get(field) in mapped.values():
            del chosen[field]  # the caller mapped this column to another field
    unused = [column for column in candidates if column not in chosen.values()]
    if missing := [field for field in REQUIRED if field not in chosen]:
        free = [*unused, *(chosen[field] for field in DROPPED_IF_MAPPED if field in chosen and field not in mapped)]
        similar = {field: next((column for column in free if looks_like(column, field)), "COLUMN") for field in missing}
        raise InvalidQuery(
            "map",
            f"no column for {' and '.join(missing)}. {_columns_of(rows)}",
            f"Name it: {' '.join(f'--map {field}={column}' for field, column in similar.items())}.",
        )
    _ask_about(unused, chosen)
    return chosen


def looks_like(column: str, field: str) -> bool:
    """Whether a column's name is a synonym of a field, or similar to its name."""
    name = normalize(column)
    return (field, name) in _synonyms or SequenceMatcher(None, name, normalize(field)).ratio() >= SIMILAR


def _named_columns(columns: Sequence[str], mapped: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that are named as fields; an equal name goes before a similar one. Errors: InvalidQuery."""
    found: dict[str, list[str]] = {}
    for column in columns:
        if (field := _fields.get(normalize(column))) is not None and field not in mapped:
            found.setdefault(field, []).append(column)
    chosen = {}
    for field, names in found.items():
        if len(names) > 1 and field not in names:
            detail = f"the columns {' and '.join(map(repr, names))} both look like {field}."
            raise InvalidQuery("map", detail, f"Choose one: --map {field}={_quoted(names[0])}.")
        chosen[field] = field if field in names else names[0]
    return chosen


def _parse_mapping(rows: TableRows, mapping: Sequence[str]) -> dict[str, str]:
    mapped: dict[str, str] = {}
    for pair in mapping:
        field, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not column or field not in FIELDS:
            advice = f"Write --map FIELD=COLUMN; the fields are: {', '.join(FIELDS)}."
            raise InvalidQuery("map", f"{pair!r} does not map a field to a column.", advice)
        if field in mapped:
            raise InvalidQuery("map", f"{field} is mapped twice.", "Omit one.")
        mapped[field] = _find_column(rows, "map", column)
    return mapped


def _find_column(rows: TableRows, option: str, name: str) -> str:
    """Return the column of a name. Errors: InvalidQuery."""
    if name in rows.columns:
        return name
    similar = [column for column in rows.columns if normalize(column) == normalize(name)]
    if len(similar) != 1:
        raise InvalidQuery(option, f"the column {name!r} does not exist.", _columns_of(rows))
    return similar[0]


def _ask_about(unused: Collection[str], chosen: Mapping[str, str]) -> None:
    """Refuse a column that looks like a field without a column: to leave it out must be the caller's choice."""
    similar = {
        column: [field for field in FIELDS if field not in chosen and looks_like(column, field)] for column in unused
    }
    asked = [(column, fields) for column, fields in similar.items() if fields]
    if not asked:
        return
    column, fields = asked[0]
    others = f" So do others: {', '.join(repr(name) for name, _ in asked[1:])}." if len(asked) > 1 else ""
    raise InvalidQuery(
        "map",
        f"the column {column!r} looks like {' or '.join(fields)}, and is not used.{others}",
        f"Import it with {' or '.join(f'--map {field}={_quoted(column)}' for field in fields)}, "
        f"or leave it out with --ignore {_quoted(column)}.",
    )


def _quoted(column: str) -> str:
    return column if column.isidentifier() else repr(column)


def _columns_of(rows: TableRows) -> str:
    return f"The columns of {rows.name} are: {', '.join(rows.columns) or 'none'}."
