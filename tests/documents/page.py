"""A page of the documents, cut into what is run and what it prints.

Comments in a page say what it needs; they show neither on GitHub nor in the manual:

    <!-- run: server -->            from here on a server runs over tallystick.db; more words are options of `serve`,
                                    in which STATE is a folder
    <!-- run: postgres -->          from here on a PostgreSQL runs at db.example.com; without one the page is not run
    <!-- run: after PAGE -->        the blocks of another page are run first, in the same folder
    <!-- run: with FILE -->         a file of shared/data is put into the folder; without it the page is not run
    <!-- run: not, REASON -->       the block that follows is not run

A `sh` block is pasted into a shell of its own. The `python` blocks of a page are one program: a later one knows the
names of an earlier one. A `text` block right behind either is what it prints.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT, SHARED

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]
"""README, and every page of the manual."""

_part = re.compile(
    r"^<!-- run: (?P<need>.+?) -->$|^```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Need:
    """A comment that says what the page needs: its first word, and the others."""

    kind: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, and the place of the text in the page (0-based characters)."""

    language: str
    text: str
    start: int
    end: int

    @property
    def runs(self) -> bool:
        return self.language in ("sh", "python")


def name_of(path: Path) -> str:
    """Return the name of a page: its path in the repository."""
    return path.relative_to(ROOT).as_posix()


def parts(page: str) -> Iterator[Need | Block]:
    """Yield the needs and blocks of a page in their order, without blocks that do not run."""
    skipped = False
    for found in _part.finditer(page):
        if found["need"] is not None:
            kind, *words = found["need"].replace(",", " ").split()
            skipped = kind == "not"
            if not skipped:
                yield Need(kind, tuple(words))
        elif skipped:
            skipped = False
        else:
            yield Block(found["language"], found["text"], *found.span("text"))


def needs_postgres(page: str) -> bool:
    """Whether a page needs a PostgreSQL."""
    return any(isinstance(part, Need) and part.kind == "postgres" for part in parts(page))


def files_needed(page: str) -> list[Path]:
    """List the files of shared/data that a page needs."""
    return [SHARED / part.words[0] for part in parts(page) if isinstance(part, Need) and part.kind == "with"]
