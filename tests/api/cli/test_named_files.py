"""Files that a command reads: only regular ones are opened, and a table has a bounded number of columns."""

import os
from pathlib import Path

import pytest

from api.importers.decisions.tables import COLUMNS_MAX
from tests.api.cli.command import done, refused, tally

pytestmark = pytest.mark.trial("N14")

KEY = "ledger.example/one+b8cfcae7+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"

VERBS = (
    ("import", "decisions"),
    ("import", "cstp"),
    ("import", "runs"),
    ("import", "ledger"),
    ("import", "results"),
    ("append",),
    ("guardrail", "set"),
    ("breakers", "set"),
    ("evidence", "put"),
    ("eval", "capture", "--output", "kube/a", "--scenario-name", "a", "--failure-type", "b", "--investigation"),
    ("probe", "analyze", "--response-file"),
    ("verify",),
    ("verify", "--since"),
    ("receipt", "--key", KEY, "--check"),
)


@pytest.mark.parametrize("kind", ["FIFO", "device"])
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_only_a_regular_file_is_opened(tmp_path: Path, ledger: Path, words: tuple[str, ...], kind: str) -> None:
    name = tmp_path / "fifo"
    if kind == "FIFO":
        os.mkfifo(name)
    else:
        name.symlink_to("/dev/zero")
    ended = tally(ledger, *words, name)
    assert ended.code in (1, 2)
    assert "not a regular file" in f"{ended.text}{ended.err}"


def test_a_pipe_that_the_shell_opened_is_read(ledger: Path) -> None:
    """As in `append <(command)` and `command | append /dev/stdin`."""
    reading, writing = os.pipe()
    os.write(writing, b'{"type":"decision.recorded.v2","data":{"decision":"x"}}\n')
    os.close(writing)
    assert "1 event appended" in done(ledger, "append", f"/dev/fd/{reading}").text
    os.close(reading)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_table_has_a_bounded_number_of_columns(tmp_path: Path, ledger: Path, suffix: str) -> None:
    table = tmp_path / f"table.{suffix}"
    for count in (COLUMNS_MAX, 200_000):
        names = ["id", "decision", "agent", *(f"c{number}" for number in range(count - 3))]
        row = ",".join(f'"{name}":"x"' for name in names)
        table.write_text(f"{','.join(names)}\n{','.join('x' * count)}\n" if suffix == "csv" else f"{{{row}}}\n")
        if count == COLUMNS_MAX:
            done(ledger, "import", "decisions", table, "--dry-run")
        else:
            assert f"{table} has 200,000 columns, more than 1,000." in refused(ledger, "import", "decisions", table)


def test_a_column_that_occurs_twice_is_named(tmp_path: Path, ledger: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,decision,b,a,b,a,,\n")
    assert "has the column 'a' twice." in refused(ledger, "import", "decisions", table)
