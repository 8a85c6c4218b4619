"""An export takes the memory of its pages, whatever the size of the log."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

SLACK_KIB = 9 << 10
"""How much two runs of the same may differ; the lines of the larger log are 17 MB more."""

PROGRAM = """
import asyncio, resource, sys
from pathlib import Path
from api.export import open_export, parse_selection, write_export
from api.service.ledger import LedgerService

async def main(ledger, output, **parameters):
    ledger_service = await LedgerService.open(Path(ledger), writable=False, views=False)
    async with open_export(ledger_service, parse_selection(parameters)) as export:
        await write_export(export, Path(output), lambda done, total: None)
    await ledger_service.close()

asyncio.run(main(sys.argv[1], sys.argv[2], **dict(pair.split("=") for pair in sys.argv[3:])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("asked", [["output.zip"], ["output", "agent=agent-1", "format=csv", "gzip=true"]], ids=str)
def test_memory_does_not_grow_with_the_log(small: Path, large: Path, tmp_path: Path, asked: list[str]) -> None:
    peaks: list[int] = []
    for number, path in enumerate((small, large)):
        output = tmp_path / f"{number}-{asked[0]}"
        words = [sys.executable, "-c", PROGRAM, str(path), str(output), *asked[1:]]
        peaks.append(int(subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout))
    assert peaks[1] < peaks[0] + SLACK_KIB, peaks
