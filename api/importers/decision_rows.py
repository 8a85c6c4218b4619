"""Convert table rows into decision events: map columns to fields, and check each value.

The same row always gives the same ids of decisions and events, so that importing a file again adds nothing:

- A row with an id is the decision of that id. A later file may add its outcome.
- The id of a row without one is a digest of its content, and of its number among rows with the same content.
- The question of a row is not part of its content, so that a later file can add it to existing decisions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, cast

import msgspec

from api.importers.tables import VALUE_CHARS_MAX, TableFault, TableRows, Texts
from api.importers.values import NUMBER, InvalidValue, check_unicode, parse_agent, parse_stream_id, parse_time
from events.decision import DecisionAsked, DecisionRecorded, DecisionReviewed, Outcome, Stakes
from events.envelope import Draft, source_of, timestamp
from events.limits import LABEL_CHARS_MAX, LINE_BYTES_MAX
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery
from projections.decisions.decision_index import STAKES

FIELDS = (
    "agent", "category", "decision", "confidence", "outcome", "id", "time", "review_time", "stakes", "project",
    "feature", "question",
)  # fmt: skip
REQUIRED = ("agent", "decision")

TEXT_BYTES_MAX = LINE_BYTES_MAX - 5_535
"""The most bytes of a decision's text as JSON; the rest of the line may need the others."""

ID_CHARS, EVENT_ID_CHARS = 16, 32
"""Characters of the digests in the ids of decisions and events."""

_OUTCOMES: dict[str, Outcome] = {
    "success": "success", "partial": "partial", "failure": "failure", "abandoned": "abandoned",
    "1": "success", "1.0": "success", "0.5": "partial", ".5": "partial", "0": "failure", "0.0": "failure",
}  # fmt: skip

_encode = msgspec.json.Encoder().encode
_recorded = VOCABULARY.event_types["decision.recorded.v1"].draft
_asked = VOCABULARY.event_types["decision.asked.v1"].draft
_reviewed = VOCABULARY.event_types["decision.reviewed.v1"].draft


class DecisionRow(NamedTuple):
    """The values of a row, in the order of FIELDS."""

    agent: str
    category: str | None
    decision: str
    confidence: float | None
    outcome: Outcome | None
    id: str | None
    time: datetime | None
    review_time: datetime | None
    stakes: Stakes | None
    project: str | None
    feature: str | None
    question: str | None


class DecisionDrafts(NamedTuple):
    """A row that can be imported: its line, its values, and its events."""

    line: int
    row: DecisionRow
    drafts: list[Draft]


def map_columns(rows: TableRows, mapping: Sequence[str]) -> dict[str, str]:
    """Return the column of each field: the one of `field=column`, or of the same name. Errors: InvalidQuery."""
    columns = f"The columns of {rows.path} are: {', '.join(rows.columns) or 'none'}."
    chosen = {name: name for name in FIELDS if name in rows.columns}
    mapped: set[str] = set()
    for pair in mapping:
        field, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not column or field not in FIELDS:
            advice = f"Write --map FIELD=COLUMN; the fields are: {', '.join(FIELDS)}."
            raise InvalidQuery("map", f"{pair!r} does not map a field to a column.", advice)
        if field in mapped:
            raise InvalidQuery("map", f"{field} is mapped twice.", "Omit one.")
        if column not in rows.columns:
            raise InvalidQuery("map", f"the column {column!r} does not exist.", columns)
        mapped.add(field)
        chosen[field] = column
    if "question" not in mapped and chosen.get("question") in {chosen[field] for field in mapped}:
        del chosen["question"]  # the caller mapped this column to another field
    if missing := [field for field in REQUIRED if field not in chosen]:
        raise InvalidQuery(
            "map",
            f"no column for {' and '.join(missing)}. {columns}",
            f"Name it: {' '.join(f'--map {field}=COLUMN' for field in missing)}.",
        )
    return chosen


def rows_to_drafts(rows: TableRows, columns: Mapping[str, str]) -> Iterator[DecisionDrafts | TableFault]:
    """Yield every row as events, or its fault. Reading a file twice gives the same events."""
    occurrences: dict[int, int] = {}
    rows_by_id: dict[str, tuple[int, int]] = {}
    for line, texts in rows.read([columns.get(field) for field in FIELDS]):
        if isinstance(texts, TableFault):
            yield texts
            continue
        row = _parse_row(line, texts)
        if isinstance(row, TableFault):
            yield row
            continue
        content = sha256(_encode(_content(row))).digest()
        content_key = int.from_bytes(content[:8])
        if row.id is None:
            number = occurrences[content_key] = occurrences.get(content_key, 0) + 1
            digest = sha256(content + number.to_bytes(8)).hexdigest()
            yield DecisionDrafts(line, row, _drafts(row, digest[:ID_CHARS], digest[:EVENT_ID_CHARS]))
            continue
        row_key = hash((content_key, row.question))
        first_line, first_key = rows_by_id.setdefault(row.id, (line, row_key))
        if first_key != row_key:
            allowed = f"an id for one decision: line {first_line} has it with other content"
            yield TableFault(line, "id", row.id, allowed)
            continue
        yield DecisionDrafts(line, row, _drafts(row, row.id, _event_id(row.id)))


