"""A ledger file that version 0.1.0 wrote (commit 5d59643), with every event type, evidence, its key and snapshots.

Nobody makes `ledger.tar.xz` again: later versions must open it, verify it and compute the same figures. The private key
in it, which is also `test.key`, was made for these tests. It is public and protects nothing.
"""

import lzma
import tarfile
from pathlib import Path

FOLDER = Path(__file__).parent
ARCHIVE = FOLDER / "ledger.tar.xz"
FIGURES = FOLDER / "figures.jsonl"
"""What version 0.1.0 printed about that ledger: a line for each command."""

NAME = "ledger.db"
"""Name of the ledger's file in the archive. The names of the other files begin with it."""

COMMANDS = (
    ("calibration",), ("calibration", "--group-by", "category", "--min-decisions", "2"),
    ("calibration", "--agent", "ada", "--detail", "curves"), ("calibration", "--include", "trend,drift,comparison"),
    ("calibration", "--as-of", "300", "--since", "2026-06-01"), ("advice", "--agent", "bob", "--confidence", "0.9"),
    ("scoreboard",), ("inventory",), ("decisions", "--limit", "40"),
    ("decisions", "--search", "café slow", "--sort", "confidence", "--limit", "5"), ("decision", "3f2a9c1e"),
    ("run", "show", "live"), ("eval", "compare", "eval-0", "eval-1"), ("evidence", "list"), ("replay",),
)  # fmt: skip
"""Commands whose output is compared, each with `--json`."""


def beside(ledger: Path, ending: str) -> Path:
    """Return the path of a file beside a ledger: its `key`, its `checkpoint` and so on."""
    return ledger.with_name(f"{ledger.name}.{ending}")


def unpack(folder: Path) -> Path:
    """Write the old ledger into a folder, and return its path."""
    with lzma.open(ARCHIVE) as packed, tarfile.open(fileobj=packed) as files:
        files.extractall(folder, filter="data")
    return folder / NAME


def pack(ledger: Path) -> None:
    """Make the archive from a closed ledger and the files beside it. Errors: AssertionError, if there is an archive."""
    assert not ARCHIVE.exists(), f"{ARCHIVE} exists, and must not be made again"
    with (
        lzma.open(ARCHIVE, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w") as files,
    ):
        for path in sorted(ledger.parent.glob(f"{NAME}*")):
            if path.suffix not in {".lock", ".stderr"}:
                files.add(path, path.name, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner of a file."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
