"""Parse the rows of a table, and name the decision of each.

The same row always has the same decision, so that importing a file again adds nothing:

- A row with an id is the decision of that id.
- A row without one is known by its agent, its decision, its time, and its number among the rows of the file with the
  same three. Its id is their digest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, cast

import msgspec

from api.importers.decisions.tables import VALUE_CHARS_MAX, TableFault, TableRows, Texts
from api.importers.values import NUMBER, InvalidValue, check_unicode, parse_agent, parse_stream_id, parse_time
from api.text_format import one_line
from events.decision import Stakes
from events.envelope import source_of, timestamp
from events.limits import LABEL_CHARS_MAX, LINE_BYTES_MAX
from ledger.errors import InvalidQuery
from projections.decisions.decision_selection import STAKES
from tallystick.shapes.decisions import Outcome

REQUIRED = ("agent", "decision")

TEXT_BYTES_MAX = LINE_BYTES_MAX - 5_535
"""The most bytes of a decision's text as JSON; the rest of the line may need the others."""

ID_CHARS = 16
"""Characters of the digest that is the id of a decision."""

_OUTCOMES: dict[str, Outcome] = {
    "success": "success", "partial": "partial", "failure": "failure", "abandoned": "abandoned",
    "1": "success", "1.0": "success", "0.5": "partial", ".5": "partial", "0": "failure", "0.0": "failure",
}  # fmt: skip

_encode = msgspec.json.Encoder().encode
_parse_agent = lru_cache(4096)(parse_agent)


class DecisionRow(NamedTuple):
    """The values of a row, by field."""

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
    cluster: str | None
    model: str | None


FIELDS = DecisionRow._fields


class IdentifiedRow(NamedTuple):
    """A row that can be imported: its line, its values, and the id of its decision.

    `key` is of the agent, the decision and the time, and `number` counts the rows of the file with the same key.
    """

    line: int
    row: DecisionRow
    decision_id: str
    key: int
    number: int


class ValueOptions(msgspec.Struct, frozen=True):
    """How values are written in a file: confidences in percent, and further words for outcomes, in lower case."""

    percent: bool = False
    outcomes: dict[str, Outcome | None] = {}


def parse_outcome_map(pairs: Sequence[str]) -> dict[str, Outcome | None]:
    """Return the outcome of each word in `word=outcome`; None for `word=`. Errors: InvalidQuery."""
    outcomes: dict[str, Outcome | None] = {}
    for pair in pairs:
        word, equals, text = (part.strip() for part in pair.rpartition("="))
        if not equals or not word or (text and text.lower() not in _OUTCOMES):
            advice = "Write --outcome-map yes=success; the outcomes are success, partial, failure, abandoned, or empty."
            raise InvalidQuery("outcome-map", f"{pair!r} does not map a word to an outcome.", advice)
        if word.lower() in outcomes:
            raise InvalidQuery("outcome-map", f"{word} is mapped twice.", "Omit one.")
        outcomes[word.lower()] = _OUTCOMES[text.lower()] if text else None
    return outcomes


def read_rows(
    rows: TableRows, columns: Mapping[str, str], options: ValueOptions
) -> Iterator[IdentifiedRow | TableFault]:
    """Yield every row with the id of its decision, or its fault. Reading a file twice gives the same."""
    parse = _parsers(options)
    counts: dict[int, int] = {}
    rows_by_id: dict[str, tuple[int, int]] = {}
    for line, texts in rows.read([columns.get(field) for field in FIELDS]):
        row = texts if isinstance(texts, TableFault) else _parse_row(line, texts, parse)
        if isinstance(row, TableFault):
            yield row
            continue
        digest = identity_digest(row.agent, row.decision, row.time)
        key = int.from_bytes(digest[:8])
        if row.id is None:
            number = counts[key] = counts.get(key, 0) + 1
            yield IdentifiedRow(line, row, _decision_id(digest, number), key, number)
            continue
        content = hash(row)
        first_line, first_content = rows_by_id.setdefault(row.id, (line, content))
        if first_content != content:
            allowed = f"an id for one decision: {rows.format.unit} {first_line} has it with other content"
            yield TableFault(line, "id", row.id, allowed)
            continue
        yield IdentifiedRow(line, row, row.id, key, 0)


def identity_digest(agent: str, decision: str, time: datetime | None) -> bytes:
    """Return the digest of what a decision without an id is known by."""
    return sha256(_encode([source_of(agent), decision, None if time is None else timestamp(time)])).digest()


def _decision_id(digest: bytes, number: int) -> str:
    return sha256(digest + number.to_bytes(8)).hexdigest()[:ID_CHARS]


def _parse_row(line: int, texts: Texts, parse: Mapping[str, Callable[[str], object]]) -> DecisionRow | TableFault:
    values: list[object] = []
    for field, text in zip(FIELDS, texts, strict=True):
        try:
            values.append(parse[field](text))
        except InvalidValue as error:
            shown = text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 3]}..."
            return TableFault(line, field, shown, str(error))
    return DecisionRow._make(values)


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
        percent = text.endswith("%") and NUMBER.fullmatch(text.removesuffix("%").rstrip()) is not None
        comma = NUMBER.fullmatch(text.replace(",", ".")) is not None and "," in text
        hint = " (--percent reads 85% as 0.85)" if percent else " with a decimal point" if comma else ""
        raise InvalidValue(f"a number from 0 to 1{hint}")
    return float(text) + 0.0


@lru_cache(4096)
def _parse_percentage(text: str) -> float:
    number = text.removesuffix("%").rstrip()
    if NUMBER.fullmatch(number) is None or not 0 <= float(number) <= 100:
        raise InvalidValue("a number from 0 to 100, with or without %")
    return float(Decimal(number) / 100) + 0.0


def _outcome_parser(outcomes: Mapping[str, Outcome | None]) -> Callable[[str], Outcome | None]:
    known = {**_OUTCOMES, **outcomes}

    def parse_outcome(text: str) -> Outcome | None:
        try:
            return known[text.lower()]
        except KeyError:
            word = one_line(text[:VALUE_CHARS_MAX])
            option = f"--outcome-map {word if word.isalnum() else repr(word)}=success"
            raise InvalidValue(f"success, partial, failure, abandoned, 1, 0.5, 0 ({option} maps a word)") from None

    return parse_outcome


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


def _parsers(options: ValueOptions) -> dict[str, Callable[[str], object]]:
    """Return the parser of each field."""
    labels = ("category", "project", "feature", "question", "cluster", "model")
    return dict.fromkeys(labels, _parse_label) | {
        "agent": _parse_agent,
        "decision": _parse_decision,
        "confidence": _or_empty(_parse_percentage if options.percent else _parse_confidence),
        "outcome": _or_empty(_outcome_parser(options.outcomes)),
        "id": _or_empty(parse_stream_id),
        "time": _or_empty(parse_time),
        "review_time": _or_empty(parse_time),
        "stakes": _or_empty(_parse_stakes),
    }
