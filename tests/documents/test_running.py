"""Pages are parsed and run as their comments say, and updated with what the program prints."""

from pathlib import Path

import pytest

from tests.documents import __main__ as update
from tests.documents.page import Block, Need, parts
from tests.documents.run import alike, run

PAGE = """\
# A page

<!-- run: not, it needs a model -->

```sh
false
```

```{toctree}
*
```

```sh
echo one; echo two >&2
```

```text
wrong
```

```yaml
key: value
```

```python
print(1 + 1)
```

```text
2
```
"""


def test_a_page_is_cut_into_what_runs() -> None:
    cut = list(parts(PAGE))
    assert [part.language for part in cut if isinstance(part, Block)] == [
        "{toctree}", "sh", "text", "yaml", "python", "text",
    ]  # fmt: skip
    assert list(parts("<!-- run: server --rate 1 -->\n")) == [Need("server", ("--rate", "1"))]


@pytest.mark.slow
def test_what_a_page_shows_is_compared_with_what_is_printed(tmp_path: Path) -> None:
    shown = list(run(PAGE, tmp_path))
    assert [(each.printed, each.true) for each in shown] == [("one\n", False), ("2\n", True)]


@pytest.mark.slow
def test_a_failed_block_reports_its_output(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"exit code 3\nout\n+err"):
        list(run("```sh\necho out; echo err >&2; exit 3\n```\n", tmp_path))


@pytest.mark.slow
def test_the_python_blocks_of_a_page_are_one_program(tmp_path: Path) -> None:
    page = "```python\nheld = [1]\n```\n\n```sh\necho shell\n```\n\n```python\nprint(held)\n```\n\n```text\n[1]\n```\n"
    assert [each.true for each in run(page, tmp_path)] == [True]
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        list(run("```python\n1 / 0\n```\n", tmp_path))


def test_an_unknown_need_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="weather"):
        list(run("<!-- run: weather -->\n", tmp_path))


def test_what_differs_from_run_to_run_is_alike() -> None:
    assert alike("begun 2026-11-22 11:07:45, took 35ms; 0.3 s.") == alike(
        "begun 2027-01-02 03:04:05, took 1.2s; 12 ms."
    )
    assert alike("3 rows") != alike("4 rows")


@pytest.mark.slow
def test_updating_writes_what_is_printed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(update, "name_of", str)
    monkeypatch.setattr("sys.argv", ["documents", str(page)])
    assert update.main() == 1
    assert page.read_text(encoding="utf-8") == PAGE
    monkeypatch.setattr("sys.argv", ["documents", "--update", str(page)])
    assert update.main() == 0
    assert page.read_text(encoding="utf-8") == PAGE.replace("wrong\n", "one\n")
    assert "1 text blocks renewed" in capsys.readouterr().out
    assert update.main() == 0
