"""Git repositories that a test makes, with the times that it states."""

import os
import subprocess
from pathlib import Path

DAY_S = 86_400
START_S = 1_767_225_600
"""2026-01-01, UTC."""


class MadeRepository:
    """A new repository; each change lands at the day that it names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, day: float = 0, author: str = "Ann <ann@example.org>") -> str:
        """Run git with this author and time; return what it prints."""
        name, _, address = author.removesuffix(">").partition(" <")
        time = f"{START_S + int(day * DAY_S)} +0000"
        environment = {
            "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": time,
            "GIT_COMMITTER_NAME": "Bo", "GIT_COMMITTER_EMAIL": "bo@example.org", "GIT_COMMITTER_DATE": time,
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        done = subprocess.run(
            ["git", "-C", str(self.path), *words], check=True, capture_output=True, env=os.environ | environment
        )
        return done.stdout.decode().strip()

    def change(
        self, files: dict[str, str], message: str = "Change it", *, day: float, author: str = "Ann <ann@example.org>"
    ) -> str:
        """Write files and commit them; return the id. A text is written with a line for each of its words."""
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text("".join(f"{word}\n" for word in text.split()), encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, day=day, author=author)
        return self.git("rev-parse", "HEAD")
