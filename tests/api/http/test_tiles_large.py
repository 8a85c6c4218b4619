"""The tree of 70,000 events as it is served: its tiles, its lines, and what Go's own verifier says of it."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ledger.sqlite.log import SqliteLog
from ledger.transparency.merkle import leaf_hash, perfect_root
from ledger.transparency.signed_note import Signer, Verifier
from ledger.transparency.tiles import TileAddress, split_hashes, tile_width
from tests.support.drafts import batch_of
from tests.support.event_loop import run
from tests.support.server import Served, served

pytestmark = pytest.mark.slow

SIZE = 70_000
BATCH = 2_000

GO_VERSION_MIN = (1, 27, 3)
"""Versions before have a `tlog` that takes one tile's word for another's."""

SUMDB = Path("src/cmd/vendor/golang.org/x/mod/sumdb")
"""Where a Go toolchain has the code that verifies Go's checksum database."""

TIMES = 20
SEED = 70_000


def go_root() -> Path | None:
    """The folder of the Go toolchain that is on the PATH; None where it is too old, or without sources."""
    found = shutil.which("go")
    root = Path(found).resolve().parent.parent if found is not None else Path()
    if found is None or not (root / SUMDB).is_dir():
        return None
    matched = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", (root / "VERSION").read_text(encoding="utf-8"))
    version = tuple(int(part or 0) for part in matched.groups()) if matched is not None else (0,)
    return root if version >= GO_VERSION_MIN else None


GO = go_root()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "ledger.db"
    run(filled(path))
    return path


@pytest.fixture(scope="module")
def server(ledger: Path) -> Iterator[Served]:
    with served(ledger) as running:
        yield running


@pytest.fixture(scope="module")
def client(served_client: httpx.Client) -> httpx.Client:
    """A client of the server process."""
    return served_client


async def filled(ledger: Path) -> None:
    log = await SqliteLog.open(ledger)
    for start in range(0, SIZE, BATCH):
        await log.append(batch_of(BATCH, f"{start}-"))
    await log.close()


def lines_of(bundled: bytes) -> Iterator[bytes]:
    """The lines of an entry bundle."""
    start = 0
    while start < len(bundled):
        end = start + 2 + int.from_bytes(bundled[start : start + 2])
        yield bundled[start + 2 : end]
        start = end


def test_the_tree_of_70_000_is_served_as_its_specification_cuts_it(client: httpx.Client) -> None:
    """273 full tiles and one of 112 at level 0, a full one and one of 17 at level 1, one of 1 at level 2."""
    expected = {**{(0, number): 256 for number in range(273)}, (0, 273): 112, (1, 0): 256, (1, 1): 17, (2, 0): 1}
    widths = {(level, number): tile_width(level, number, SIZE) for level in range(3) for number in range(300)}
    assert {tile: width for tile, width in widths.items() if width} == expected
    held: dict[tuple[int, int], list[bytes]] = {}
    for (level, number), width in expected.items():
        answer = client.get(f"/tile/{level}/{TileAddress(number, width)}")
        assert answer.status_code == 200, (level, number)
        assert len(answer.content) == width * 32
        held[level, number] = split_hashes(answer.content)
    for number in range(274):
        bundled = client.get(f"/tile/entries/{TileAddress(number, expected[0, number])}").content
        assert [leaf_hash(line) for line in lines_of(bundled)] == held[0, number]
    assert held[1, 0] + held[1, 1] == [perfect_root(held[0, number]) for number in range(273)]
    assert held[2, 0] == [perfect_root(held[1, 0])]
    for path in ("0/273", "0/273.p/113", "0/274.p/1", "1/001", "1/001.p/18", "1/002.p/1", "2/000", "2/000.p/2"):
        assert client.get(f"/tile/{path}").status_code == 404, path
    assert [client.get(f"/tile/{level}/000.p/1").status_code for level in range(3, 64)] == [404] * 61


def built(root: Path, folder: Path) -> Path:
    """The program beside this file, made in a module of its own with the packages of a Go toolchain."""
    for package in ("tlog", "note"):
        shutil.copytree(root / SUMDB / package, folder / "sumdb" / package)
    shutil.copy(Path(__file__).with_name("verifier") / "main.go", folder)
    (folder / "go.mod").write_text("module verifier\n\ngo 1.27\n", encoding="utf-8")
    settings = {
        "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOENV": "off", "GOWORK": "off",
        "CGO_ENABLED": "0", "GOCACHE": str(folder / "cache"), "HOME": str(folder),
    }  # fmt: skip
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("GO", "XDG_"))}
    command = [str(root / "bin" / "go"), "build", "-gcflags=all=-N -l", "-ldflags=-s -w", "."]
    subprocess.run(command, cwd=folder, env=outside | settings, check=True)
    return folder / "verifier"


@pytest.mark.skipif(GO is None, reason="there is no Go of 1.27.3 or newer: see CONTRIBUTING.md")
def test_the_verifier_of_gos_checksum_database_takes_the_tree(server: Served, ledger: Path, tmp_path: Path) -> None:
    assert GO is not None
    program = str(built(GO, tmp_path))
    key = Signer.parse(ledger.with_name(f"{ledger.name}.key").read_text(encoding="utf-8").strip()).verifier

    def verify(verifier: Verifier) -> subprocess.CompletedProcess[str]:
        command = [program, server.url.removeprefix("http://"), str(verifier), str(SEED), str(TIMES)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    said = verify(key)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("70000 events, root ")
    assert said.stdout.endswith(f": {TIMES} lines and {TIMES} older trees hold\n")
    other = verify(Signer.make(key.name).verifier)
    assert other.returncode == 1
    assert "no verifiable signatures" in other.stderr
