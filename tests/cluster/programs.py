"""The programs of a cluster: PostgreSQL, etcd, and Patroni with a Python that the user of the servers can start.

`python -m tests.cluster.programs` fetches Patroni from PyPI, in the versions of requirements-patroni.txt, and etcd from
Debian if it is not installed. Both are unpacked into `.venv/cluster`; nothing is installed into the system.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.paths import ROOT
from tests.support.postgres_programs import MISSING, postgres_folder, server_account

FETCHED = ROOT / ".venv" / "cluster"
"""The folder of what is fetched."""

LOCKED = ROOT / "requirements-patroni.txt"
FETCH = "make .venv/.cluster"
PATRONI_PYTHON_MIN = (3, 9)


class ProgramsMissing(Exception):
    """A program is missing; the text says which, and how to get it."""


class ClusterPrograms(NamedTuple):
    """Where the programs are: the folders of PostgreSQL and of Patroni's packages, its Python, and etcd."""

    postgres: Path
    patroni: Path
    python: Path
    etcd: Path

    def readable_in(self, folder: Path) -> "ClusterPrograms":
        """The same; what the user of the servers cannot read is copied into a folder."""
        patroni, etcd = self.patroni, self.etcd
        if not _as_server("test", "-r", patroni / "patroni" / "__main__.py"):
            patroni = shutil.copytree(patroni, folder / "patroni")
        if not _as_server("test", "-x", etcd):
            etcd = Path(shutil.copy(etcd, folder / "etcd"))
        return self._replace(patroni=patroni, etcd=etcd)


def find_programs() -> ClusterPrograms:
    """The programs. Errors: ProgramsMissing."""
    postgres = postgres_folder()
    if postgres is None:
        raise ProgramsMissing(MISSING)
    etcd = _etcd()
    if etcd is None:
        raise ProgramsMissing(f"etcd is not installed. `{FETCH}` fetches it, or: apt-get install etcd-server")
    packages = FETCHED / "patroni"
    if not (packages / "bin" / "patroni").exists():
        raise ProgramsMissing(f"Patroni is not installed. `{FETCH}` fetches it.")
    return ClusterPrograms(postgres, packages, _python(), etcd)


def missing_programs() -> str | None:
    """Why a cluster cannot be started here; None if it can."""
    try:
        find_programs()
    except ProgramsMissing as missing:
        return str(missing)
    return None


def fetch_programs() -> None:
    """Fetch Patroni and, if it is not installed, etcd. Errors: ProgramsMissing."""
    FETCHED.mkdir(parents=True, exist_ok=True)
    packages = FETCHED / "patroni"
    shutil.rmtree(packages, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(_python()), "install"]
    _fetch(*pip, "--root-user-action", "ignore", "--require-hashes", "--target", packages, "-r", LOCKED)
    if _etcd() is None:
        try:
            _fetch("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "etcd-server")
            for package in FETCHED.glob("etcd-server_*.deb"):
                _fetch("dpkg-deb", "-x", package, FETCHED)
        except ProgramsMissing as missing:
            raise ProgramsMissing(
                f"etcd cannot be fetched: {missing}. Install it: apt-get install etcd-server"
            ) from None


def _etcd() -> Path | None:
    """The program etcd, if it is installed or fetched."""
    found = shutil.which("etcd") or shutil.which("etcd", path=str(FETCHED / "usr" / "bin"))
    return Path(found) if found else None


def _python() -> Path:
    """The first Python that the user of the servers can start: as root, ours may be closed to it."""
    check = f"import sys, ssl, ctypes; sys.exit(sys.version_info < {PATRONI_PYTHON_MIN})"
    for python in _pythons():
        if _as_server(python, "-c", check):
            return python
    raise ProgramsMissing(
        f"The user with the number {server_account().user} cannot start a Python: apt-get install python3"
    )


def _pythons() -> Iterator[Path]:
    yield Path(sys.executable).absolute()
    yield from (Path(folder) / "python3" for folder in ("/usr/bin", "/usr/local/bin"))


def _as_server(*words: str | Path) -> bool:
    """Whether a command succeeds as the user that runs the servers."""
    try:
        return (
            subprocess.run(words, cwd="/", capture_output=True, check=False, **server_account().options()).returncode
            == 0
        )
    except OSError:
        return False


def _fetch(*words: str | Path) -> None:
    try:
        done = subprocess.run(words, cwd=FETCHED, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ProgramsMissing(f"{words[0]}: {error}") from error
    if done.returncode:
        raise ProgramsMissing(f"{Path(words[0]).name} ended with {done.returncode}: {done.stderr[-1000:]}")


if __name__ == "__main__":
    try:
        fetch_programs()
    except ProgramsMissing as missing:
        sys.exit(str(missing))
