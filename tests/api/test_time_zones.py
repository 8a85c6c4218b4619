"""A time without a zone is refused in an event, and is UTC in a filter and a file to import, whose answers say so."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest

from tallystick.errors import InvalidArgument
from tallystick.event_drafts import Drafts, encode_json
from tallystick.operations import query_text
from tests.api.cli.command import done
from tests.api.cstp.client import Caller

NO_ZONE = "2026-03-29T02:30:00"
USED = "2026-03-29T02:30:00Z"
ADVICE = "Write Z for UTC, or an offset"
HERE = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001 - without a zone

pytestmark = pytest.mark.trial("P9")


@pytest.mark.parametrize(
    ("field", "event"),
    [("time", {"time": NO_ZONE, "data": {"decision": "x"}}), ("data.review_by", {"data": {"review_by": NO_ZONE}})],
)
def test_an_event_needs_a_zone(client: httpx.Client, field: str, event: dict[str, object]) -> None:
    answer = client.post("/events", json={"type": "decision.recorded.v1", **event})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert answer.json()["detail"] == f"{field}: the time has no zone."
    assert ADVICE in answer.json()["advice"]


@pytest.mark.parametrize("path", ["/decisions", "/calibration", "/events"])
def test_a_filter_is_in_utc_and_the_answer_says_so(client: httpx.Client, path: str) -> None:
    name = "tallystick-assumed-utc"
    assert client.get(path, params={"since": NO_ZONE}).headers[name] == f"since={USED}"
    for zoned in (USED, "2026-03-29", "2026-03-29T02:30:00+02:00"):
        assert name not in client.get(path, params={"since": zoned}).headers


def test_cstp_says_what_it_used(cstp: Caller) -> None:
    answer = cstp.result("getStats", {"dateFrom": NO_ZONE})
    assert answer["used"] == {"dateFrom": USED}


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_a_command_says_what_it_used(tmp_path: Path, zone: str) -> None:
    ledger, table = tmp_path / "t.db", tmp_path / "d.csv"
    table.write_text(f"decision,agent,time\nA,s,2026-03-29 02:30:00\nB,s,{NO_ZONE}\nC,s,{USED}\n")
    said = f"a time without a zone was read as UTC: {USED}. Write Z or an offset to say which it is.\n"
    assert done(ledger, "import", "decisions", table, TZ=zone).err == f"time: {said}"
    assert done(ledger, "decisions", "--since", NO_ZONE, TZ=zone).err.endswith(f"since: {said}")
    assert "zone" not in done(ledger, "decisions", "--since", USED).err


@pytest.mark.parametrize(
    ("name", "send"),
    [
        ("review_by", lambda: Drafts("s").record("x", {"review_by": HERE})),
        ("time", lambda: Drafts("s").review("d", "success", {"time": HERE})),
        ("[0].time", lambda: encode_json([{"time": HERE}])),
        ("since", lambda: query_text({"since": HERE})),
        ("as_of", lambda: query_text({"as_of": HERE})),
    ],
)
def test_the_client_refuses_it(name: str, send: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument, match=r"datetime\.now\(UTC\)") as refused:
        send()
    assert refused.value.field == name


def test_the_client_sends_any_zone() -> None:
    there = datetime(2026, 3, 29, 2, 30, tzinfo=timezone(timedelta(hours=2)))
    assert query_text({"since": there, "until": there.date()}) == {
        "since": "2026-03-29T00:30:00+00:00",
        "until": "2026-03-29",
    }
    assert b"2026-03-29T02:30:00Z" in encode_json([{"time": HERE.replace(tzinfo=UTC)}])
