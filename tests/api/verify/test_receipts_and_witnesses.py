"""verify --since with a receipt, verify --witness, and the cosigned checkpoint in an export."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.transparency.checkpoints import witnessed_path
from ledger.transparency.signed_note import SignedCheckpoint, SignedNote
from tests.api.cli.command import done, refused, tally
from tests.api.verify.exported import edit, manifest_of, restate
from tests.support.server import serving
from tests.support.witness import Witness, witnessing

pytestmark = pytest.mark.slow

EVENTS = [
    b'{"type":"decision.recorded.v1","data":{"decision_id":"d%d","decision":"ship it","confidence":0.7}}\n' % number
    for number in range(300)
]

KEYLESS = "no checkpoint here has a cosignature of witness.example/w1"


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    """A witness that has cosigned the first 260 of the 300 events of `t.db`."""
    ledger = tmp_path / "t.db"
    key = done(ledger, "key", "make", "--origin", "ledger.example/one").text.strip()
    with witnessing(Witness("witness.example/w1", key)) as running:
        done(ledger, "append", "-", given=b"".join(EVENTS[:260]))
        done(ledger, "receipt", 7, "--output", tmp_path / "early.tlog-proof")
        done(ledger, "witness", "--url", running.url, "--key", running.key)
        done(ledger, "receipt", 7, "--output", tmp_path / "cosigned.tlog-proof")
        done(ledger, "append", "-", given=b"".join(EVENTS[260:]))
        done(ledger, "checkpoint")
        yield running


@pytest.mark.trial("C11")
@pytest.mark.parametrize("receipt", ["early.tlog-proof", "cosigned.tlog-proof"])
def test_a_receipt_is_an_earlier_checkpoint(tmp_path: Path, witness: Witness, receipt: str) -> None:
    ledger, since = tmp_path / "t.db", tmp_path / receipt
    key = done(ledger, "key", "show").text.strip()
    done(ledger, "export", "--output", tmp_path / "out.zip")
    done(ledger, "verify", "--since", since, "--key", key)
    done(ledger, "verify", tmp_path / "out.zip", "--since", since, "--key", key)
    with serving(ledger) as url:
        done(ledger, "verify", "--url", url, "--since", since, "--key", key)
        done(ledger, "verify", "--url", url, "--since", since, "--key", key, "--witness", witness.key)


@pytest.mark.trial("C11")
def test_a_receipt_of_another_history_is_not_continued(tmp_path: Path, witness: Witness) -> None:
    ledger, other = tmp_path / "t.db", tmp_path / "other.db"
    shutil.copy(f"{ledger}.key", f"{other}.key")
    done(other, "append", "-", given=b"".join(reversed(EVENTS)))
    done(other, "checkpoint")
    ended = tally(other, "verify", "--since", tmp_path / "early.tlog-proof")
    assert ended.code == 1
    assert "the earlier checkpoint" in ended.text
    receipt = (tmp_path / "early.tlog-proof").read_bytes()
    (tmp_path / "moved.tlog-proof").write_bytes(receipt.replace(b"\nindex 6\n", b"\nindex 5\n"))
    ended = tally(ledger, "verify", "--since", tmp_path / "moved.tlog-proof")
    assert ended.code == 1
    assert "First at position 6: its event is not the one that its checkpoint covers" in ended.text
    (tmp_path / "cut.tlog-proof").write_bytes(receipt[:60])
    assert "is a damaged receipt" in refused(ledger, "verify", "--since", tmp_path / "cut.tlog-proof")


@pytest.mark.trial("C11")
def test_a_witness_is_required(tmp_path: Path, witness: Witness) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "w1.vkey"
    file.write_text(witness.key + "\n")
    done(ledger, "export", "--output", tmp_path / "out.zip")
    done(ledger, "export", "--subject", "decision/d3", "--output", tmp_path / "chosen.zip")
    for export in ((), (tmp_path / "out.zip",), (tmp_path / "chosen.zip",)):
        for key in (witness.key, file):
            ended = done(ledger, "verify", *export, "--witness", key)
            assert "witness.example/w1 cosigned the first 260 events at 20" in ended.text
    stranger = Witness("witness.example/w1", done(ledger, "key", "show").text.strip())
    stranger.server.server_close()
    ended = tally(ledger, "verify", "--witness", witness.key, "--witness", stranger.key)
    assert (ended.code, KEYLESS in ended.text) == (1, True)
    assert "is not a witness key" in refused(ledger, "verify", "--witness", done(ledger, "key", "show").text.strip())
    assert "not a key" in refused(ledger, "verify", "--witness", tmp_path / "nowhere")
    witnessed_path(ledger).unlink()
    assert KEYLESS in tally(ledger, "verify", "--witness", witness.key).text


@pytest.mark.trial("C11")
def test_a_wrong_cosignature_is_named(tmp_path: Path, witness: Witness) -> None:
    ledger, note = tmp_path / "t.db", witnessed_path(tmp_path / "t.db")
    stored = SignedCheckpoint.parse(note.read_bytes()).note
    own, cosigned = stored.signatures
    forged = cosigned._replace(signature=bytes(8) + cosigned.signature[8:])
    note.write_bytes(SignedNote(stored.text, (own, forged)).encode())
    ended = tally(ledger, "verify", "--witness", witness.key)
    assert ended.code == 1
    assert "the cosignature of witness.example/w1 in t.db.witnessed is not one of the key" in ended.text
    assert "was changed by another program" in tally(ledger, "export", "--output", tmp_path / "out.zip").err


@pytest.mark.trial("C11")
def test_an_export_has_the_cosigned_checkpoint(tmp_path: Path, witness: Witness) -> None:
    ledger = tmp_path / "t.db"
    note = witnessed_path(ledger).read_bytes()
    for name, filters in (("whole", ()), ("chosen", ("--subject", "decision/d3"))):
        export = tmp_path / name
        done(ledger, "export", *filters, "--output", export)
        assert (export / "checkpoint.witnessed").read_bytes() == note
        done(ledger, "verify", export, "--witness", witness.key)
        program = (export / "README.md").read_text().split("```python\n")[3].split("```")[0]
        ran = subprocess.run(
            [sys.executable, "-c", program, witness.key], cwd=export, capture_output=True, text=True, check=False
        )
        assert "the first 260 events cosigned by witness.example/w1 at 20" in ran.stdout, ran.stderr
        edit(export, "checkpoint.witnessed", lambda data: data.replace(b"\n260\n", b"\n261\n"))
        restate(export)
        ended = tally(ledger, "verify", export)
        assert ended.code == 1
        assert "checkpoint.witnessed" in ended.text
    assert json.loads((tmp_path / "chosen" / "manifest.json").read_bytes())["witnessed"]["size"] == 260
    export = tmp_path / "whole"
    (export / "checkpoint.witnessed").unlink()
    restate(export, files={key: value for key, value in manifest_of(export).files.items() if "witn" not in key})
    assert KEYLESS in tally(ledger, "verify", export, "--witness", witness.key).text
