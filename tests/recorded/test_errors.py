"""Every class of error has the codes that were published: those that no recorded request meets, too."""

from pathlib import Path

import msgspec

from api.errors import ERROR_TABLE, problem_name

PUBLISHED = Path(__file__).with_name("errors.json")
"""For the end of each problem's `type`: the HTTP status, the JSON-RPC code and the exit code."""


def test_errors_have_the_published_codes() -> None:
    published = msgspec.json.decode(PUBLISHED.read_bytes(), type=dict[str, tuple[int, int, int]])
    found = {problem_name(error.__name__): (row.status, row.rpc, row.exit) for error, row in ERROR_TABLE.items()}
    assert found == {**found, **published}
