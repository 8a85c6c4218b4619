"""One token that takes all it can, in short: the times are measured at full dose, where nothing else runs."""

from pathlib import Path

import pytest

from tests.faults.greedy import KINDS, MEMORY_MIB_MAX, measure

pytestmark = [pytest.mark.slow, pytest.mark.trial("C3"), pytest.mark.trial("C4"), pytest.mark.trial("C5")]


def test_others_are_served_while_one_token_takes_all_it_can(tmp_path: Path) -> None:
    figures = measure(tmp_path, 2, 20_000, lambda done, of: None).figures
    wrong = [str(value) for name, value in figures.items() if name.endswith("the first wrong")]
    assert not wrong, wrong
    for kind in KINDS:
        assert float(figures[f"{kind}: memory, MiB"]) <= MEMORY_MIB_MAX, figures
        assert float(figures[f"{kind}: single p99, ms"]) > 0
