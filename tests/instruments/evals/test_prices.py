"""Prices of models: read strictly, found by any of a model's names, and applied to stated tokens."""

from pathlib import Path

import pytest

from instruments.evals.prices import PriceList, load_prices
from instruments.evals.usage import Usage
from instruments.yaml_reader import UnreadableFile

USED = Usage(input_tokens=2_000_000, output_tokens=100_000)
TEXT = """
gpt-4o: {input_usd_per_million: 2.5, output_usd_per_million: 10}
anthropic/claude-sonnet-4-5:
  input_usd_per_million: 3
  output_usd_per_million: 15
free: {input_usd_per_million: 0, output_usd_per_million: 0}
"""


def prices_of(tmp_path: Path, text: str, name: str = "prices.yaml") -> PriceList:
    path = tmp_path / name
    path.write_text(text)
    return load_prices(path)


def refused(tmp_path: Path, text: str, name: str = "prices.yaml") -> str:
    with pytest.raises(UnreadableFile) as caught:
        prices_of(tmp_path, text, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("gpt-4o", 6.0),
        ("GPT-4o ", 6.0),
        ("openai/gpt-4o-2024-08-06", 6.0),
        ("claude-sonnet-4.5", 7.5),
        ("free", 0.0),
        ("gpt-4o-mini", None),
        ("unknown", None),
    ],
)
def test_a_cost_is_that_of_the_tokens_at_the_price_of_the_model(tmp_path: Path, model: str, cost: float | None) -> None:
    assert prices_of(tmp_path, TEXT).cost_usd(USED, model) == cost


def test_a_number_of_tokens_that_is_missing_leaves_the_cost_missing(tmp_path: Path) -> None:
    prices = prices_of(tmp_path, TEXT)
    assert prices.cost_usd(Usage(input_tokens=5), "gpt-4o") is None
    assert prices.cost_usd(Usage(output_tokens=5), "free") is None
    assert prices.cost_usd(Usage(input_tokens=2**53 - 1, output_tokens=0), "gpt-4o") is None, (
        "beyond what an event holds"
    )


def test_dated_names_with_prices_of_their_own_are_not_confused(tmp_path: Path) -> None:
    prices = prices_of(
        tmp_path,
        '{"gpt-4o-2024-05-13": {"input_usd_per_million": 5, "output_usd_per_million": 0},'
        ' "gpt-4o-2024-08-06": {"input_usd_per_million": 2.5, "output_usd_per_million": 0}}',
        "prices.json",
    )
    assert prices.cost_usd(USED, "gpt-4o-2024-05-13") == 10.0
    assert prices.cost_usd(USED, "gpt-4o-2024-08-06") == 5.0
    assert prices.cost_usd(USED, "gpt-4o") is None, "the two prices differ"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no prices by the name of a model"),
        ("- 1", "has no prices by the name of a model"),
        ("gpt-4o: 3", "has no two prices for 'gpt-4o'"),
        ("gpt-4o: {input_usd_per_million: 1}", "has no output_usd_per_million for 'gpt-4o'"),
        (
            "m: {input_usd_per_million: 1, output_usd_per_million: 1, cached: 1}",
            "has an unknown key for 'm': 'cached'",
        ),
        (
            "m: {input_usd_per_million: -1, output_usd_per_million: 1}",
            "has -1 as input_usd_per_million of 'm', which is not a number from 0 to 1,000,000",
        ),
        (
            "m: {input_usd_per_million: yes, output_usd_per_million: 1}",
            "has True as input_usd_per_million of 'm', which is not a number from 0 to 1,000,000",
        ),
        (
            "m: {input_usd_per_million: .nan, output_usd_per_million: 1}",
            "has nan as input_usd_per_million of 'm', which is not a number from 0 to 1,000,000",
        ),
        (
            (
                "M: {input_usd_per_million: 1, output_usd_per_million: 1}\n"
                "m: {input_usd_per_million: 1, output_usd_per_million: 1}"
            ),
            "has prices for 'M' and for 'm', the same model",
        ),
        (
            "unknown: {input_usd_per_million: 1, output_usd_per_million: 1}",
            "has prices for 'unknown', which names no model",
        ),
        ("m: {a: 1, a: 2}", "has the key 'a' twice, again in line 1"),
        ("m: [", "is not YAML: line 2: did not find expected node content"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    assert refused(tmp_path, text) == problem


def test_a_missing_file_and_broken_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cannot be read: No such file"):
        load_prices(tmp_path / "none.yaml")
    assert refused(tmp_path, "{", "prices.json").startswith("is not JSON")
