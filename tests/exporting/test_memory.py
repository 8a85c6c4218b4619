"""An export takes the memory of its pages, whatever the size of the log."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from api.operations import House
from benchmarks import ledgers
from tests.serving import ROOT

SMALL, LARGE = 10_000, 60_000

SLACK_KIB = 9 << 10
"""How much two runs of the same may differ; the lines of the larger log are 19 MB more."""

PROGRAM = """
import asyncio, resource, sys
from pathlib import Path
from api.exporting import opened, place, selection_of
from api.operations import House

async def main(ledger, output, **parameters):
    house = await House.open(Path(ledger), writable=False, views=False)
    async with opened(house, selection_of(parameters)) as export:
        await place(export, Path(output), lambda done, total: None)
    await house.close()

asyncio.run(main(sys.argv[1], sys.argv[2], **dict(pair.split("=") for pair in sys.argv[3:])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A small log, and a large one, both signed."""
    folder = tmp_path_factory.mktemp("grown")
    paths = {size: folder / f"{size}.db" for size in (SMALL, LARGE)}

    async def sign(path: Path, size: int) -> None:
        house = await House.open(path, writable=True, views=False)
        await house.proving.checkpoint(size)
        await house.close()

    for size, path in paths.items():
        asyncio.run(ledgers.make(path, size))
        asyncio.run(sign(path, size))
    return paths


@pytest.mark.parametrize("asked", [["output.zip"], ["output", "agent=agent-1", "format=csv", "gzip=true"]], ids=str)
def test_memory_does_not_grow_with_the_log(grown: dict[int, Path], tmp_path: Path, asked: list[str]) -> None:
    peaks: dict[int, int] = {}
    for size, path in grown.items():
        output = tmp_path / f"{size}-{asked[0]}"
        words = [sys.executable, "-c", PROGRAM, str(path), str(output), *asked[1:]]
        peaks[size] = int(subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout)
    assert peaks[LARGE] < peaks[SMALL] + SLACK_KIB, peaks
