"""Tables that are edited, reordered and imported again, interrupted anywhere: the ledger has what the last one states.

Rows have ids or none, and some have the same agent, decision and time. Outcomes and questions are edited; rows are
added, and reordered, though rows with the same three values keep their order, because it tells them from each other.
"""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from api.importers.decisions import DecisionImport, DecisionImportOptions, DecisionImportResult
from api.importers.decisions.row_comparison import KnownDecision, known_decisions
from api.importers.decisions.rows import IdentifiedRow, ValueOptions, read_rows
from api.importers.decisions.tables import open_rows
from api.service.store import LocalStore
from events.decision import DecisionAsked, DecisionReviewed
from events.envelope import Draft
from ledger.errors import LedgerUnavailable
from tallystick.shapes.appended import AppendResult
from tests.fuzz.in_process import InProcess

pytestmark = pytest.mark.slow

COLUMNS = ("agent", "decision", "time", "confidence", "id", "outcome", "question")
OUTCOMES = ("", "success", "partial", "failure", "abandoned")
QUESTIONS = ("", "q1", "q2")


class TableRow(NamedTuple):
    """A row of a table, as texts."""

    agent: str
    decision: str
    time: str
    confidence: str
    id: str
    outcome: str
    question: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What rows without an id are known by, with their order."""
        return self.agent, self.decision, self.time


class Interruption(NamedTuple):
    """Where an import is interrupted: after so many batches, by a signal, by an error, or by a lost answer."""

    batches: int
    kind: str


class Revision(NamedTuple):
    """A table, and the interruptions of its import; without `completes` it is not imported to its end."""

    rows: list[TableRow]
    interruptions: list[Interruption]
    completes: bool
    batch_events: int


NEW_ROWS = st.lists(
    st.builds(
        TableRow,
        agent=st.sampled_from(["ann", "ben"]),
        decision=st.sampled_from(["one", "two", "three"]),
        time=st.sampled_from(["", "2026-01-05", "2026-01-06T10:00:00Z"]),
        confidence=st.sampled_from(["", "0.5", "0.9"]),
        id=st.sampled_from(["", "", "", "named"]),
        outcome=st.sampled_from(OUTCOMES),
        question=st.sampled_from(QUESTIONS),
    ),
    max_size=6,
)
INTERRUPTIONS = st.lists(
    st.builds(Interruption, st.integers(0, 4), st.sampled_from(["signal", "error", "lost answer"])), max_size=2
)


@st.composite
def revisions(draw: st.DrawFn) -> list[Revision]:
    """Draw a table and its later versions. The last one is imported to its end."""
    number = draw(st.integers(1, 4))
    rows: list[TableRow] = []
    made = []
    for index in range(number):
        edited = [_edited(draw, row) for row in rows] + _numbered(draw(NEW_ROWS), len(rows))
        rows = _shuffled(draw, edited)
        completes = index == number - 1 or draw(st.booleans())
        made.append(Revision(rows, draw(INTERRUPTIONS), completes, draw(st.integers(1, 7))))
    return made


def _edited(draw: st.DrawFn, row: TableRow) -> TableRow:
    outcome = draw(st.sampled_from((row.outcome, *OUTCOMES)))
    return row._replace(outcome=outcome, question=draw(st.sampled_from((row.question, *QUESTIONS))))


def _numbered(rows: list[TableRow], start: int) -> list[TableRow]:
    """Give each row that has an id one of its own."""
    return [row._replace(id=f"{row.id}-{start + index}") if row.id else row for index, row in enumerate(rows)]


def _shuffled(draw: st.DrawFn, rows: list[TableRow]) -> list[TableRow]:
    """Reorder rows, but keep the order of rows without an id and with the same key."""
    order = draw(st.permutations(rows))
    in_order = {key: iter([row for row in rows if row.key == key and not row.id]) for key in {row.key for row in rows}}
    return [row if row.id else next(in_order[row.key]) for row in order]


class InterruptedStore(LocalStore):
    """A ledger whose append fails after some batches, before it writes or after."""

    def __init__(self, store: LocalStore, interruption: Interruption | None) -> None:
        super().__init__(store.ledger, store.caller)
        self._interruption = interruption
        self.batches = 0

    async def append(self, drafts: list[Draft]) -> AppendResult:
        kind = self._interruption.kind if self._interruption is not None else ""
        due = self._interruption is not None and self.batches >= self._interruption.batches
        self.batches += 1
        if due and kind == "error":
            raise LedgerUnavailable("the disk is gone")
        result = await super().append(drafts)
        if due and kind == "lost answer":
            raise LedgerUnavailable("the connection broke off")
        return result

    def stops(self) -> bool:
        """Whether a signal has arrived."""
        interruption = self._interruption
        return interruption is not None and interruption.kind == "signal" and self.batches >= interruption.batches


def write(path: Path, rows: list[TableRow]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


def import_table(
    ledger: InProcess, path: Path, batch_events: int, interruption: Interruption | None = None
) -> DecisionImportResult:
    """Import a file; the result is incomplete if the import was interrupted."""
    source = DecisionImport(path, DecisionImportOptions(batch_events=batch_events))
    store = InterruptedStore(ledger.store_, interruption)
    try:
        return ledger.run(source.write(store, store.stops))
    except LedgerUnavailable:
        assert interruption is not None
        return source.result


def in_ledger(ledger: InProcess) -> dict[str, KnownDecision]:
    """Return every decision of a ledger by its id."""

    async def lines() -> bytes:
        return b"\n".join([page async for page in ledger.store_.pages(())])

    return known_decisions(ledger.run(lines()))


def ids(rows: list[TableRow], path: Path) -> list[str]:
    """Return the id of the decision of each row of a file."""
    table = open_rows(path, str(path), COLUMNS)
    found = list(read_rows(table, {name: name for name in COLUMNS}, ValueOptions()))
    names = [item.decision_id for item in found if isinstance(item, IdentifiedRow)]
    assert len(set(names)) == len(names) == len(rows)
    return names


def outcomes(decision: KnownDecision | None) -> list[str]:
    return [review.data.outcome for review in decision.entries(DecisionReviewed)] if decision is not None else []


def questions(decision: KnownDecision | None) -> list[str]:
    return [asked.data.question for asked in decision.entries(DecisionAsked)] if decision is not None else []


def with_new(history: list[str], stated: str) -> list[str]:
    """Return a history after an import: a stated value is added unless it is the newest."""
    return history if not stated or history[-1:] == [stated] else [*history, stated]


def check(ledger: InProcess, before: dict[str, KnownDecision], revision: Revision, file: Path, *, whole: bool) -> None:
    """Check each row: its decision is as before, or as the table states; after a whole import, as the table states."""
    after = in_ledger(ledger)
    names = ids(revision.rows, file)
    assert set(after) - set(names) == set()
    for name, row in zip(names, revision.rows, strict=True):
        old, new = before.get(name), after.get(name)
        stated = (with_new(outcomes(old), row.outcome), with_new(questions(old), row.question))
        is_whole = new is not None and (outcomes(new), questions(new)) == stated
        assert is_whole or (not whole and new == old)
        if new is not None:
            assert (new.state.agent, new.state.history[0].data.decision) == (row.agent, row.decision)
            assert new.state.history[0].data.confidence == (float(row.confidence) if row.confidence else None)
            assert not row.time or row.time.startswith(f"{new.state.recorded_at:%Y-%m-%d}")


@pytest.mark.trial("A1")
@given(revisions())
def test_the_ledger_has_what_the_last_table_states(drawn: list[Revision]) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        file = folder / "table.csv"
        with InProcess(folder / "t.db") as ledger:
            for revision in drawn:
                write(file, revision.rows)
                for interruption in revision.interruptions:
                    before = in_ledger(ledger)
                    import_table(ledger, file, revision.batch_events, interruption)
                    check(ledger, before, revision, file, whole=False)
                if revision.completes:
                    before = in_ledger(ledger)
                    import_table(ledger, file, revision.batch_events)
                    check(ledger, before, revision, file, whole=True)
            again = import_table(ledger, file, 1000)
            assert (again.appended, again.unchanged, again.conflicts) == (0, len(drawn[-1].rows), [])
            imported = in_ledger(ledger)
        with InProcess(folder / "once.db") as other:
            import_table(other, file, 1000)
            once = in_ledger(other)
        event(f"decisions: {len(imported)}")
        assert imported.keys() == once.keys()
        for name, decision in once.items():
            assert imported[name].state.history[0].data == decision.state.history[0].data
            assert outcomes(imported[name])[-1:] == outcomes(decision)[-1:] or not outcomes(decision)
            assert questions(imported[name])[-1:] == questions(decision)[-1:] or not questions(decision)
