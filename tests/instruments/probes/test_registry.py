"""The registry: which probes and scorers there are, and that a published probe never changes."""

import pytest

from instruments.probes import (
    FORMER_PROBE_IDS,
    PROBES,
    SCORERS,
    Probe,
    find_probe,
    scorer_name,
)
from tests.golden import PROBES as FOLDER
from tests.golden import bytes_of_probe, path_of_probe


def test_ids_are_found_and_unknown_ones_are_not() -> None:
    for probe in PROBES:
        assert find_probe(probe.id, probe.version) is probe
        assert find_probe(probe.id) is not None
        assert [SCORERS[scorer_name(scorer)] for scorer in probe.scorers] == list(probe.scorers)
        assert probe.scorers[0] is probe.scorer
        assert {scorer.id for scorer in probe.scorers} == {probe.scorer.id}
    assert find_probe("juggling") is None
    assert find_probe("debugging", "0") is None
    assert len({(probe.id, probe.version) for probe in PROBES}) == len(PROBES)
    assert {"debugging", "summarising", "weighting"} <= {probe.id for probe in PROBES}
    assert FORMER_PROBE_IDS["refactor-v1"] == "refactor-go"


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: f"{probe.id}@{probe.version}")
def test_a_published_probe_never_changes(probe: Probe) -> None:
    path = path_of_probe(probe)
    assert path.exists(), "run `python -m tests.golden`"
    assert bytes_of_probe(probe) == path.read_bytes(), (
        "scores of the same version are compared: make the probe a new version, and leave the file as it is"
    )


def test_no_published_probe_is_gone() -> None:
    assert {path_of_probe(probe) for probe in PROBES} == set(FOLDER.glob("*.json"))


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.id)
def test_the_prompt_holds_the_stimulus_and_names_no_model(probe: Probe) -> None:
    assert probe.stimulus in probe.prompt
    assert (probe.kind == "code") == (probe.language is not None)
    assert not any(word in probe.prompt.lower() for word in ("gpt", "claude", "gemini", "llama", "mistral", "deepseek"))
