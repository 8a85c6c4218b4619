"""An export from elsewhere that never ends, and texts that would command a terminal."""

import os
import shlex
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import command, done, environment, refused, tally
from tests.hostile.memory import MB, measured
from tests.support.paths import ROOT

EVENT = b'{"type":"decision.recorded.v1","data":{"decision_id":"d1","decision":"ship it","confidence":0.7}}\n'


@pytest.mark.trial("C14")
@pytest.mark.parametrize("name", ["README.md", "manifest.json", "checkpoint", "leaves", "events.ndjson"])
@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_an_export_with_another_kind_of_file_ends(tmp_path: Path, name: str, kind: str) -> None:
    ledger, out = tmp_path / "t.db", tmp_path / "out"
    done(ledger, "append", "-", given=EVENT)
    done(ledger, "export", "--output", out)
    (out / name).unlink()
    if kind == "fifo":
        os.mkfifo(out / name)
    else:
        (out / name).symlink_to("/dev/zero")
    for words in (("verify", out), ("import", "ledger", out)):
        ended = tally(tmp_path / "new.db", *words)
        assert ended.code in {1, 2}, ended
        assert "not a regular file" in ended.text + ended.err
    assert not (tmp_path / "new.db").exists()


@pytest.mark.slow
@pytest.mark.trial("C14")
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize(("item", "count"), [(b'"a":1,', 2_000_000), (b" ", 200 << 20)], ids=["items", "bytes"])
def test_a_manifest_bomb_is_refused(tmp_path: Path, item: bytes, count: int, *, packed: bool) -> None:
    bomb = b'{"types":{' + item * count
    out = tmp_path / ("out.zip" if packed else "out")
    if packed:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("manifest.json", bomb)
    else:
        out.mkdir()
        (out / "manifest.json").write_bytes(bomb)
    ended = measured("verify", out)
    assert ended.code == 2, ended
    assert "manifest.json" in ended.err
    assert ended.resident_bytes < 200 * MB, f"{ended.resident_bytes:,}"


BIDI = "a\u202eb\u2066c\u2069d\u200fe"
HOSTILE = f"ship{BIDI} \x00nul \x9bc1 \x1b[31mred \x7fdel"


def appended(ledger: Path) -> None:
    """Append decisions whose texts have control characters."""
    event = {
        "type": "decision.recorded.v1",
        "data": {"decision_id": "d1", "decision": HOSTILE, "confidence": 0.7, "category": f"cat{BIDI}"},
    }
    done(ledger, "append", "-", given=msgspec.json.encode(event))


HIDDEN: Callable[[str], bool] = lambda text: any(  # noqa: E731 - one expression
    (ord(letter) < 32 and letter not in "\n\t") or 0x7F <= ord(letter) < 0xA0 or letter in "\u200f\u202e\u2066\u2069"
    for letter in text
)


@pytest.mark.trial("C14")
@pytest.mark.parametrize(
    "words",
    [("decisions",), ("decision", "d1"), ("calibration",), ("decisions", "--search", "ship"), ("status",),
     ("decision", "d1", "--json"), ("decisions", "--json"), ("calibration", "--group-by", "category", "--json")],
    ids=" ".join,
)  # fmt: skip
def test_control_characters_are_escaped(tmp_path: Path, words: tuple[str, ...]) -> None:
    ledger = tmp_path / "t.db"
    appended(ledger)
    text = done(ledger, *words).text
    assert not HIDDEN(text), ascii(text)
    if "--json" in words and "decision" in words[0]:
        assert HOSTILE in str(msgspec.json.decode(text).values()) or repr(HOSTILE) in str(msgspec.json.decode(text))
        assert "\\u202e" in text


@pytest.mark.slow
@pytest.mark.trial("C14")
def test_stored_lines_stay_as_they_are_in_a_pipe_and_are_escaped_on_a_terminal(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    appended(ledger)
    raw = done(ledger, "log", "--json").text
    assert "\u202e" in raw
    words = shlex.join(command(ledger, "log", "--json"))
    shown = subprocess.run(
        ["script", "-qec", words, "/dev/null"], cwd=ROOT, env=environment(), capture_output=True, check=True
    ).stdout.decode()
    assert not HIDDEN(shown.replace("\r\n", "\n")), ascii(shown)
    assert "\\u202e" in shown


@pytest.mark.trial("C14")
def test_errors_are_escaped(tmp_path: Path) -> None:
    said = refused(tmp_path / f"no{BIDI}.db", "decisions")
    assert not HIDDEN(said), ascii(said)
