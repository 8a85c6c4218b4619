"""Convert table rows into decision events: map columns to fields, and check each value.

The ids of decisions and events are digests of the row, so that importing the same file again adds nothing:

- A row with an id is the decision of that id. A later file may add its outcome.
- A row without an id is identified by all of its content, and by its number among rows with the same content.
- The question that it answers is not part of either, so that a later file can add it to existing decisions.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, cast

import msgspec

from api.auth import is_valid_agent
from api.importers.tables import TableFault, TableRows, Texts
from api.parameters import parse_instant
from events.decision import DecisionAsked, DecisionRecorded, DecisionReviewed, Outcome, Stakes
from events.envelope import Draft, source_of, timestamp
from events.limits import LABEL_CHARS_MAX, LINE_BYTES_MAX, STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN
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

_OUTCOMES: dict[str, Outcome] = {
    "success": "success", "partial": "partial", "failure": "failure", "abandoned": "abandoned",
    "1": "success", "1.0": "success", "0.5": "partial", ".5": "partial", "0": "failure", "0.0": "failure",
}  # fmt: skip

_number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_stream_id = re.compile(STREAM_ID_PATTERN)
_encode = msgspec.json.Encoder().encode
_recorded = VOCABULARY.kinds["decision.recorded.v1"].draft
_asked = VOCABULARY.kinds["decision.asked.v1"].draft
_reviewed = VOCABULARY.kinds["decision.reviewed.v1"].draft


class RowError(Exception):
    """A value that a field cannot have; the text says what is allowed."""


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
    """Return the column of each field, by `field=column` and by name. Errors: InvalidQuery, naming the columns."""
    there = f"The columns of {rows.path} are: {', '.join(rows.columns) or 'none'}."
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
            raise InvalidQuery("map", f"the column {column!r} does not exist.", there)
        mapped.add(field)
        chosen[field] = column
    if "question" not in mapped and chosen.get("question") in {chosen[field] for field in mapped}:
        del chosen["question"]  # the caller mapped this column to another field
    if missing := [field for field in REQUIRED if field not in chosen]:
        raise InvalidQuery(
            "map",
            f"no column for {' and '.join(missing)}. {there}",
            f"Name it: {' '.join(f'--map {field}=COLUMN' for field in missing)}.",
        )
    return chosen


def rows_to_drafts(rows: TableRows, columns: Mapping[str, str]) -> Iterator[DecisionDrafts | TableFault]:
    """Yield every row as events, or its fault; deterministic, so that reading twice gives the same."""
    occurrences: dict[int, int] = {}
    ids: dict[str, tuple[int, int]] = {}
    for line, texts in rows.read([columns.get(field) for field in FIELDS]):
        if isinstance(texts, TableFault):
            yield texts
            continue
        row = _parse_row(line, texts)
        if isinstance(row, TableFault):
            yield row
            continue
        content = sha256(_encode(_content(row))).digest()
        short = int.from_bytes(content[:8])
        if row.id is None:
            number = occurrences[short] = occurrences.get(short, 0) + 1
            name = sha256(content + number.to_bytes(8)).hexdigest()
            yield DecisionDrafts(line, row, _drafts(row, name[:16], name[:32]))
            continue
        digest = hash((short, row.question))
        first, other = ids.setdefault(row.id, (line, digest))
        if other != digest:
            yield TableFault(line, "id", row.id, f"an id for one decision: line {first} has it with other content")
            continue
        yield DecisionDrafts(line, row, _drafts(row, row.id, sha256(row.id.encode()).hexdigest()[:32]))


def _content(row: DecisionRow) -> list[object]:
    """Return the values that identify the decision, independent of how they are written."""
    return [timestamp(value) if isinstance(value, datetime) else value for value in row[:-1]]


def _drafts(row: DecisionRow, decision_id: str, name: str) -> list[Draft]:
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
    drafts = [_recorded(id=f"import-{name}", source=source, time=row.time, data=recorded)]
    if row.question is not None:
        asked = DecisionAsked(decision_id=decision_id, question=row.question)
        question = sha256(f"{name} asked {row.question}".encode()).hexdigest()[:32]
        drafts.append(_asked(id=f"import-{question}", source=source, time=row.time, data=asked))
    if row.outcome is not None:
        reviewed = DecisionReviewed(decision_id=decision_id, outcome=row.outcome)
        # The id includes the outcome: a later file with another outcome is another review, which supersedes this one.
        when = timestamp(row.review_time) if row.review_time is not None else ""
        review = sha256(f"{name} {row.outcome} {when}".encode()).hexdigest()[:32]
        drafts.append(_reviewed(id=f"import-{review}", source=source, time=row.review_time, data=reviewed))
    return drafts


def _parse_row(line: int, texts: Texts) -> DecisionRow | TableFault:
    values: list[object] = []
    for field, text in zip(FIELDS, texts, strict=True):
        try:
            values.append(_PARSERS[field](text))
        except RowError as wrong:
            return TableFault(line, field, text if len(text) <= 60 else f"{text[:57]}...", str(wrong))
    return DecisionRow(
        *cast(tuple[str, None, str, None, None, None, None, None, None, None, None, None], tuple(values))
    )


@lru_cache(4096)
def _agent(text: str) -> str:
    if not is_valid_agent(text):
        raise RowError("1..64 letters, digits and ._:@/+-, beginning with a letter or digit")
    return text


def _decision(text: str) -> str:
    if not text:
        raise RowError("a text that is not empty")
    try:
        size_bytes = len(text) if text.isascii() and len(text) < 1000 else len(_encode(text))
    except UnicodeEncodeError:
        raise RowError("a text of whole Unicode characters") from None
    if size_bytes > TEXT_BYTES_MAX:
        raise RowError(f"at most {TEXT_BYTES_MAX:,} bytes as JSON")
    return text


@lru_cache(4096)
def _confidence(text: str) -> float | None:
    if not text:
        return None
    if _number.fullmatch(text) is None or not 0 <= float(text) <= 1:
        raise RowError("a number from 0 to 1, or empty")
    return float(text) + 0.0


def _outcome(text: str) -> Outcome | None:
    if not text:
        return None
    known = _OUTCOMES.get(text) or _OUTCOMES.get(text.lower())
    if known is None:
        raise RowError("success, partial, failure, abandoned, 1, 0.5, 0, or empty")
    return known


def _id(text: str) -> str | None:
    if not text:
        return None
    if len(text) > STREAM_ID_CHARS_MAX or _stream_id.fullmatch(text) is None:
        raise RowError(f"1..{STREAM_ID_CHARS_MAX} of letters, digits, '.', '_' and '-', or empty")
    return text


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        return parse_instant("time", text)
    except InvalidQuery:
        raise RowError("a date or an RFC 3339 time (2026-02-05, 2026-02-05T14:30:00Z), or empty") from None


@lru_cache(16)
def _stakes(text: str) -> Stakes | None:
    if not text:
        return None
    if text.lower() not in STAKES:
        raise RowError(f"{', '.join(STAKES)}, or empty")
    return cast(Stakes, text.lower())


@lru_cache(4096)
def _label(text: str) -> str | None:
    if len(text) > LABEL_CHARS_MAX:
        raise RowError(f"at most {LABEL_CHARS_MAX} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RowError("a text of whole Unicode characters") from None
    return text or None


_PARSERS: dict[str, Callable[[str], object]] = {
    "agent": _agent, "category": _label, "decision": _decision, "confidence": _confidence, "outcome": _outcome,
    "id": _id, "time": _time, "review_time": _time, "stakes": _stakes, "project": _label, "feature": _label,
    "question": _label,
}  # fmt: skip
