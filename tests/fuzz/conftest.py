"""Open one ledger service for each fuzzing module, with the HTTP application on it, in this process."""

from collections.abc import Iterator

import pytest

from tests.fuzz.indoors import Indoors


@pytest.fixture(scope="module")
def indoors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indoors]:
    with Indoors(tmp_path_factory.mktemp("fuzzed") / "ledger.db") as ledger:
        yield ledger
