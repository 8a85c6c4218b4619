"""Statements of the full-text index that read and write many rows at once, so that Python releases its lock."""

from collections.abc import Iterable, Sequence
from functools import cache

import aiosqlite
import numpy as np

from projections.decisions.searchable_text import TextPiece
from projections.decisions.word_rows import WordRows

_COLUMNS = 4
"""Columns of each of the two tables of pieces."""

_EVENTS_READ = 262_144
"""Events whose pieces are read at a time for one word, in a tenth of a second if each has it."""

_PLACES = """
SELECT coalesce(group_concat(printf('%08x', pieces.place), ''), '')
FROM words JOIN pieces ON pieces.position = words.rowid
WHERE words MATCH ?1 AND words.rowid > ?2 AND words.rowid <= ?3 AND (pieces.until IS NULL OR pieces.until > ?4)
"""
"""Selects the decisions of the pieces with a word at some positions, that are valid at a position."""

_place = np.dtype(">u4")


async def rows_of(
    connection: aiosqlite.Connection, statement: str, parameters: Sequence[object] = ()
) -> list[aiosqlite.Row]:
    """Return all rows of a statement."""
    return list(await connection.execute_fetchall(statement, parameters))


async def read_word(connection: aiosqlite.Connection, word: str, known: WordRows, upto: int) -> bool:
    """Add to the known rows of a word those of the next events up to a position; return whether that was reached."""
    if known.position >= upto:
        return True
    end = min(upto, known.position + _EVENTS_READ)
    ((joined,),) = await rows_of(connection, _PLACES, (f'"{word}"', known.position, end, upto))
    known.put(np.frombuffer(bytes.fromhex(joined), _place), having=True)
    known.position = end
    return end == upto


async def insert_pieces(connection: aiosqlite.Connection, pieces: Sequence[tuple[int, TextPiece]]) -> None:
    """Insert a batch with one statement for each table, given the row number of the decision of each piece."""
    if not pieces:
        return
    size = 1 << (len(pieces) - 1).bit_length()
    rows = ([piece.position, place, int(piece.review), piece.until] for place, piece in pieces)
    texts = ([piece.position, piece.text, piece.structure, piece.function] for _, piece in pieces)
    await connection.execute(_insert_statement("pieces", size), _padded_values(rows, size))
    await connection.execute(
        _insert_statement("words (rowid, text, structure, function)", size), _padded_values(texts, size)
    )


@cache
def _insert_statement(table: str, rows: int) -> str:
    row = f"({', '.join('?' * _COLUMNS)})"
    values = ", ".join([row] * rows)
    return f"INSERT INTO {table} SELECT * FROM (VALUES {values}) WHERE column1 IS NOT NULL"


def _padded_values(rows: Iterable[Sequence[object]], size: int) -> list[object]:
    """Return the values of all rows of _COLUMNS values, padded with None to `size` rows."""
    values = [value for row in rows for value in row]
    return values + [None] * (_COLUMNS * size - len(values))
