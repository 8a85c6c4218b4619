"""Open one ledger service for each fuzzing module, with the HTTP application on it, in this process."""

from collections.abc import Iterator

import pytest

from tests.fuzz.in_process import InProcess


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with InProcess(tmp_path_factory.mktemp("fuzzed") / "ledger.db") as ledger:
        yield ledger
