"""Ledger files by someone who holds the file and the key: any lines, with the right columns, tiles and signature."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from ledger.clock import microseconds
from ledger.sqlite.schema import COLUMNS, CREATE, INSERT_TILE
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.signed_note import Checkpoint, Signer
from ledger.transparency.tiles import TreeEdge

SIGNER = Signer.make("tests.example/forged")
INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


def forge_ledger(path: Path, lines: Sequence[bytes]) -> Path:
    """Write a ledger file of some lines, whose columns, tiles and checkpoint fit them."""
    edge, filled = TreeEdge().grow(leaf_hashes(lines))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL;" + CREATE)
        for line in lines:
            event = json.loads(line)
            times = (microseconds(datetime.fromisoformat(event[name])) for name in ("time", "recordedtime"))
            names = ("position", "source", "id", "subject", "streamversion", "type")
            connection.execute(INSERT, (*(event[name] for name in names), *times, line))
        connection.executemany(INSERT_TILE, filled)
    checkpoint = Checkpoint(SIGNER.verifier.name, len(lines), edge.root())
    path.with_name(f"{path.name}.checkpoint").write_bytes(SIGNER.sign(checkpoint.text()).encode())
    key = path.with_name(f"{path.name}.key")
    key.write_text(SIGNER.secret() + "\n")
    key.chmod(0o600)
    return path
