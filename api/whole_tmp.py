"""A file that is written whole or not at all."""

import os
from pathlib import Path


def write_whole(path: Path, text: str, *, replace: bool) -> None:
    """Write a text as UTF-8 in place of what is there, or only where nothing is. Errors: OSError, FileExistsError."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode())
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
