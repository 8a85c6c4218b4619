"""Ledgers whose checkpoints are signed, and means to change them behind the back of their triggers."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from events.envelope import Draft
from events.evidence import EvidenceErased, EvidenceStored
from ledger.evidence_store import EvidenceStore
from ledger.sqlite.log import SqliteLog
from ledger.transparency.signed_note import Checkpoint, Signer
from tests.support.drafts import draft_of, recorded, thought

SIZE = 600
"""Two full tiles and 88 lines behind them."""

KEPT, GONE = b"the answer as it came", b"the answer that named a person"


class Sealed(NamedTuple):
    """A ledger file with its key and checkpoint."""

    path: Path
    signer: Signer

    @property
    def key(self) -> str:
        return str(self.signer.verifier)


def history(size: int) -> list[Draft]:
    """Return decisions, each followed by a thought, with three evidence events before the last event."""
    evidence = [draft_of(EvidenceStored(digest=sha256(one).hexdigest(), size_bytes=len(one))) for one in (KEPT, GONE)]
    evidence.append(draft_of(EvidenceErased(digest=sha256(GONE).hexdigest())))
    decided = [recorded(f"d-{at}", f"choice {at}") if at % 2 == 0 else thought(f"d-{at - 1}") for at in range(size - 3)]
    return [*decided[:-1], *evidence, decided[-1]]


def sealed(path: Path, size: int = SIZE, steps: Sequence[int] = ()) -> Sealed:
    """Make a ledger with a checkpoint of its full size, and signed notes of some smaller sizes at `PATH.SIZE`."""
    signer = Signer.make("tests.example/log")

    async def made() -> None:
        log = await SqliteLog.open(path)
        store = EvidenceStore(path)
        store.write_pending({sha256(KEPT).hexdigest(): KEPT})
        store.publish(sha256(KEPT).hexdigest())
        done = 0
        for step in (*steps, size):
            await log.append(history(size)[done:step])
            done = step
            note = signer.sign(Checkpoint(signer.verifier.name, step, log.edge.root()).text()).encode()
            path.with_name(f"{path.name}.{'checkpoint' if step == size else step}").write_bytes(note)
        await log.close()

    asyncio.run(made())
    path.with_name(path.name + ".key").write_text(signer.secret() + "\n")
    return Sealed(path, signer)


def alter(path: Path, *statements: str) -> None:
    """Change a ledger file like an attacker: drop its triggers, run the statements, and restore the triggers."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
        connection.commit()
