"""The ids that earlier imports gave to rows without an id: digests of all content of a row.

Because the outcome was a part of that content, a row whose outcome changed became another decision. `import decisions
--match` finds the decisions of such imports.
"""

from datetime import datetime
from hashlib import sha256

import msgspec

from api.importers.decisions.rows import ID_CHARS, DecisionRow
from events.envelope import timestamp

_encode = msgspec.json.Encoder().encode

_FIELDS_DIGESTED = DecisionRow._fields.index("question")


class ContentDigestIds:
    """The ids of one file's rows, which must be asked for in the order of the file."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def next_id(self, row: DecisionRow) -> str:
        """Return the id of the next row: the digest of its content and of its number among rows with the same."""
        content = sha256(_encode(_content(row))).digest()
        key = int.from_bytes(content[:8])
        number = self._counts[key] = self._counts.get(key, 0) + 1
        return sha256(content + number.to_bytes(8)).hexdigest()[:ID_CHARS]


def is_content_digest(event_id: str, decision_id: str) -> bool:
    """Whether a decision was recorded with such an id: its event's id then begins with the same digest."""
    return len(decision_id) == ID_CHARS and event_id.startswith(f"import-{decision_id}")


def _content(row: DecisionRow) -> list[object]:
    """Return the values of a row that earlier imports knew, independent of how they are written."""
    return [timestamp(value) if isinstance(value, datetime) else value for value in row[:_FIELDS_DIGESTED]]
