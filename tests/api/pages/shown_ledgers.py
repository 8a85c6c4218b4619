"""Ledgers that every page is shown of: with realistic data of every kind, empty, small, and with hostile texts."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import httpx

from tests.api.cli.command import done
from tests.api.http.discovery_agent import TIMEOUT, Asker, model
from tests.api.http.posted_evaluations import component, failed, finished, scored, started
from tests.api.http.posts import LINES, Json, ndjson, recorded, reviewed, thought
from tests.api.pages.browser import Browser, browsing
from tests.api.simulated_ledger import import_simulated_agents
from tests.support.paths import ROOT, SHARED
from tests.support.server import served

HOSTILE = "<script>alert(1)</script> \u202egnp.exe\u2066 </td></tr></main> {{ 7*7 }} \"'>&\x00\u200b \U0001f600"
LONG = "w" * 500
LARGE = "Nothing is shorter than this. " * 1_800
"""54 KB: with its attributes, the largest event that fits in a line."""

NAMES = {
    "agent": "incident-analysis-agent-of-the-platform-reliability-team-eu1",
    "model": "vendor/sonnet-5-20260514-extended-thinking-and-a-long-context",
    "suite": "root-cause-analysis-of-production-incidents-in-kubernetes-60",
    "scenario": "a-node-loses-its-network-and-the-pods-move-away",
}

MODELS = ("orion", "lyra-1", "vega")
SCENARIOS = tuple(path.name for path in sorted((ROOT / "examples" / "evaluations").iterdir()))

KEPT = [
    ROOT / "examples" / "evaluations" / "dns-blocked-by-policy" / name
    for name in ("investigation.json", "scenario.yaml")
]
MANIFEST = json.dumps(
    {f"{file.parent.name}/{file.name}": sha256(file.read_bytes()).hexdigest() for file in KEPT}
).encode()
"""Files of a suite that a run has kept, and the list of them."""


def make_realistic(ledger: Path) -> None:
    """Import the decisions of the simulated agents, the rules of an example, and discovery runs if they are here."""
    import_simulated_agents(ledger)
    done(ledger, "guardrail", "set", ROOT / "examples" / "guardrails" / "cstp.yaml")
    done(ledger, "webhook", "add", "http://127.0.0.1:9/alerts", "--allow-private")
    manifest = ledger.with_name("files.json")
    manifest.write_bytes(MANIFEST)
    for file in (*KEPT, manifest):
        done(ledger, "evidence", "put", file)
    if SHARED.is_dir():
        done(ledger, "import", "runs", *sorted((SHARED / "metacal" / "runs").iterdir()))


def make_nothing(ledger: Path) -> None:
    """An empty ledger has no file yet: the server makes it."""


def post_realistic(client: httpx.Client) -> None:
    """Post decisions with everything, runs of discovery, and evaluations."""
    append(client, [recorded("rich", **RICH), thought("rich", "Is it safe?"), reviewed("rich", "partial", **REVIEW)])
    append(client, [recorded("follow-up", confidence=0.6, tags=["db"]), recorded("waits", stakes="high")])
    links = [("follow-up", "rich", "depends_on"), ("rich", "waits", "relates_to")]
    for source, target, kind in links:
        data = {"source_id": source, "target_id": target, "edge_type": kind}
        append(client, [{"type": "decision.linked.v1", "data": data, "correlationid": "order-7"}])
    append(client, [{**recorded("cause"), "id": "c-1", "correlationid": "order-7"}])
    append(client, [{**recorded("effect"), "id": "c-2", "correlationid": "order-7", "causationid": "c-1"}])
    post_discovery(client)
    append(client, adopted())
    post_tests(client)
    append(client, evaluations("triage"))
    action = {"description": "Delete the table", "stakes": "high", "confidence": 0.3}
    client.post("/guardrails/check", json={"action": action}).raise_for_status()


def post_one_decision(client: httpx.Client) -> None:
    """Post a decision, and nothing else."""
    append(client, [recorded("rich")])


def post_one_bucket(client: httpx.Client) -> None:
    """Post an agent that is always equally sure."""
    for number in range(12):
        name = "rich" if number == 0 else f"sure-{number}"
        append(client, [recorded(name, confidence=0.9), reviewed(name, "failure" if number % 4 == 0 else "success")])


def post_hostile(client: httpx.Client) -> None:
    """Post texts that break pages which do not escape, isolate and cut them."""
    texts = {
        "decision": HOSTILE,
        "context": LARGE,
        "tags": [LONG[:60], "<b>"],
        "project": LONG[:60],
        "feature": "<i>",
    }
    append(client, [recorded("rich", **texts), thought("rich", HOSTILE), reviewed("rich", lessons=HOSTILE)])
    append(client, [{**recorded(f"h-{n}", decision=LONG), "source": f"/agents/{LONG[:60]}"} for n in range(3)])
    agent = Asker(client)
    run = agent.begin(router=LONG[:100])["run_id"]
    agent.respond(run, model(f"{LONG[:200]}<i>", work=HOSTILE))
    stated = {"decision_id": "h-0", "rule": f"no_event:14d:type=<script>alert(1)</script>;subject=x:{LONG[:100]}"}
    append(client, [{"type": "decision.test_stated.v1", "data": stated}])
    label = "x" * 100
    bad = scored("base", label[:64], 40, detail=HOSTILE)
    append(client, [started("base", label, agent=label), bad, finished("base")])
    append(client, [started("next", label, agent=label), scored("next", label[:64], 90), finished("next")])


def post_long_names(client: httpx.Client) -> None:
    """Post names of 60 characters, long texts, and many groups."""
    words = "the quick rollout of a connection pool lowers latency but raises its cost".split()  # noqa: SIM905 - readable
    texts = [" ".join(words[place:] + words[:place]) for place in range(len(words))]
    events: list[Json] = []
    for number in range(80):
        name = "rich" if number == 0 else f"a-decision-with-a-long-identifier-{number:04d}-0123456789abcdef"
        data = recorded(
            name, decision=texts[number % 9] * (1 + number % 3), context=20 * texts[1],
            confidence=0.5 + number % 5 / 10, tags=[f"tag-with-a-long-name-{each}" for each in range(number % 8)],
            category=f"category-{number % 60:02d}-of-a-rather-long-name-for-grouping", model=NAMES["model"],
            project=NAMES["agent"], feature=NAMES["suite"],
        )  # fmt: skip
        events.append({**data, "type": "decision.recorded.v2", "source": f"/agents/{NAMES['agent']}"})
        if number % 5:
            events.append(reviewed(name, ("success", "failure")[number % 2]))
    other = events[-1]["data"]["decision_id"]
    link = {"source_id": "rich", "target_id": other, "edge_type": "depends_on", "context": texts[2]}
    append(client, [*events, {"type": "decision.linked.v1", "data": link}])
    agent = Asker(client)
    run = agent.begin(router=f"gateway-{NAMES['model'][:50]}")["run_id"]
    for place, text in enumerate(texts[:3]):
        agent.respond(run, model(f"{NAMES['model'][:56]}-{place}", work=text))
    agent.ask("POST", f"/discovery/{run}/finish", {"reason": "seen enough"})
    for run, points in (("base", 40.0), ("next", 80.0)):
        append(client, [started(run, NAMES["suite"], agent=NAMES["agent"])])
        found = component(("root_cause.substrings", texts[3], points > 50), ("rules.contains", "uptime", True))
        scenarios = [f"{NAMES['scenario']}-{number:02d}" for number in range(8)]
        append(client, [scored(run, each, points, components=[found], detail=texts[4]) for each in scenarios])
        append(client, [failed(run, "unreachable", detail=texts[5]), finished(run)])


def post_nothing(client: httpx.Client) -> None:
    """Post nothing."""


LEDGERS: Mapping[str, tuple[Callable[[Path], None], Callable[[httpx.Client], None]]] = {
    "realistic": (make_realistic, post_realistic),
    "empty": (make_nothing, post_nothing),
    "one decision": (make_nothing, post_one_decision),
    "one bucket": (make_nothing, post_one_bucket),
    "hostile": (make_nothing, post_hostile),
    "long names": (make_nothing, post_long_names),
}
"""How each ledger is made: before its server starts, and then over HTTP."""


@contextmanager
def shown_realistic(folder: Path) -> Iterator[Browser]:
    """Serve the realistic ledger to a browser, once every figure is there."""
    make_realistic(folder / "ledger.db")
    with served(folder / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        post_realistic(client)
        wait_for_figures(client)
        with browsing(server.url, folder / "profile") as browser:
            yield browser


def wait_for_figures(client: httpx.Client) -> None:
    """Wait until the overview shows every figure, as of the last event, and until a checkpoint has that event.

    The first time, some are computed in the background.
    """
    while any(sign in client.get("/ui").text for sign in ("data-unfinished", "are being computed", "later event")):
        time.sleep(0.1)


def append(client: httpx.Client, events: list[Json]) -> None:
    """Post events that are to be written."""
    response = client.post("/events", content=ndjson(events), headers=LINES)
    assert response.status_code == 201, response.text


def adopted() -> list[Json]:
    """A session of a coding agent, and changes of a repository."""
    session, git = {"agent": "claude-code", "conversation_id": "cc-s"}, {"source": "git", "scope": "1d2c3b4a59687766"}
    subject, landed = f"git:{git['scope']}", "2026-01-05T08:00:00Z"
    data = [
        ("call.recorded.v2", {**session, "call_id": "cc-m1", "operation": "chat", "reported_model": NAMES["model"]}),
        ("call.recorded.v2", {**session, "call_id": "cc-m2", "operation": "chat", "reported_model": MODELS[0],
                              "switch": "unexplained", "input_tokens": 9_000, "output_tokens": 300}),
        ("call.recorded.v2", {**session, "call_id": "cc-t1", "operation": "execute_tool", "tool": "Bash",
                              "verdict": "denied", "denied_by": "person", "basis": "recorded"}),
        ("session.recorded.v1", {"session_id": "cc-s", "program": "claude-code", "reader": 1, "prompts": 2,
                                 "first_time": landed, "last_time": landed}),
        *(("observation.recorded.v2", {
            "observation_id": f"o{number}", "event_type": "git.landed", "source": "git", "occurred": landed,
            "subject": f"{subject}:{number:040x}", "facts": {"born": 10, "agents": ["claude"][: number % 2]},
        }) for number in range(4)),
        ("observation.recorded.v2", {"observation_id": "o9", "event_type": "git.reverted", "source": "git",
                                     "occurred": "2026-01-06T08:00:00Z", "subject": f"{subject}:{1:040x}"}),
        ("observation.scanned.v1", {**git, "scan_id": "scan1", "through": "2026-02-05T08:00:00Z", "head": f"{3:040x}",
                                    "reader": 1, "subjects": 4}),
        *(("observation.recorded.v2", {
            "observation_id": f"r{number}", "event_type": event_type, "source": "forge", "occurred": landed,
            "subject": f"pr:{git['scope']}:{number % 3}", "facts": {"agents": ["claude"]},
        }) for number, event_type in enumerate(["forge.opened"] * 3 + ["forge.merged", "forge.closed"])),
        ("observation.scanned.v1", {**git, "source": "forge", "scan_id": "scan2", "through": "2026-02-05T08:00:00Z",
                                    "head": "2", "reader": 1, "subjects": 3}),
    ]  # fmt: skip
    return [{"type": name, "data": fields} for name, fields in data]


TESTS: Mapping[str, tuple[str, ...]] = {
    "waiting": ("git.kept:14d",),
    "running": ("git.kept:3650d", "landed"),
    "failed_early": ("git.kept:3650d", "landed", "reverted"),
    "succeeded": ("git.kept:14d", "landed"),
    "failed": ("git.kept:14d", "landed", "reverted"),
    "overdue": ("git.kept:90d", "landed"),
    "unresolvable": ("git.lines_alive:15d", "landed"),
}
"""A test for each state, and what happens to its change."""


def post_tests(client: httpx.Client) -> None:
    """Post a decision with a test in each state, named by it, and review those that have an outcome."""
    repository, events = "ab" * 8, list[Json]()
    for number, (state, (rule, *happened)) in enumerate(TESTS.items()):
        stated = {"decision_id": state, "rule": rule}
        events += [recorded(state, confidence=None), {"type": "decision.test_stated.v1", "data": stated}]
        for day, name in enumerate(happened, 5):
            data = {"event_type": f"git.{name}", "source": "git", "subject": f"git:{repository}:{number:040x}",
                    "occurred": f"2026-01-{day:02}T08:00:00Z", "facts": {"born": 5, "decisions": [state]}}  # fmt: skip
            events.append({"type": "observation.recorded.v2", "data": data})
    scan = {"scan_id": "tests", "source": "git", "scope": repository, "through": "2026-02-05T08:00:00Z", "head": "h",
            "reader": 1, "subjects": 6}  # fmt: skip
    append(client, [*events, {"type": "observation.scanned.v1", "data": scan}])
    client.post("/tests/resolve").raise_for_status()


def post_discovery(client: httpx.Client) -> None:
    """Run discovery twice: one finds models, the other gets no answer."""
    agent = Asker(client)
    for router, answers in (("gateway", [model(name) for name in MODELS]), ("direct", [TIMEOUT])):
        run = agent.begin(router=router)["run_id"]
        for answer in answers:
            agent.respond(run, answer)
        agent.ask("POST", f"/discovery/{run}/finish", {"reason": "seen enough"})


def evaluations(agent: str) -> list[Json]:
    """Two runs of a suite: the second one breaks a scenario, and mends another."""
    events: list[Json] = []
    for run, bad in (("base", 3), ("next", 5)):
        kept = {"suite_digest": "5" * 64, "suite_files_digest": sha256(MANIFEST).hexdigest()}
        begun = started(run, "incidents", agent=agent)
        events.append({"type": "eval.started.v2", "data": {**begun["data"], **kept}})
        for place, scenario in enumerate(SCENARIOS):
            found = component(("root_cause.substrings", "probe", place % bad != 0))
            for attempt in (1, 2):
                points = 30.0 if place % bad == 0 else 80.0 + place
                events.append(scored(run, scenario, points, attempt, components=[found], elapsed_ns=9 * 10**8))
        events += [failed(run, "unreachable", detail="The cluster did not answer."), finished(run)]
    return events


RICH: Json = {
    "decision": "Move the session store to Redis", "confidence": 0.82, "category": "architecture", "stakes": "high",
    "project": "shop", "feature": "sessions", "context": "Reads are 40% of the load.", "tags": ["db", "rollback"],
    "pattern": "Keep disposable data apart.", "kpi_indicators": ["p99"], "pr": 812, "file": "shop/sessions.py",
    "reasons": [
        {"type": "analysis", "text": "Profiles say so.", "strength": 0.9}, {"type": "intuition", "text": "It fits."},
    ],
    "trace": [{"step": 1, "thought": "What is slow?", "output": "Lookups.", "confidence": 0.6}],
    "deliberation": {
        "inputs": [{"id": "i1", "text": "Profile of Tuesday", "source": "grafana"}],
        "steps": [{"step": 1, "thought": "Reads outnumber writes.", "inputs_used": ["i1"], "duration_ms": 1200}],
        "total_duration_ms": 5400,
    },
    "bridge": {"structure": "A queue in front", "function": "Fast reads", "tolerance": ["5 s of lag"]},
}  # fmt: skip
REVIEW: Json = {"actual_result": "Faster, but it lost a session.", "lessons": "Keep a copy."}