def _event_id(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:EVENT_ID_CHARS]


def _content(row: DecisionRow) -> list[object]:
    """Return the values that identify the decision, independent of how they are written."""
    return [timestamp(value) if isinstance(value, datetime) else value for value in row[:-1]]


def _drafts(row: DecisionRow, decision_id: str, event_id: str) -> list[Draft]:
    source = source_of(row.agent)
    recorded = DecisionRecorded(
        decision_id=decision_id,
        decision=row.decision,
        confidence=row.confidence,
        category=row.category,
        stakes=row.stakes,
        project=row.project,
        feature=row.feature,
    )
    drafts = [_recorded(id=f"import-{event_id}", source=source, time=row.time, data=recorded)]
    if row.question is not None:
        asked = DecisionAsked(decision_id=decision_id, question=row.question)
        question = _event_id(f"{event_id} asked {row.question}")
        drafts.append(_asked(id=f"import-{question}", source=source, time=row.time, data=asked))
    if row.outcome is not None:
        reviewed = DecisionReviewed(decision_id=decision_id, outcome=row.outcome)
        # The id includes the outcome: a later file with another outcome is another review, which supersedes this one.
        when = timestamp(row.review_time) if row.review_time is not None else ""
        review = _event_id(f"{event_id} {row.outcome} {when}")
        drafts.append(_reviewed(id=f"import-{review}", source=source, time=row.review_time, data=reviewed))
    return drafts


def _parse_row(line: int, texts: Texts) -> DecisionRow | TableFault:
    values: list[object] = []
    for field, text in zip(FIELDS, texts, strict=True):
        try:
            values.append(_PARSERS[field](text))
        except InvalidValue as error:
            shown = text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 3]}..."
            return TableFault(line, field, shown, str(error))
    return DecisionRow(
        *cast(tuple[str, None, str, None, None, None, None, None, None, None, None, None], tuple(values))
    )


def _parse_decision(text: str) -> str:
    if not text:
        raise InvalidValue("a text that is not empty")
    size_bytes = len(text) if text.isascii() and len(text) < 1000 else len(_encode(check_unicode(text)))
    if size_bytes > TEXT_BYTES_MAX:
        raise InvalidValue(f"at most {TEXT_BYTES_MAX:,} bytes as JSON")
    return text


@lru_cache(4096)
def _parse_confidence(text: str) -> float:
    if NUMBER.fullmatch(text) is None or not 0 <= float(text) <= 1:
        raise InvalidValue("a number from 0 to 1")
    return float(text) + 0.0


def _parse_outcome(text: str) -> Outcome:
    outcome = _OUTCOMES.get(text) or _OUTCOMES.get(text.lower())
    if outcome is None:
        raise InvalidValue("success, partial, failure, abandoned, 1, 0.5, 0")
    return outcome


def _parse_stakes(text: str) -> Stakes:
    if text.lower() not in STAKES:
        raise InvalidValue(", ".join(STAKES))
    return cast(Stakes, text.lower())


@lru_cache(4096)
def _parse_label(text: str) -> str | None:
    if len(text) > LABEL_CHARS_MAX:
        raise InvalidValue(f"at most {LABEL_CHARS_MAX} characters")
    return check_unicode(text) or None


def _or_empty(parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return a parser that returns None for an empty text."""

    def parse_or_empty(text: str) -> object:
        try:
            return parse(text) if text else None
        except InvalidValue as error:
            raise InvalidValue(f"{error}, or empty") from None

    return parse_or_empty


_PARSERS: dict[str, Callable[[str], object]] = {
    "agent": lru_cache(4096)(parse_agent),
    "category": _parse_label,
    "decision": _parse_decision,
    "confidence": _or_empty(_parse_confidence),
    "outcome": _or_empty(_parse_outcome),
    "id": _or_empty(parse_stream_id),
    "time": _or_empty(parse_time),
    "review_time": _or_empty(parse_time),
    "stakes": _or_empty(_parse_stakes),
    "project": _parse_label,
    "feature": _parse_label,
    "question": _parse_label,
}
