"""The file of prices that the user names."""

from pathlib import Path

from instruments.evals.prices import PriceList, load_prices
from instruments.yaml_reader import UnreadableFile
from ledger.errors import InvalidQuery


def read_prices(path: Path | None) -> PriceList | None:
    """Read the file of prices; None without one. Errors: InvalidQuery, with the file and the problem."""
    if path is None:
        return None
    try:
        return load_prices(path)
    except UnreadableFile as error:
        raise InvalidQuery("prices", f"{path} {error}", error.advice) from None
