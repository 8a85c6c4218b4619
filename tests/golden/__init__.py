"""The stored line of each published type, for ever: files are added, never edited.

`python -m tests.golden` writes the files that are missing, from tests/events/samples.py.
"""

from pathlib import Path

FOLDER = Path(__file__).parent


def path_of(type_: str) -> Path:
    """The golden file of a type."""
    return FOLDER / f"{type_}.json"
