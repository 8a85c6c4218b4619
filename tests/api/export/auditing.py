"""An auditor of exports, who has only the folder, its README, and Python."""

import re
import sys
from contextlib import chdir, redirect_stdout
from hashlib import sha256
from io import StringIO
from pathlib import Path
from types import CodeType
from warnings import catch_warnings, simplefilter

import msgspec

_program = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def programs(folder: Path) -> list[str]:
    """The programs of an export's README: that of the events, that of the signature."""
    return _program.findall((folder / "README.md").read_text(encoding="utf-8"))


def audit(folder: Path, *, signature: bool = False) -> str:
    """Run a program of the README in the folder; what it says. Where something is wrong, that begins with WRONG."""
    program = compile(programs(folder)[signature], "README.md", "exec")
    with catch_warnings():
        simplefilter("ignore", ResourceWarning)  # a program's files are closed when it ends
        return _said(program, folder)


def _said(program: CodeType, folder: Path) -> str:
    said, names = StringIO(), {"__name__": "__main__"}
    ours, sys.argv = sys.argv, ["README.md"]
    try:
        with chdir(folder), redirect_stdout(said):
            exec(program, names)
    except SystemExit as end:
        return f"{end}"
    except (ValueError, LookupError) as error:
        return f"WRONG: {error!r}"
    finally:
        sys.argv = ours
        names.clear()
    return said.getvalue()


def reseal(folder: Path) -> None:
    """Recompute the checksums of the files, as an attacker would after changing them."""
    path = folder / "manifest.json"
    manifest = msgspec.json.decode(path.read_bytes())
    for name in manifest["files"]:
        data = (folder / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    path.write_bytes(msgspec.json.encode(manifest))
