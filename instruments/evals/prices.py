"""Prices of language models, from a file: what an answer cost, if it states its tokens but no cost.

The file is YAML, or JSON if its name ends in `.json`: an object from the name of a model to its two prices, in US
dollars per million tokens.

    gpt-4o:
      input_usd_per_million: 2.5
      output_usd_per_million: 10
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from events.evaluation import COST_USD_MAX
from events.model_names import canonical_name, claim_key, is_unresolved
from instruments.evals.suite.json_yaml_reader import json_value, read_file, yaml_value
from instruments.evals.usage import Usage
from instruments.yaml_reader import UnreadableFile

PRICES_BYTES_MAX = 1024 * 1024
PRICE_USD_MAX = 1_000_000.0
"""The highest price of a million tokens, US dollars."""

_TOKENS_PRICED = 1_000_000
_FIELDS = ("input_usd_per_million", "output_usd_per_million")
_EXAMPLE = "Write it as gpt-4o: {input_usd_per_million: 2.5, output_usd_per_million: 10}."


class Price(NamedTuple):
    """The price of a million tokens of a model, US dollars."""

    input_usd: float
    output_usd: float


class PriceList:
    """Prices by the name of the model."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._by_name = {claim_key(name): price for name, price in prices.items()}
        canonical: dict[str, set[Price]] = {}
        for name, price in prices.items():
            canonical.setdefault(canonical_name(name), set()).add(price)
        self._by_canonical = {name: min(found) for name, found in canonical.items() if len(found) == 1}

    def find(self, model: str) -> Price | None:
        """Return the price of a model by its name, or by its canonical name if all entries of that name agree."""
        exact = self._by_name.get(claim_key(model))
        return self._by_canonical.get(canonical_name(model)) if exact is None else exact

    def cost_usd(self, usage: Usage, model: str) -> float | None:
        """Return the cost of stated tokens, US dollars; None if the price or a number of tokens is not known."""
        price = self.find(model)
        if price is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        cost = (usage.input_tokens * price.input_usd + usage.output_tokens * price.output_usd) / _TOKENS_PRICED
        return cost if cost <= COST_USD_MAX else None


def load_prices(path: Path) -> PriceList:
    """Read a file of prices. Errors: UnreadableFile, naming the model and the key."""
    body = read_file(path, PRICES_BYTES_MAX)
    value = json_value(body) if path.suffix == ".json" else yaml_value(body)
    if not isinstance(value, dict) or not value:
        raise UnreadableFile("has no prices by the name of a model", _EXAMPLE)
    prices: dict[str, Price] = {}
    written: dict[str, str] = {}
    for model, price in value.items():
        if is_unresolved(model):
            raise UnreadableFile(f"has prices for {model!r}, which names no model", "Write the name of a model.")
        if (other := written.setdefault(claim_key(model), model)) != model:
            raise UnreadableFile(f"has prices for {other!r} and for {model!r}, the same model", "Keep one.")
        prices[model] = _price(model, price)
    return PriceList(prices)


def _price(model: str, value: Any) -> Price:  # noqa: ANN401 - a value of a file
    if not isinstance(value, dict):
        raise UnreadableFile(f"has no two prices for {model!r}", _EXAMPLE)
    unknown = [key for key in value if key not in _FIELDS]
    missing = [key for key in _FIELDS if key not in value]
    if unknown:
        raise UnreadableFile(f"has an unknown key for {model!r}: {unknown[0]!r}", f"Write {' and '.join(_FIELDS)}.")
    if missing:
        raise UnreadableFile(f"has no {missing[0]} for {model!r}", _EXAMPLE)
    return Price(*(_amount(model, key, value[key]) for key in _FIELDS))


def _amount(model: str, key: str, value: Any) -> float:  # noqa: ANN401 - a value of a file
    if type(value) in (int, float) and 0 <= value <= PRICE_USD_MAX:
        return float(value)
    problem = f"has {value!r:.40} as {key} of {model!r}, which is not a number from 0 to {PRICE_USD_MAX:,.0f}"
    raise UnreadableFile(problem, "Write US dollars for a million tokens.")
