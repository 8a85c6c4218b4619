"""The programs of PostgreSQL that tests run, and the user that runs them: PostgreSQL refuses root.

As a program it prints their folder, or why it has none, with the exit code 1. It needs only the standard library.
"""

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "TALLYSTICK_POSTGRES_BIN"
"""The environment variable that names the folder of the programs. Without it, the newest version is used."""

VERSION_MIN = 15
NEEDED = ("initdb", "postgres", "pg_basebackup", "psql")
USERS = ("postgres", "nobody")

MISSING = (
    f"PostgreSQL {VERSION_MIN} or newer is not installed ({', '.join(NEEDED)}): see CONTRIBUTING.md. "
    f"{VARIABLE} names the folder of its programs."
)

_version = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")


class Account(NamedTuple):
    """The user that runs PostgreSQL, by number."""

    user: int
    group: int

    def options(self) -> dict[str, Any]:
        """What a `subprocess.Popen` needs to run a program as this user, and not as root."""
        same = self.user == os.geteuid()
        return {} if same else {"user": self.user, "group": self.group, "extra_groups": []}


def server_account() -> Account:
    """We ourselves; if we are root, the user `postgres`, or `nobody`."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    found = {entry.pw_name: Account(entry.pw_uid, entry.pw_gid) for entry in pwd.getpwall() if entry.pw_name in USERS}
    return next(found[name] for name in USERS if name in found)


def environment() -> dict[str, str]:
    """Our environment without the variables that would direct PostgreSQL's programs elsewhere."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PG")}, "LC_ALL": "C"}


@cache
def postgres_folder() -> Path | None:
    """The folder of the programs; None where no version that we can use is installed."""
    named = os.environ.get(VARIABLE)
    versions = {folder: _version_of(folder) for folder in ([Path(named)] if named else dict.fromkeys(_installed()))}
    fit = {folder: version for folder, version in versions.items() if version >= (VERSION_MIN, 0)}
    return max(fit, key=lambda folder: fit[folder]) if fit else None


def _installed() -> Iterator[Path]:
    """Folders that may have the programs."""
    if program := shutil.which("pg_config"):
        said = subprocess.run([program, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(said.stdout.strip())
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    yield from (Path(found).resolve().parent for name in NEEDED if (found := shutil.which(name)))


def _version_of(folder: Path) -> tuple[int, int]:
    """The version of the programs in a folder, such as (15, 18); (0, 0) where one is missing."""
    if not all(os.access(folder / name, os.X_OK) for name in NEEDED):
        return 0, 0
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    found = _version.search(said)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


if __name__ == "__main__":
    found = postgres_folder()
    sys.exit(MISSING if found is None else print(found))
