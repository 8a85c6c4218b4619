"""Servers with webhooks, and how the events in their logs ended."""

from collections.abc import Sequence
from pathlib import Path

import httpx
import msgspec
import pytest

from api.service.webhooks import endpoint_store
from api.service.webhooks.endpoint_store import Pace
from ledger.clock import system_clock
from tests.api.cli.command import done
from tests.api.http import short_webhook_waits
from tests.api.http.posted_evaluations import finished, fresh, scored, started
from tests.api.http.posts import Json
from tests.support.server import Served

MODULE = short_webhook_waits.__name__
QUICK = ("--allow-private", "--first-wait", "0.1", "--longest-wait", "1", "--timeout", "60")
"""Options of a webhook that is tried again soon, and that waits for a busy receiver: it gets nothing twice."""


def added(ledger: Path, url: str, *options: str) -> tuple[str, str]:
    """Add a webhook; its id and its secret."""
    answer = msgspec.json.decode(done(ledger, "webhook", "add", url, *options, "--json").out)
    return answer["id"], answer["secret"]


def add_unchecked(ledger: Path, url: str, pace: Pace | None = None) -> str:
    """Add a webhook whose name leads to a private address, which the command refuses if it knows; its id."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(endpoint_store, "check_url", lambda *_, **__: None)
        store = endpoint_store.EndpointStore(ledger)
        return store.add(url, ("gate",), 0, system_clock(), allow_private=False, pace=pace or Pace()).id


def judge(server: Served, count: int, suite: str = "suite") -> None:
    """Post as many evaluations; the gate judges each but the first one of the suite."""
    for _ in range(count):
        run = fresh()
        events = [started(run, suite, agent="triage"), scored(run, "one", 80.0), finished(run)]
        assert httpx.post(f"{server.url}/events", json=events).status_code == 201


def events_of(ledger: Path, *types: str) -> list[Json]:
    """The events of some types, in the order of the log."""
    lines = done(ledger, "log", "--limit", "1000").out.splitlines()
    found = [msgspec.json.decode(line) for line in lines]
    return [event for event in found if event["type"] in types]


def ends_of(ledger: Path, endpoint: str) -> list[tuple[str, int]]:
    """How the events of an endpoint ended: `delivered` or `abandoned`, and the position, in order."""
    ended = events_of(ledger, "webhook.delivered.v1", "webhook.abandoned.v1")
    mine = [event for event in ended if event["data"]["endpoint_id"] == endpoint]
    return [(event["type"].split(".")[1], event["data"]["event_position"]) for event in mine]


def verdicts(ledger: Path) -> Sequence[int]:
    """The positions of the gate's verdicts."""
    return [event["position"] for event in events_of(ledger, "alert.gate_judged.v1")]


def state_of(ledger: Path, endpoint: str) -> Json:
    """What `webhook show` says."""
    state: Json = msgspec.json.decode(done(ledger, "webhook", "show", endpoint, "--json").out)
    return state
