"""A small installed package with entry points, as pip leaves it in a folder: modules and a `dist-info`."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent


def install(folder: Path, name: str, version: str, code: str, points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the module `name` and its metadata into a folder for PYTHONPATH. `points` has objects by group and name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(dedent(code))
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in named.items())
        for group, named in points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    (info / "RECORD").write_text("")
    (info / "INSTALLER").write_text("test\n")
