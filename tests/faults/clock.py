"""A clock that jumps: by an hour, a day back, ten years, there and back, while events are posted.

I6: an event is recorded at the later of the clock and the newest event. So while the clock is behind the newest
event, every new event gets that event's recording time; after a jump of ten years and back, for ten years. Only the
recording time is inaccurate: positions define the order, and `time` is the client's if the client sends it.
"""

import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from events.registry import VOCABULARY
from tests.faults.lines import stored
from tests.faults.posting import Poster, event
from tests.faults.row import Fault, Outcome, Report
from tests.faults.shim import Shim, unfit
from tests.support.server import Served

HOUR_S = 3_600
DAY_S = 24 * HOUR_S
DECADE_S = 3_652 * DAY_S
SMALL_S = (HOUR_S, -HOUR_S, -DAY_S)
LARGE_S = (DECADE_S, -DECADE_S, *SMALL_S)
POSTS = 5
"""Posts after each jump."""


class Posted(NamedTuple):
    """A post, and the clock of the server before it and after it."""

    position: int
    before: datetime
    after: datetime


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """So many jumps; those of ten years in the last third, because nothing before them tells of the clock any more."""
    shim = Shim(folder / "disk", folder / "beside")
    ledger = folder / "disk" / "ledger.db"
    posted: list[Posted] = []
    wrong: list[str] = []
    ahead_s = jumps = starts = 0
    while jumps < dose:
        server = Served(ledger, environment=shim.environment)
        starts += 1
        try:
            with Poster(server.url) as poster:
                while jumps < dose:
                    ahead_s += rng.choice(LARGE_S if 3 * jumps >= 2 * dose else SMALL_S)
                    shim.set_clock(ahead_s)
                    jumps += 1
                    report(jumps, dose)
                    posted += [_post(poster, f"{jumps}-{number}", ahead_s, rng) for number in range(POSTS)]
                    wrong += views_as_of(poster, rng.choice(posted).position)
                    if jumps % 25 == 0:
                        break
        finally:
            server.stop()
    shim.heal()
    stuck, disagreed = held(ledger, posted)
    wrong += disagreed
    figures: dict[str, int | float | str] = {
        "events": posted[-1].position, "server starts": starts, "posts recorded later than the clock said": stuck,
        "wrong": len(wrong),
    }  # fmt: skip
    return Outcome(not wrong, figures | ({"the first": wrong[0]} if wrong else {}))


def _post(poster: Poster, name: str, ahead_s: int, rng: random.Random) -> Posted:
    before = _now(ahead_s)
    answer = poster.post(*[event(f"{name}-{place}") for place in range(rng.choice((1, 1, 4)))])
    assert answer.status == 201, answer
    reported = answer.json()
    return Posted(reported.get("last", reported.get("position")), before, _now(ahead_s))


def _now(ahead_s: int) -> datetime:
    return datetime.fromtimestamp(time.time(), UTC) + timedelta(seconds=ahead_s)


def views_as_of(poster: Poster, position: int) -> list[str]:
    """What is wrong with a view as of a position, and as of the moment that this was recorded."""
    wrong: list[str] = []
    recorded = poster.ask("GET", f"/events/{position}").json()["recordedtime"]
    for as_of in (str(position), recorded):
        answer = poster.ask("GET", f"/calibration?as_of={quote(as_of)}")
        stands = answer.json().get("as_of", {})
        at_least = stands.get("position", 0) if as_of == recorded else position
        if answer.status != 200 or at_least < position or (as_of != recorded and stands["position"] != position):
            wrong.append(f"/calibration as of {as_of} was answered {answer.status}, as of {stands}")
        elif datetime.fromisoformat(stands["time"]) != datetime.fromisoformat(recorded):
            wrong.append(f"/calibration as of {as_of} is as of {stands}, recorded {recorded}")
    return wrong


def held(ledger: Path, posted: list[Posted]) -> tuple[int, list[str]]:
    """How many posts were recorded later than the clock said, and what is wrong with the order and the times of all."""
    events = VOCABULARY.events(b"\n".join(list(stored(ledger))))
    times = [datetime.fromisoformat(event.recordedtime) for event in events]
    wrong: list[str] = []
    if [event.position for event in events] != list(range(1, len(events) + 1)):
        wrong.append("positions are not contiguous")
    if times != sorted(times):
        wrong.append("recordedtime decreases")
    stuck, first = 0, 0
    for post in posted:
        newest = times[first - 1] if first else post.before
        stuck += times[post.position - 1] > post.after
        wrong += [
            f"position {post.position} is recorded at {recorded}, posted at {post.before}"
            for recorded in times[first : post.position]
            if not max(newest, post.before) <= recorded <= max(newest, post.after)
        ]
        first = post.position
    return stuck, wrong


CLOCK = Fault(
    name="clock",
    title="clock jumps by ±1 h, -1 day, ±10 years",
    must_hold="order and recordedtime hold; views as of any moment; a restart goes on",
    dose=100,
    unit="jumps",
    run=run,
    unfit=unfit,
)
